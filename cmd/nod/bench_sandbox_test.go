package main

import (
	"testing"
	"time"

	"nod/tools/shell"
)

// BenchmarkSandboxedCommand times `true` bare and in the sandbox by turns. The shim is this binary, which starts with all of
// nod's packages and those of its tests: "nod check" tells the same of nod itself.
func BenchmarkSandboxedCommand(b *testing.B) {
	var runner shell.Runner
	if strength, why := runner.Strength(); strength != shell.Full {
		b.Skipf("NOT MEASURED, this machine has no full sandbox: %v", why)
	}
	o, err := runner.Overhead(b.Context(), b.N)
	if err != nil {
		b.Fatal(err)
	}
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) }
	b.ReportMetric(micros(o.Bare[len(o.Bare)/2]), "bare-p50-µs")
	b.ReportMetric(micros(o.Added(0.5)), "added-p50-µs")
	b.ReportMetric(micros(o.Added(0.95)), "added-p95-µs")
}
