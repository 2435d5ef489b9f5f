package plugins_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"nod/tools/shell"
)

func TestMain(m *testing.M) {
	if shell.Dispatch(os.Args) {
		return
	}
	goleak.VerifyTestMain(m)
}
