package tools_test

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func names(all []tools.Tool) (names []string) {
	for _, t := range all {
		names = append(names, t.Name())
	}
	return names
}

func newRegistry(t *testing.T, all ...tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistryKeepsTheOrderOfNames(t *testing.T) {
	p := &pen{}
	r := newRegistry(t, p.tool("zip"), p.tool("add"), p.tool("mix"))
	want := []string{"add", "mix", "zip"}
	if diff := cmp.Diff(want, names(r.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, names(r.Offer(tools.Visibility{}).Tools)); diff != "" {
		t.Error(diff)
	}
	r.All()[0] = nil // a copy
	if diff := cmp.Diff(want, names(r.All())); diff != "" {
		t.Error(diff)
	}
	if _, ok := r.Find("mix"); !ok {
		t.Error("mix is not found")
	}
	if _, ok := r.Find("Mix"); ok {
		t.Error("names are case-sensitive")
	}
}

func TestRegistryRefusesTwoOfOneName(t *testing.T) {
	p := &pen{}
	_, err := tools.NewRegistry(p.tool("add"), p.tool("zip"), p.tool("add"))
	if err == nil || !strings.Contains(err.Error(), `"add"`) {
		t.Errorf("got %v", err)
	}
}

func TestDescribeCall(t *testing.T) {
	p := &pen{}
	r := newRegistry(t, p.tool("write"), p.tool("plain", func(s *tools.Spec[penArgs]) { s.Label = nil }),
		p.tool("broken", func(s *tools.Spec[penArgs]) { s.Label = func(penArgs, bool) string { panic("at the disco") } }))
	tests := []struct{ name, tool, args, want string }{
		{"decoded", "write", `{"text":"a\nb"}`, "write `a b`"},
		{"without a label of its own", "plain", `{"text":"a"}`, "plain"},
		{"bad arguments", "write", `{"text":`, "write"},
		{"a label that panics", "broken", `{"text":"a"}`, "broken"},
		{"unknown", "format_disk", `{"text":"a"}`, "format_disk"},
		{"unknown and hostile", "rm\u202e\n-rf\x00\x1b", ``, "rm -rf"},
		{"unknown and long", strings.Repeat("ü", 100), ``, strings.Repeat("ü", 59) + "…"},
		{"no name", "", ``, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := r.DescribeCall(test.tool, []byte(test.args), tools.LabelShort)
			if got != test.want || utf8.RuneCountInString(got) > tools.LabelShort {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// noFiles is a port that is there.
type noFiles struct{}

func (noFiles) Keep(string, io.Reader, int64) (string, error)          { return "", nil }
func (noFiles) Send(*store.Tx, store.Address, tools.File) error        { return nil }
func (noFiles) SendAlbum(*store.Tx, store.Address, []tools.File) error { return nil }
func (noFiles) Limit() int64                                           { return 0 }

func traits(edit func(*tools.Traits)) func(*tools.Spec[penArgs]) {
	return func(s *tools.Spec[penArgs]) { edit(&s.Traits) }
}

func scoped(depth int, source approvals.Source) tools.Visibility {
	return tools.Visibility{Scope: tools.Scope{Depth: depth, Source: source}}
}

func with(v tools.Visibility, edit func(*tools.Visibility)) tools.Visibility {
	edit(&v)
	return v
}

func TestOffer(t *testing.T) {
	p := &pen{}
	r := newRegistry(t,
		p.tool("any"),
		p.tool("config", traits(func(t *tools.Traits) { t.Group = tools.ConfigGroup })),
		p.tool("files", traits(func(t *tools.Traits) { t.Needs = tools.FilesPort })),
		p.tool("interactive", traits(func(t *tools.Traits) { t.Interactive = true })),
		p.tool("restart", traits(func(t *tools.Traits) { t.Needs = tools.RestartPort })),
		p.tool("root", traits(func(t *tools.Traits) { t.RootOnly = true })),
		p.tool("sub", traits(func(t *tools.Traits) { t.SubAgentsOnly = true })),
		p.tool("warp", traits(func(t *tools.Traits) { t.Needs = "warp drive" })),
	)
	chat := scoped(0, approvals.Telegram)
	only := func(want string) func(string) bool { return func(tool string) bool { return tool == want } }
	tests := []struct {
		name string
		v    tools.Visibility
		want []string
	}{
		{"a chat's root", chat, []string{"any", "interactive", "root"}},
		{"a job's root", scoped(0, approvals.Cron), []string{"any", "root"}},
		{"a chat's sub-agent", scoped(1, approvals.Telegram), []string{"any", "interactive", "sub"}},
		{"a job's sub-agent, deep", scoped(3, approvals.Cron), []string{"any", "sub"}},
		{"config active", with(chat, func(v *tools.Visibility) { v.Groups = []string{"other", tools.ConfigGroup} }), []string{"any", "config", "interactive", "root"}},
		{"another group active", with(chat, func(v *tools.Visibility) { v.Groups = []string{"other"} }), []string{"any", "interactive", "root"}},
		{"with files", with(chat, func(v *tools.Visibility) { v.Scope.Ports.Files = noFiles{} }), []string{"any", "files", "interactive", "root"}},
		{"with restart", with(chat, func(v *tools.Visibility) { v.Scope.Ports.Restart = func() {} }), []string{"any", "interactive", "restart", "root"}},
		{"denied", with(chat, func(v *tools.Visibility) { v.Denied = only("any") }), []string{"interactive", "root"}},
		{"denied though active", with(chat, func(v *tools.Visibility) {
			v.Groups, v.Denied = []string{tools.ConfigGroup}, only("config")
		}), []string{"any", "interactive", "root"}},
		{"the agent's own list", with(chat, func(v *tools.Visibility) { v.Only = only("any") }), []string{"any"}},
		{"a list opens nothing", with(chat, func(v *tools.Visibility) { v.Only = only("sub") }), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := r.Offer(test.v)
			if diff := cmp.Diff(test.want, names(o.Tools)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			found := 0
			for _, tool := range r.All() {
				if _, ok := o.Find(tool.Name()); ok {
					found++
				}
			}
			if found != len(test.want) {
				t.Errorf("%d are found, %d are listed", found, len(test.want))
			}
		})
	}
}
