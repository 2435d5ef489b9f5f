package main

import (
	"slices"
	"strings"
	"testing"

	"nod/tools"
)

// TestTheDoctorListsTheToolsOfAProfile: each with its short description, as /tools has it, and no other profile's.
func TestTheDoctorListsTheToolsOfAProfile(t *testing.T) {
	for _, profile := range tools.Profiles {
		got := checkTools(profile)
		head, list, _ := strings.Cut(got.text, "\n")
		if got.what != "tools" || got.grade != ok {
			t.Errorf("%+v", got)
		}
		if profile == tools.DisabledProfile {
			if got.text != "the profile disabled has none: plain chat" {
				t.Errorf("%q", got.text)
			}
			continue
		}
		if !strings.HasPrefix(head, "the profile "+string(profile)+" has ") {
			t.Errorf("%q", head)
		}
		lines := strings.Split(list, "\n")
		for _, e := range tools.Catalogue {
			is := slices.ContainsFunc(lines, func(l string) bool {
				name, gist, _ := strings.Cut(strings.TrimSpace(l), " ")
				return name == e.Tool && len(strings.TrimSpace(gist)) > 10
			})
			if is != e.In(profile) {
				t.Errorf("%s in the profile %s: listed %t", e.Tool, profile, is)
			}
		}
		for _, l := range lines {
			if n := len([]rune(l)); n > 120 || !strings.HasPrefix(l, "         ") {
				t.Errorf("%d characters: %q", n, l)
			}
		}
	}
	if want := "\n         read_file                      Reads a text file\n"; !strings.Contains(checkTools(tools.BusinessProfile).text, want) {
		t.Errorf("no line %q in %s", want, checkTools(tools.BusinessProfile).text)
	}
}
