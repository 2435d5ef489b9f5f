package fs

import (
	"fmt"
	"strings"
)

// grepPage is the page of results that a call asked for, filled file by file in the order of the walk.
type grepPage struct {
	in    *grepIn
	seen  int // results so far, those before the page too
	shown int // results on the page
	files int // files with results on the page
	more  bool
	out   strings.Builder
	// unread counts files that could not be read.
	unread int
}

// full says that nothing more has to be found: the page holds all it can, and there is another.
func (p *grepPage) full() bool { return p.more }

// add takes the matches of the next file; render shows some of them. rel is its path, matches at least 1.
func (p *grepPage) add(rel string, matches int, render func(e *excerpt) int) {
	results := matches
	if p.in.OutputMode != modeContent {
		results = 1
	}
	skip := min(max(p.in.Offset-p.seen, 0), results)
	take := min(results-skip, p.in.MaxResults-p.shown)
	room := maxText - p.out.Len()
	p.seen += results
	if results == skip {
		return
	}
	if take == 0 || room <= 0 {
		p.more = true
		return
	}
	shown := take
	switch p.in.OutputMode {
	case modeFiles:
		fmt.Fprintln(&p.out, printable(rel))
	case modeCount:
		fmt.Fprintf(&p.out, "%s: %d\n", printable(rel), matches)
	default:
		if p.files > 0 {
			p.out.WriteByte('\n')
		}
		fmt.Fprintln(&p.out, printable(rel))
		shown = render(&excerpt{out: &p.out, around: p.in.ContextLines, skip: skip, take: take, room: room})
	}
	p.files++
	p.shown += shown
	p.more = shown < results-skip
}

func (p *grepPage) text(unopened int) string {
	var notes []string
	switch {
	case p.more:
		notes = append(notes, fmt.Sprintf("results %d–%d, and there are more; go on with offset=%d",
			p.in.Offset+1, p.in.Offset+p.shown, p.in.Offset+p.shown))
	case p.shown == 0 && p.seen > 0:
		notes = append(notes, fmt.Sprintf("there are only %d results, all before offset=%d", p.seen, p.in.Offset))
	case p.shown == 0:
		notes = append(notes, "no match")
	case p.in.OutputMode == modeContent:
		notes = append(notes, fmt.Sprintf("%s in %s", count(p.shown, "match"), count(p.files, "file")))
	default:
		notes = append(notes, count(p.shown, "file"))
	}
	if p.unread > 0 {
		notes = append(notes, count(p.unread, "file")+" could not be read")
	}
	if unopened > 0 {
		notes = append(notes, count(unopened, "folder")+" could not be opened")
	}
	return p.out.String() + "[" + strings.Join(notes, "; ") + "]"
}
