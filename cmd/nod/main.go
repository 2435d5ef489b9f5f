// Command nod is a personal agent in a Telegram chat that asks for a nod before it acts. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules work on machines without a zone database
)

// Exit codes, on which scripts and service managers rely.
const (
	exitFailure = 1 // at run time
	exitUsage   = 2 // bad usage or configuration
)

func main() {
	if playedPart(os.Args) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := exitCode(dispatch(ctx, os.Args[1:], systemIO()))
	stop()
	os.Exit(code)
}

// exitCode prints an error and says how to exit with it.
func exitCode(err error) int {
	var usage *usageError
	var config *configError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &usage), errors.As(err, &config):
		fmt.Fprintln(os.Stderr, "nod:", err)
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "nod:", err)
	return exitFailure
}
