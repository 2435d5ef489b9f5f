package chat

import (
	"context"
	"fmt"

	"nod/store"
	"nod/tools"
)

// maxScratchpad is the most that a scratchpad holds, in bytes: it is part of every prompt.
const maxScratchpad = 16 << 10

type scratchpadIn struct {
	Content string `json:"content" jsonschema:"the whole of the notes, which replaces what was there; empty clears them"`
}

func updateScratchpad() tools.Tool {
	return tools.New(tools.Spec[scratchpadIn]{
		Name: tools.UpdateScratchpad,
		Description: "Replaces the notes that all agents of this session share and are always shown: findings, decisions, where things stand. " +
			"They end with the session; what should stay goes into a file under memory/.",
		Traits: plumbing,
		Check: func(in *scratchpadIn) error {
			if len(in.Content) > maxScratchpad {
				return fmt.Errorf("the notes have %d bytes, and the scratchpad holds %d; shorten them, or write a file under memory/", len(in.Content), maxScratchpad)
			}
			return nil
		},
		Run: func(_ context.Context, call tools.Call, in scratchpadIn) (tools.Output, error) {
			return tools.Output{
				Text:   fmt.Sprintf("The scratchpad now holds these %d bytes.", len(in.Content)),
				Commit: func(tx *store.Tx) error { return setScratchpad(tx, call.Scope.Root, in.Content) },
			}, nil
		},
	})
}

func setScratchpad(tx *store.Tx, session store.SessionID, content string) error {
	if content == "" {
		return scratchpads.Delete(tx, session)
	}
	return scratchpads.Put(tx, session, content)
}

// Scratchpad is what the agents of a session have noted for each other, or "".
func Scratchpad(tx *store.Tx, session store.SessionID) (string, error) {
	content, _, err := scratchpads.Get(tx, session)
	return content, err
}
