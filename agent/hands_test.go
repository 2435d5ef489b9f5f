package agent

import (
	"context"
	"slices"
	"sync"

	"nod/tools"
)

// hands are the tools of these tests: read_it only reads, free_it may run unasked, do_it is asked about.
type hands struct {
	mu   sync.Mutex
	ran  []string
	work func(ctx context.Context, text string) (tools.Output, error)
	// price is what each call costs, in USD.
	price float64
}

type handArgs struct {
	Text string `json:"text"`
}

func (h *hands) tools() []tools.Tool {
	var all []tools.Tool
	for name, effect := range map[string]tools.Effect{"read_it": tools.Read, "free_it": tools.Write, "do_it": tools.Write} {
		all = append(all, tools.New(tools.Spec[handArgs]{
			Name: name, Description: "Works.", Traits: tools.Traits{Category: tools.Filesystem, Effect: effect}, Run: h.run,
			Label: func(in handArgs, _ bool) string { return in.Text },
			Judge: func(context.Context, tools.Scope, handArgs) (tools.Judged, error) {
				return tools.Judged{Price: h.price}, nil
			},
		}))
	}
	return all
}

func (h *hands) run(ctx context.Context, _ tools.Call, in handArgs) (tools.Output, error) {
	h.mu.Lock()
	h.ran = append(h.ran, in.Text)
	work := h.work
	h.mu.Unlock()
	if work != nil {
		return work(ctx, in.Text)
	}
	return tools.Output{Text: "did " + in.Text}, nil
}

func (h *hands) runs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ran)
}

func text(s string) map[string]string { return map[string]string{"text": s} }
