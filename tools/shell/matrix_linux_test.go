package shell

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// What the walls let through although it leads outside: every other attempt must fail.
var (
	always = []string{
		"write in the workspace", "write in HOME", "write a temporary file", "write to /dev/null", "read /etc/passwd", "list /",
		// It is a file of the workspace like others; tools refuse files with several names (S-C4).
		"read a hard link made before",
	}
	withNetwork   = []string{"TCP to the host", "UDP to the host"}
	withoutMounts = []string{"read secrets/token", "read it by a link", "chmod outside", "touch outside", "read /proc/NOD/cmdline"}
	// In a folder that is neither closed nor the sandbox's own, and only where abstract sockets are cut off by other means.
	withUnixSockets = []string{"a socket by path elsewhere"}
)

// TestSE9_SC8_SandboxMatrix prints what a command can do at each isolation and checks all of it.
func TestSE9_SC8_SandboxMatrix(t *testing.T) {
	var names []string
	for _, a := range attempts() {
		names = append(names, a.name)
	}
	type column struct {
		head string
		got  map[string]string
	}
	var columns []column
	for _, network := range []bool{false, true} {
		for i, iso := range sandboxLadder() {
			head := fmt.Sprintf("%d %v", i, map[bool]string{false: "off", true: "on"}[network])
			t.Run(fmt.Sprintf("%v, network %v", iso, network), func(t *testing.T) {
				if err := probe(iso); err != nil {
					t.Skipf("NOT TESTED, this machine has no %v: %v", iso, err)
				}
				h := newHideout(t)
				got := h.attempt(t, forced(iso), network)
				columns = append(columns, column{head, got})
				allowed := slices.Clone(always)
				if network {
					allowed = append(allowed, withNetwork...)
				}
				if !iso.walls.Mounts {
					allowed = append(allowed, withoutMounts...)
					if os.Geteuid() == 0 {
						allowed = append(allowed, "chmod /dev/null", "chmod the standard input")
					}
				} else if iso.walls.Landlock || !network {
					allowed = append(allowed, withUnixSockets...)
				}
				for _, name := range names {
					if want := slices.Contains(allowed, name); want != (got[name] == "") {
						t.Errorf("%s: allowed = %v, want %v (%s)", name, got[name] == "", want, got[name])
					}
				}
			})
		}
	}
	columns = append(columns, column{"without", controlAttempts(t)})
	var b strings.Builder
	for i, iso := range sandboxLadder() {
		fmt.Fprintf(&b, "%d: %v (%v)\n", i, iso, iso.strength())
	}
	fmt.Fprintf(&b, "as uid %d\n%-34s", os.Geteuid(), "")
	for _, c := range columns {
		fmt.Fprintf(&b, "%-8s", c.head)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n%-34s", name)
		for _, c := range columns {
			fmt.Fprintf(&b, "%-8s", map[bool]string{false: "-", true: "ALLOWED"}[c.got[name] == ""])
		}
	}
	t.Logf("what the sandbox lets through:\n%s", b.String())
}

// controlAttempts makes the attempts without a sandbox, where an ordinary user succeeds with these at least. What fails
// here too would prove nothing.
func controlAttempts(t *testing.T) map[string]string {
	t.Helper()
	steps := ladder()
	r := forced(steps[len(steps)-1])
	got := newHideout(t).attempt(t, r, true)
	for _, name := range []string{
		"read secrets/token", "read it by a link", "read a hard link made before", "read the database", "read a token file",
		"create a file in NOD_HOME", "write outside", "create outside", "remove outside", "chmod outside", "touch outside",
		"read /proc/NOD/environ", "read /proc/NOD/cmdline", "kill nod", "TCP to the host", "UDP to the host", "nod's control socket",
		"a socket by path elsewhere", "an abstract socket", "unshare", "ptrace", "write in the own home's parent",
	} {
		if got[name] != "" {
			t.Errorf("without a sandbox: %s: %s", name, got[name])
		}
	}
	return got
}
