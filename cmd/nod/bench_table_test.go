package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is a row of the table.
type figure struct {
	what      string
	value     float64
	yardstick float64 // 0: there is none
	base      string  // what the yardstick is; "" the least bot
	aim       string
	met       bool
	never     float64 // more than this is a fault of the program, on any machine; 0: not looked at
	show      func(float64) string
}

func (f *figures) add(r figure) {
	if r.show == nil {
		r.show = func(v float64) string { return time.Duration(v).Round(10 * time.Microsecond).String() }
	}
	if r.never == 0 {
		r.never = r.value
	}
	f.rows = append(f.rows, r)
}

func (f *figures) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %d processors, %s, load %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), load())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tnod\tyardstick\tratio\taim\t")
	for _, r := range f.rows {
		yardstick, ratio, verdict := "", "", ""
		if r.yardstick > 0 {
			yardstick, ratio = r.show(r.yardstick), fmt.Sprintf("%.2f", r.value/r.yardstick)
			if r.base != "" {
				yardstick += " (" + r.base + ")"
			}
		}
		if r.aim != "" {
			verdict = "missed"
			if r.met {
				verdict = "met"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.show(r.value), yardstick, ratio, r.aim, verdict)
	}
	w.Flush()
	return b.String()
}

// load is the machine's load average, as far as the system tells.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}

// samples are durations of one thing.
type samples []time.Duration

// at is the value below which a share of the samples lies; 0 without samples.
func (s samples) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (s samples) median() time.Duration { return s.at(0.5) }
