package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var trustLong = flag.Bool("trust.long", false, "measure the figures of README.md in full; takes half an hour")

// trustSize is how large something is: with -short, without flags, and with -trust.long.
func trustSize(short, usual, long int) int {
	switch {
	case *trustLong:
		return long
	case testing.Short():
		return short
	}
	return usual
}

// TestTrust measures the figures of README.md and prints them as they stand there. Beside each stands a control: the same
// count of something that does it wrong. A control that shows nothing fails the test, since then the count could not see a
// fault of nod's either. In full:
//
//	go test ./cmd/nod -run 'TestTrust$' -trust.long -timeout 60m -v
func TestTrust(t *testing.T) {
	var table trustTable
	for _, topic := range []struct {
		name    string
		measure func(*testing.T, *trustTable)
	}{
		{"kills", trustKills},
		{"power", trustPower},
		{"approvals", trustApprovals},
		{"files", trustFiles},
		{"processes", trustProcesses},
		{"memory", trustMemory},
		{"secrets", trustSecrets},
		{"sandbox", trustSandbox},
		{"cron", trustCron},
		{"starts", trustStarts},
	} {
		t.Run(topic.name, func(t *testing.T) { topic.measure(t, &table) })
	}
	if os.Getenv(labVariable) == "" {
		t.Logf("load %s\n%s", load(), table.String())
	}
}

// labVariable makes a test binary the lab of a topic: it does that one's work in surroundings of its own. The variable
// names the file where what it finds goes.
const labVariable = "NOD_TRUST_LAB"

// trustRow is a line of the table.
type trustRow struct {
	what, measured, target, control string
}

// trustTable is the table of figures.
type trustTable struct {
	rows  []trustRow
	lines []string // further figures, a sentence each
}

// add enters a figure. good says whether the target is met, seen whether the control failed as it must.
func (tt *trustTable) add(t *testing.T, row trustRow, good, seen bool) {
	t.Helper()
	tt.rows = append(tt.rows, row)
	if !good {
		t.Errorf("%s: %s, want %s", row.what, row.measured, row.target)
	}
	if !seen {
		t.Errorf("%s: the control shows nothing (%s), so the count could not see a fault", row.what, row.control)
	}
}

// miss enters a figure that can't be measured here, and skips the test: with fuseVariable it fails, since then it can.
func (tt *trustTable) miss(t *testing.T, what, target, why string) {
	t.Helper()
	tt.rows = append(tt.rows, trustRow{what, "NOT MEASURED: " + why, target, "none"})
	if os.Getenv(fuseVariable) != "" && strings.HasPrefix(why, needsFuse) {
		t.Fatalf("%s is set, and %s is not measured: %s", fuseVariable, what, why)
	}
	t.Skipf("NOT MEASURED: %s: %s", what, why)
}

func (tt *trustTable) String() string {
	var b strings.Builder
	b.WriteString("| figure | nod | target | control, which must fail |\n|---|---|---|---|\n")
	for _, r := range tt.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.measured, r.target, r.control)
	}
	for _, line := range tt.lines {
		fmt.Fprintf(&b, "\n%s", line)
	}
	return b.String()
}

// TestTrustTableTellsWhatIsMissing: a skip says nothing without -v, so the table does.
func TestTrustTableTellsWhatIsMissing(t *testing.T) {
	t.Setenv(fuseVariable, "")
	var table trustTable
	t.Run("no fuse", func(t *testing.T) { table.miss(t, "5. power cuts", "0", needsFuse+"no /dev/fuse") })
	const want = "| 5. power cuts | NOT MEASURED: it needs a FUSE file system in a mount namespace, which this machine refuses: no /dev/fuse | 0 | none |"
	if text := table.String(); !strings.Contains(text, want) {
		t.Error(text)
	}
}

// perThousand is a rate.
func perThousand(n, of int) string { return fmt.Sprintf("%.3g", 1000*float64(n)/float64(max(of, 1))) }

// count writes a number with its thousands apart.
func count(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
