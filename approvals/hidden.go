package approvals

import (
	"sync"

	"nod/store"
)

// hiddenAnswer is what records and cards say of an answer to a Hidden question.
const hiddenAnswer = "(given, and not shown)"

// hidden carries answers that are kept nowhere from the person who gave them to the call that waits for them. What was
// asked by an earlier process is waited for by nobody, and its answer is forgotten at once.
type hidden struct {
	mu      sync.Mutex
	answers map[store.ApprovalID]string
}

// expect makes room for an answer.
func (h *hidden) expect(id store.ApprovalID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answers == nil {
		h.answers = map[store.ApprovalID]string{}
	}
	h.answers[id] = ""
}

// put holds an answer that is expected.
func (h *hidden) put(id store.ApprovalID, answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, expected := h.answers[id]; expected {
		h.answers[id] = answer
	}
}

// TakeHidden gives the answer to a Hidden question to whoever asked it, once; "" where there is none. Whoever asked calls
// it in any case, so that nothing is held for longer.
func (g *Gate) TakeHidden(id store.ApprovalID) string {
	g.hidden.mu.Lock()
	defer g.hidden.mu.Unlock()
	answer := g.hidden.answers[id]
	delete(g.hidden.answers, id)
	return answer
}
