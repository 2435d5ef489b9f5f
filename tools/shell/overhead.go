package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Overhead is how long a command that does nothing takes without nod and in the sandbox, each in rising order. The sandbox
// adds the difference.
type Overhead struct {
	Bare, Boxed []time.Duration
}

// Added is what the sandbox adds at a quantile, from 0 to 1: 0.5 is the middle.
func (o Overhead) Added(quantile float64) time.Duration {
	at := func(times []time.Duration) time.Duration { return times[int(quantile*float64(len(times)-1))] }
	return at(o.Boxed) - at(o.Bare)
}

// Overhead measures that many pairs, one of each by turns so that both meet the same machine. The shim is this program,
// with all that it does when it starts.
func (r *Runner) Overhead(ctx context.Context, pairs int) (o Overhead, err error) {
	path, err := os.MkdirTemp("", "nod-overhead-")
	if err != nil {
		return o, fmt.Errorf("measuring the sandbox: %w", err)
	}
	defer os.RemoveAll(path)
	dir, err := OpenDir(path)
	if err != nil {
		return o, fmt.Errorf("measuring the sandbox: %w", err)
	}
	defer dir.Close()
	bare := func() error {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "true")
		cmd.Dir = path
		_, err := cmd.CombinedOutput()
		return err
	}
	boxed := func() error {
		_, err := r.Run(ctx, Command{Line: "true", Dir: dir, Timeout: time.Minute, Sandbox: &Sandbox{Workspace: dir.Path}})
		return err
	}
	for range pairs {
		for times, run := range map[*[]time.Duration]func() error{&o.Bare: bare, &o.Boxed: boxed} {
			began := time.Now()
			if err := run(); err != nil {
				return o, fmt.Errorf("measuring the sandbox: %w", err)
			}
			*times = append(*times, time.Since(began))
		}
	}
	slices.Sort(o.Bare)
	slices.Sort(o.Boxed)
	return o, nil
}
