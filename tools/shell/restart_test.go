package shell

import (
	"testing"

	"nod/store"
	"nod/tools"
)

func TestRestartComesAfterTheOutcomeIsOnDisk(t *testing.T) {
	r := newRig(t)
	if got := r.Call(tools.Restart, object{}); got.State != tools.Failed {
		t.Errorf("without a port the tool is not offered, but the outcome is %+v", got)
	}
	restarts := 0
	r.Scope.Ports.Restart = func() {
		restarts++
		err := r.DB.View(func(tx *store.Tx) error {
			e, known, err := tools.FindExecution(tx, r.Cards()[0].Request.Call)
			if !known || e.State != tools.Completed {
				t.Errorf("at the restart the call is %+v", e)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	got := r.Call(tools.Restart, object{})
	if got.State != tools.Completed || restarts != 1 || !r.Cards()[0].Request.NoBypass {
		t.Errorf("%d restarts, outcome = %+v", restarts, got)
	}
}
