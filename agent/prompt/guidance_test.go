package prompt

import (
	"slices"
	"strings"
	"testing"

	"nod/agent/roster"
	"nod/tools"
)

// inCatalogue changes a tool's entry until the test is over.
func inCatalogue(t *testing.T, tool string, edit func(*tools.Entry)) {
	ours := tools.Catalogue
	t.Cleanup(func() { tools.Catalogue = ours })
	tools.Catalogue = slices.Clone(ours)
	edit(&tools.Catalogue[slices.IndexFunc(ours, func(e tools.Entry) bool { return e.Tool == tool })])
}

// TestGuidanceThatNoProfileCanShowIsRefused: no profile has a business tool beside an atomic one but hybrid, so that one
// line may name both; what can't be anywhere is said to be so at the start.
func TestGuidanceThatNoProfileCanShowIsRefused(t *testing.T) {
	ours := crossTool
	defer func() { crossTool = ours }()
	line := "Send a file with " + tools.SendAttachment + ", and pin it with " + tools.TelegramPin + "."
	crossTool = append(ours[:len(ours):len(ours)], line)
	if err := Check(roster.Embedded()); err != nil {
		t.Errorf("hybrid has both: %v", err)
	}
	inCatalogue(t, tools.TelegramPin, func(e *tools.Entry) { e.Profiles = []tools.Profile{tools.AtomicProfile} })
	err := Check(roster.Embedded())
	if err == nil || !strings.Contains(err.Error(), "no profile has all the tools of the guidance") || !strings.Contains(err.Error(), line) {
		t.Errorf("%v", err)
	}
}

// TestAnAgentsTextThatNamesWhatCanGoIsRefused says which one, and why.
func TestAnAgentsTextThatNamesWhatCanGoIsRefused(t *testing.T) {
	inCatalogue(t, tools.SearchFile, func(e *tools.Entry) { e.Phase = tools.Attachments })
	for text, name := range map[string]string{
		"Send it with send_attachment.":    tools.SendAttachment, // withdrawn in some chats
		"List them with gallery_list.":     tools.GalleryList,    // not in the profile atomic
		"Look with search_file.":           tools.SearchFile,     // of every profile, but withdrawn, as it stands here
		"Pin it with `telegram_pin` then.": tools.TelegramPin,    // not in the profile business
	} {
		err := Check([]roster.Agent{{ID: "cook", Text: "Read with read_file."}, {ID: "scribe", Text: text}})
		if want := "the text of the agent scribe names " + name + ", which is not in every profile and phase"; err == nil || err.Error() != want {
			t.Errorf("%v\nwant: %s", err, want)
		}
	}
}
