package tools_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nod/tools"
)

func TestLabels(t *testing.T) {
	const name = "execute_cmd"
	tests := []struct {
		name, about string
		short, full string
	}{
		{"fits", "`git status`", "execute_cmd `git status`", "execute_cmd `git status`"},
		{"nothing to say", "", name, name},
		{"only what can't be seen", "\u202e\u200b\x00", name, name},
		{"one line", "`a\n\tb\r\n c`", "execute_cmd `a b c`", "execute_cmd `a b c`"},
		{"bidi, zero-width, escapes and broken bytes go", "`a\u202eb\u200bc\x1b[31md\xff`", "execute_cmd `abc[31md`", "execute_cmd `abc[31md`"},
		{
			"exactly 60", "`" + strings.Repeat("x", 46) + "`",
			"execute_cmd `" + strings.Repeat("x", 46) + "`", "execute_cmd `" + strings.Repeat("x", 46) + "`",
		},
		{
			"61: the closing backtick stays", "`" + strings.Repeat("x", 47) + "`",
			"execute_cmd `" + strings.Repeat("x", 45) + "…`", "execute_cmd `" + strings.Repeat("x", 47) + "`",
		},
		{
			"cut between characters", "`" + strings.Repeat("ü漢😀", 60) + "`",
			"execute_cmd `" + strings.Repeat("ü漢😀", 15) + "…`", "execute_cmd `" + strings.Repeat("ü漢😀", 35) + "…`",
		},
		{
			"cut behind the quoted part", "`ls` in " + strings.Repeat("d", 200),
			"execute_cmd `ls` in " + strings.Repeat("d", 39) + "…", "execute_cmd `ls` in " + strings.Repeat("d", 99) + "…",
		},
		{
			"cut inside it, more behind it", "`" + strings.Repeat("x", 200) + "` in d",
			"execute_cmd `" + strings.Repeat("x", 45) + "…`", "execute_cmd `" + strings.Repeat("x", 105) + "…`",
		},
		{
			"cut before it: no lone backtick", strings.Repeat("y", 110) + " `x` z",
			"execute_cmd " + strings.Repeat("y", 47) + "…", "execute_cmd " + strings.Repeat("y", 107) + "…",
		},
		{
			"cut right behind the opening one", strings.Repeat("y", 46) + "`" + strings.Repeat("x", 100) + "`",
			"execute_cmd " + strings.Repeat("y", 46) + "…", "execute_cmd " + strings.Repeat("y", 46) + "`" + strings.Repeat("x", 59) + "…`",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{}
			tool := p.tool(name, func(s *tools.Spec[penArgs]) {
				s.Label = func(penArgs, bool) string { return test.about }
			})
			inv, err := tool.Decode([]byte(`{"text":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			for limit, want := range map[int]string{tools.LabelShort: test.short, tools.LabelFull: test.full} {
				got := inv.Label(limit)
				if n := utf8.RuneCountInString(got); got != want || n > limit || !utf8.ValidString(got) {
					t.Errorf("within %d:\ngot  %q (%d characters)\nwant %q", limit, got, n, want)
				}
			}
		})
	}
}

func TestLabelAsksForMoreWhenThereIsRoom(t *testing.T) {
	p := &pen{}
	tool := p.tool("execute_cmd", func(s *tools.Spec[penArgs]) {
		s.Label = func(in penArgs, full bool) string {
			if full {
				return tools.Quote(in.Text)
			}
			return tools.Quote(strings.Fields(in.Text)[0])
		}
	})
	inv, err := tool.Decode([]byte(`{"text":"git commit -m x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inv.Label(tools.LabelShort), "execute_cmd `git`"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := inv.Label(tools.LabelFull), "execute_cmd `git commit -m x`"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLabelOfALongName(t *testing.T) {
	p := &pen{}
	name := strings.Repeat("n", 63)
	inv, err := p.tool(name).Decode([]byte(`{"text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inv.Label(tools.LabelShort), strings.Repeat("n", 59)+"…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
