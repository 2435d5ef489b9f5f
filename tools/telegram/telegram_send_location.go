package telegram

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

type locationIn struct {
	Latitude  float64 `json:"latitude" jsonschema:"in degrees, north is positive"`
	Longitude float64 `json:"longitude" jsonschema:"in degrees, east is positive"`
}

// Refine bounds the degrees.
func (locationIn) Refine(p map[string]*jsonschema.Schema) {
	p["latitude"].Minimum, p["latitude"].Maximum = jsonschema.Ptr(-90.0), jsonschema.Ptr(90.0)
	p["longitude"].Minimum, p["longitude"].Maximum = jsonschema.Ptr(-180.0), jsonschema.Ptr(180.0)
}

func (in locationIn) String() string { return fmt.Sprintf("%.6f, %.6f", in.Latitude, in.Longitude) }

func sendLocation() tools.Tool {
	return tools.New(tools.Spec[locationIn]{
		Name:        tools.TelegramSendLocation,
		Description: "Sends a point on the map into this chat.",
		Traits:      traits,
		Label:       func(in locationIn, _ bool) string { return in.String() },
		Judge: func(_ context.Context, _ tools.Scope, in locationIn) (tools.Judged, error) {
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: "Send the place " + in.String() + " into this chat"}}, nil
		},
		Run: func(_ context.Context, call tools.Call, in locationIn) (tools.Output, error) {
			to := call.Scope.Address
			return tools.Output{
				Text: "Sent the location.",
				Commit: func(tx *store.Tx) error {
					return call.Scope.Ports.Messages.SendLocation(tx, to, call.ID, in.Latitude, in.Longitude)
				},
			}, nil
		},
	})
}
