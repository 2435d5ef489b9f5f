package main

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"nod/tools/shell"
)

// BenchmarkSandboxedCommand times `true` bare and in the sandbox by turns, so that both meet the same machine. The shim is
// this binary, which starts with all of nod's packages as nod itself does.
func BenchmarkSandboxedCommand(b *testing.B) {
	dir, err := shell.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	var runner shell.Runner
	if strength, why := runner.Strength(); strength != shell.Full {
		b.Skipf("NOT MEASURED, this machine has no full sandbox: %v", why)
	}
	timed := func(run func() error) time.Duration {
		began := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var bare, boxed []time.Duration
	for b.Loop() {
		bare = append(bare, timed(func() error {
			cmd := exec.Command("/bin/sh", "-c", "true")
			cmd.Dir = dir.Path
			_, err := cmd.CombinedOutput()
			return err
		}))
		boxed = append(boxed, timed(func() error {
			_, err := runner.Run(b.Context(), shell.Command{
				Line: "true", Dir: dir, Timeout: time.Minute, Sandbox: &shell.Sandbox{Workspace: dir.Path},
			})
			return err
		}))
	}
	slices.Sort(bare)
	slices.Sort(boxed)
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) }
	middle, late := len(bare)/2, len(bare)*95/100
	b.ReportMetric(micros(bare[middle]), "bare-p50-µs")
	b.ReportMetric(micros(boxed[middle]-bare[middle]), "added-p50-µs")
	b.ReportMetric(micros(boxed[late]-bare[late]), "added-p95-µs")
}
