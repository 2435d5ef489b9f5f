package image

import (
	"context"
	"strings"

	"nod/tools"
)

type providersIn struct{}

func providers() tools.Tool {
	return tools.New(tools.Spec[providersIn]{
		Name:        tools.ImageGenerateProvidersList,
		Description: "Lists who can make pictures, with the extra parameters that each takes.",
		Traits:      tools.Traits{Category: tools.Introspection, Effect: tools.Read, Needs: tools.ImagesPort},
		Run: func(_ context.Context, call tools.Call, _ providersIn) (tools.Output, error) {
			return tools.Output{Text: listed(call.Scope.Ports.Images.Providers())}, nil
		},
	})
}

func listed(all []tools.ImageProvider) string {
	var lines []string
	for _, p := range all {
		line := p.ID + ": " + p.About
		if len(p.Extra) > 0 {
			line += "; extra parameters: " + strings.Join(p.Extra, ", ")
		} else {
			line += "; no extra parameters"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
