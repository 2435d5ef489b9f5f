package fs_test

import (
	"strings"
	"testing"

	"nod/tools"
	"nod/tools/confined"
	"nod/tools/shell"
	"nod/tools/tooltest"
)

// TestNoChildrenWithoutDispatch: this test binary does not dispatch, so a command or a confined child would run all of its
// tests again, and each of those again. None is started.
func TestNoChildrenWithoutDispatch(t *testing.T) {
	r := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return shell.Tools(&shell.Runner{Mode: shell.Off}) })
	r.OnCard = tooltest.Approve
	if out := r.Call(tools.ExecuteCmd, map[string]any{"command": "true"}); out.State != tools.Failed || !strings.Contains(out.Text, "Dispatch") {
		t.Errorf("%s: %s", out.State, out.Text)
	}
	if _, err := confined.NewPool("work", confined.Limits{SideBySide: 1}).Run(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "Dispatch") {
		t.Errorf("%v", err)
	}
}
