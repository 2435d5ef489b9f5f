package bot

import (
	"regexp"

	"nod/tools"
	"nod/tools/plugins"
)

// Follow has the view ask how the chat should look, and where files can be sent, each time that it matters. It is called
// before the first turn.
func (v *View) Follow(look func() plugins.Telegram, mounts *Mounts) { v.look, v.mounts = look, mounts }

// untold says that nobody wants to see a progress message.
func (t *turnView) untold() bool { return t.look().Progress == plugins.ProgressOff }

// labelOf is how a call shows in the progress message.
func (t *turnView) labelOf(call tools.Execution) string {
	if t.look().Progress == plugins.ProgressFull {
		return call.Full
	}
	return call.Short
}

// unrich is what a rich message would make something else of than render does: pictures, which Telegram would fetch from
// wherever they are, so that an address could carry something away; HTML; and sums of money, which look like formulas.
var unrich = regexp.MustCompile(`!\[|<[A-Za-z/!?]|\$[0-9]`)

// showsRich says whether a text can go out as a rich message.
func showsRich(markdown string) bool { return !unrich.MatchString(markdown) }
