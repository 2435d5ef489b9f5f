package mcp

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"nod/tools/shell"
)

// asServer, set in the environment, makes the test binary the MCP server of that name instead of running tests.
const asServer = "NOD_MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if shell.Dispatch(os.Args) {
		return
	}
	if role := os.Getenv(asServer); role != "" {
		os.Exit(play(role))
	}
	if flag.Parse(); flag.NArg() > 0 { // a child that lost its role must not run the tests
		fmt.Fprintln(os.Stderr, "this test binary takes no arguments")
		os.Exit(2)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
			fmt.Fprintf(os.Stderr, "a child process is left over: pid %d, %v\n", pid, err)
			code = 1
		}
		os.Exit(code)
	}))
}
