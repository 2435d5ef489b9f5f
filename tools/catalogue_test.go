package tools

import (
	"context"
	"strings"
	"testing"
)

// stock is a catalogue and its definitions, as a start of the program hands them over.
type stock struct {
	profile Profile
	entries []Entry
	all     []Tool
}

// posing is a definition that says something else of itself than it was made with: New refuses some of that already.
type posing struct {
	Tool
	traits Traits
}

func (p posing) Traits() Traits { return p.traits }

// defined is a definition that fits an entry, after an edit.
func defined(e Entry, edit func(*Spec[textArgs])) Tool {
	s := Spec[textArgs]{
		Name: e.Tool, Description: "Does it.", Traits: Traits{Category: e.Category, Effect: e.Effect},
		Run: func(context.Context, Call, textArgs) (Output, error) { return Output{}, nil },
	}
	if e.Phase == Attachments {
		s.Traits.Needs = FilesPort
	}
	if edit != nil {
		edit(&s)
	}
	return New(s)
}

// Places in a sound stock.
const (
	looking = iota // a system tool that reads
	putting        // a system tool that writes
	listing        // a business tool that is always there
	sending        // a business tool that can be withdrawn
	poking         // an atomic tool
)

func soundStock() *stock {
	s := &stock{profile: HybridProfile, entries: []Entry{
		looking: reads("system.fs.look-at.v1", "look_at", Filesystem),
		putting: writes("system.fs.put-down.v1", "put_down", Filesystem),
		listing: reads("business.chat.list-it.v1", "list_it", Chat),
		sending: writes("business.chat.send-it.v2", "send_it", Chat).attached(),
		poking:  writes("atomic.telegram.poke-it.v1", "poke_it", Chat),
	}}
	for _, e := range s.entries {
		s.all = append(s.all, defined(e, nil))
	}
	return s
}

func (s *stock) define(at int, edit func(*Spec[textArgs])) { s.all[at] = defined(s.entries[at], edit) }

func (s *stock) pose(at int, edit func(*Traits)) {
	traits := s.all[at].Traits()
	edit(&traits)
	s.all[at] = posing{s.all[at], traits}
}

func describedAs(text string) func(*Spec[textArgs]) {
	return func(s *Spec[textArgs]) { s.Description = text }
}

// TestAStartRefusesASpoiltCatalogue breaks one rule at a time; what is said names what is wrong.
func TestAStartRefusesASpoiltCatalogue(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*stock)
		want  string // "" where nothing is wrong
	}{
		"nothing":                  {func(*stock) {}, ""},
		"an unknown profile":       {func(s *stock) { s.profile = "all" }, `no profile "all"; the profiles are: business atomic hybrid disabled`},
		"two of one id":            {func(s *stock) { s.entries[listing].ID = s.entries[sending].ID }, `two catalogue entries have the id "business.chat.send-it.v2"`},
		"two of one name":          {func(s *stock) { s.entries[poking].Tool = "send_it" }, `two catalogue entries are named "send_it"`},
		"an id without a version":  {func(s *stock) { s.entries[looking].ID = "system.fs.look-at" }, `the id "system.fs.look-at" must match`},
		"an id of no kind":         {func(s *stock) { s.entries[looking].ID = "look-at.v1" }, `the id "look-at.v1" must match`},
		"an id of another kind":    {func(s *stock) { s.entries[looking].ID = "business.fs.look-at.v1" }, "does not begin with its kind, system"},
		"a name with a blank":      {func(s *stock) { s.entries[looking].Tool = "look at" }, `the name "look at" must match`},
		"a name with a dot":        {func(s *stock) { s.entries[looking].Tool = "look.at" }, `the name "look.at" must match`},
		"a name beyond ASCII":      {func(s *stock) { s.entries[looking].Tool = "löök" }, `the name "löök" must match`},
		"a name that is too long":  {func(s *stock) { s.entries[looking].Tool = strings.Repeat("x", 64) }, "must match ^[a-zA-Z0-9_-]{1,63}$"},
		"no name":                  {func(s *stock) { s.entries[looking].Tool = "" }, `the name "" must match`},
		"an unknown phase":         {func(s *stock) { s.entries[looking].Phase = "later" }, `the phase "later" is neither`},
		"a write without a grant":  {func(s *stock) { s.entries[putting].Grant = "" }, "put_down: a write needs the grant explicit-user-write"},
		"a write by another grant": {func(s *stock) { s.entries[putting].Grant = "implied" }, "put_down: a write needs the grant explicit-user-write"},
		"a read with a grant":      {func(s *stock) { s.entries[looking].Grant = ExplicitUserWrite }, "look_at: a read needs no grant"},
		"an unknown effect":        {func(s *stock) { s.entries[looking].Effect = "peek" }, `the effect "peek" is neither read nor write`},
		"no profile":               {func(s *stock) { s.entries[looking].Profiles = nil }, "look_at: it is in no profile"},
		"no category":              {func(s *stock) { s.entries[looking].Category = "" }, "look_at: it has no category"},
		"atomic in business":       {func(s *stock) { s.entries[poking].Profiles = withBusiness }, `the profile "business" holds no tools of the kind atomic`},
		"business in atomic":       {func(s *stock) { s.entries[listing].Profiles = withAtomic }, `the profile "atomic" holds no tools of the kind business`},
		"a tool though disabled":   {func(s *stock) { s.entries[looking].Profiles = []Profile{DisabledProfile} }, `the profile "disabled" holds no tools of the kind system`},
		"a profile of no house":    {func(s *stock) { s.entries[looking].Profiles = []Profile{"all"} }, `the profile "all" holds no tools of the kind system`},

		"a definition of another name": {func(s *stock) {
			s.define(looking, func(s *Spec[textArgs]) { s.Name = "look_into" })
		}, `the tool "look_into" has no entry in the catalogue`},
		"an entry of another name": {func(s *stock) { s.entries[looking].Tool = "look_into" }, "look_into (system.fs.look-at.v1) has no definition"},
		"two definitions":          {func(s *stock) { s.all = append(s.all, defined(s.entries[looking], nil)) }, `two tools are named "look_at"`},
		"another effect": {func(s *stock) {
			s.define(looking, func(s *Spec[textArgs]) { s.Traits.Effect = Write })
		}, "look_at: the catalogue says read, its definition write"},
		"another category": {func(s *stock) {
			s.define(looking, func(s *Spec[textArgs]) { s.Traits.Category = Shell })
		}, "look_at: the catalogue says category filesystem, its definition shell"},
		"a port that core tools have not": {func(s *stock) {
			s.define(listing, func(s *Spec[textArgs]) { s.Traits.Needs = FilesPort })
		}, `list_it: its phase is core, but it needs the port "files"`},
		"withdrawn for no port": {func(s *stock) {
			s.define(sending, func(s *Spec[textArgs]) { s.Traits.Needs = "" })
		}, `send_it: its phase is attachments, but it needs the port ""`},
		"for the root and for sub-agents only": {func(s *stock) {
			s.pose(looking, func(t *Traits) { t.RootOnly, t.SubAgentsOnly = true, true })
		}, "look_at: two of its traits exclude each other"},
		"for chats and for the background only": {func(s *stock) {
			s.pose(looking, func(t *Traits) { t.Interactive, t.Background = true, true })
		}, "look_at: two of its traits exclude each other"},
		"for the root only": {func(s *stock) { s.pose(looking, func(t *Traits) { t.RootOnly = true }) }, ""},

		"a text that names another profile's": {func(s *stock) {
			s.define(looking, describedAs("Looks. To pin it use telegram_pin."))
		}, "the description of look_at names telegram_pin, which the profile business does not have"},
		"a business text that names an atomic one": {func(s *stock) {
			s.define(sending, describedAs("Sends, unlike telegram_pin."))
		}, "the description of send_it names telegram_pin, which the profile business does not have"},
		"a text that names what can be withdrawn": {func(s *stock) {
			s.define(listing, describedAs("Lists. Send one with send_attachment."))
		}, "the description of list_it names send_attachment, which can be withdrawn"},
		"a text that names what comes and goes with it": {func(s *stock) { s.define(sending, describedAs("Sends, as send_attachment does.")) }, ""},
		"a text that names its own profile's":           {func(s *stock) { s.define(poking, describedAs("Pokes, after read_file and `restart`.")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := soundStock()
			tt.spoil(s)
			r, err := newCatalogue(s.entries, s.profile, s.all)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("a sound one is refused: %v", err)
			case tt.want == "" && len(r.All()) != len(s.all):
				t.Errorf("%d of %d tools are there", len(r.All()), len(s.all))
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v\nwant: %s", err, tt.want)
			}
		})
	}
}

// TestAllThatIsWrongIsSaidAtOnce: whoever mends a catalogue starts nod once more, not once for each fault.
func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	s := soundStock()
	s.entries[looking].Category, s.entries[putting].Grant = "", ""
	s.define(poking, describedAs("Sends with send_attachment."))
	_, err := newCatalogue(s.entries, s.profile, s.all)
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{"look_at: it has no category", "put_down: a write needs", "poke_it names send_attachment"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant: %s", err, want)
		}
	}
}
