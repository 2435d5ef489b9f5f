package secrets

import (
	"context"
	"errors"
	"strings"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// Tools are set_secret and list_secrets.
func Tools(db *store.DB, v *Vault) []tools.Tool {
	return []tools.Tool{setSecret(), listSecrets(db, v)}
}

type setIn struct {
	Key   string `json:"key" jsonschema:"the secret's name: letters, digits, _ . and -"`
	Value string `json:"value,omitempty" jsonschema:"leave this out: the user is asked to type the value, and you never see it"`
}

// setSecret only asks: the bot stores what the person types, deletes the message, and answers that it is kept.
func setSecret() tools.Tool {
	return tools.New(tools.Spec[setIn]{
		Name: tools.SetSecret,
		Description: "Asks the user to type a secret (a password, key or token), which nod keeps encrypted under a name. You never see the value; " +
			"configuration refers to it as ${secret:NAME}.",
		Traits: tools.Traits{Category: tools.Config, Effect: tools.Write, Group: tools.ConfigGroup, NoBypass: true},
		Check: func(in *setIn) error {
			if in.Value != "" {
				return errors.New("leave value out: the user types it, so that it appears in no conversation")
			}
			return CheckName(in.Key)
		},
		Label: func(in setIn, _ bool) string { return in.Key },
		Ask: func(in setIn) approvals.Question {
			return approvals.Question{
				Title:  "A secret: " + in.Key,
				Text:   "Send its value as your next message. I keep it encrypted, delete your message at once, and never show it to the model.",
				Secret: in.Key,
			}
		},
	})
}

type listIn struct {
	Pattern string `json:"pattern,omitempty" jsonschema:"names to list, with * and ?; all when left out"`
}

func listSecrets(db *store.DB, v *Vault) tools.Tool {
	return tools.New(tools.Spec[listIn]{
		Name:        tools.ListSecrets,
		Description: "Lists the names of stored secrets. Their values are never shown.",
		Traits:      tools.Traits{Category: tools.Config, Effect: tools.Read, Group: tools.ConfigGroup},
		Run: func(_ context.Context, _ tools.Call, in listIn) (out tools.Output, err error) {
			err = db.View(func(tx *store.Tx) error {
				names, err := v.Names(tx, in.Pattern)
				out.Text = strings.Join(names, "\n")
				if len(names) == 0 {
					out.Text = "There are no such secrets."
				}
				return err
			})
			return out, err
		},
	})
}
