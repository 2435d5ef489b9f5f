package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asRefused, set in the environment, makes the test binary a nod on a machine that refuses it something. The variable holds
// a refusedTask; what became of it is printed as JSON.
const asRefused = "NOD_SHELL_TEST_REFUSED"

func init() { roles[asRefused] = beRefused }

// What a machine can refuse, see refuse.
const (
	noNamespaces = "namespaces" // as with user.max_user_namespaces=0, and no rights to make others
	noMounts     = "mounts"     // as many containers do
	noLandlock   = "landlock"   // as a kernel without it
)

type refusedTask struct {
	Before  []string // refused from the start
	After   []string // refused once all is measured
	Mode    Mode
	Sandbox bool // whether the command runs in one
	Service bool // run as an MCP server is
	Dir     string
	Line    string
}

// refusedResult is what a nod found out and what its command came to.
type refusedResult struct {
	Plain, Walled string // the isolations
	Strength      string
	Why           string
	Later         string // the strength when it is asked again, after the command
	Output, Err   string
}

func beRefused(text string) int {
	var task refusedTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		panic(err)
	}
	dir, err := OpenDir(task.Dir)
	if err != nil {
		panic(err)
	}
	refuse(task.Before)
	r := &Runner{Mode: task.Mode}
	var got refusedResult
	plain, err := r.isolation()
	if err != nil {
		panic(err)
	}
	strength, why := r.Strength()
	got.Plain, got.Walled, got.Strength, got.Why = plain.String(), r.walled.iso.String(), strength.String(), fmt.Sprint(why)
	refuse(task.After)
	if got.Output, err = task.run(r, dir); err != nil {
		got.Err = err.Error()
	}
	strength, _ = r.Strength()
	got.Later = strength.String()
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		return 1
	}
	return 0
}

func (task refusedTask) run(r *Runner, dir *Dir) (output string, err error) {
	if task.Service {
		s, err := r.Serve(context.Background(), Service{Args: []string{"sh", "-c", task.Line}, Dir: dir})
		if err != nil {
			return "", err
		}
		return s.End(), nil
	}
	c := Command{Line: task.Line, Dir: dir, Timeout: time.Minute}
	if task.Sandbox {
		c.Sandbox = &Sandbox{Workspace: dir.Path}
	}
	res, err := r.Run(context.Background(), c)
	return res.Output, err
}

// refuse has the kernel refuse this process, and all that it starts from here on, what is listed.
func refuse(what []string) {
	if len(what) == 0 {
		return
	}
	fail := func(e unix.Errno) unix.SockFilter { return exit(unix.SECCOMP_RET_ERRNO | uint32(e)) }
	f := program{load(callNumber)}
	for _, thing := range what {
		switch thing {
		case noNamespaces:
			f = append(f,
				jumpIf(unix.BPF_JEQ, unix.SYS_UNSHARE, 0, 1), fail(unix.EPERM),
				jumpIf(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), fail(unix.ENOSYS),
				jumpIf(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
				load(firstArgLow), jumpIf(unix.BPF_JSET, newNamespaces, 0, 1), fail(unix.EPERM), exit(unix.SECCOMP_RET_ALLOW),
			)
		case noMounts:
			f = append(f, jumpIf(unix.BPF_JEQ, unix.SYS_MOUNT, 0, 1), fail(unix.EPERM))
		case noLandlock:
			f = append(f, jumpIf(unix.BPF_JEQ, unix.SYS_LANDLOCK_CREATE_RULESET, 0, 1), fail(unix.ENOSYS))
		default:
			panic(thing)
		}
	}
	f = append(f, exit(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	filter := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		panic(errno)
	}
}

// onRefusing runs a task in a nod that is refused something. Its command starts in the folder work of a new one.
func onRefusing(t *testing.T, task refusedTask) (got refusedResult, base string) {
	t.Helper()
	base = lasting(t)
	task.Dir = filepath.Join(base, "work")
	if err := os.Mkdir(task.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	nod := exec.Command("/proc/self/exe")
	nod.Env = append(os.Environ(), asRefused+"="+string(text), atOnce)
	nod.Stderr = os.Stderr
	out, err := nod.Output()
	if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil {
		t.Fatalf("a nod that is refused %q, then %q: %v", task.Before, task.After, err)
	}
	return got, base
}

// TestSandboxLadderAfterARefusal: where the machine refuses what a step takes, the next one is measured and used, and it is
// said what was refused (issue 3: subreaper with Landlock, then none).
func TestSandboxLadderAfterARefusal(t *testing.T) {
	onFull(t)
	const line = "(echo x >../outside) 2>/dev/null || echo kept in; echo ran"
	for _, tt := range []struct {
		refused       []string
		plain, walled string // the end of what the isolation is called
		strength      Strength
		why           string
		output        string
	}{
		{nil, "namespace", "with mounts with Landlock", Full, "<nil>", "kept in\nran\n"},
		{[]string{noNamespaces}, "subreaper", "subreaper with Landlock", Partial, "operation not permitted", "kept in\nran\n"},
		{[]string{noMounts}, "subreaper", "subreaper with Landlock", Partial, "parting the mounts: operation not permitted", "kept in\nran\n"},
		{[]string{noLandlock}, "namespace", "with mounts", Partial, "the kernel has no Landlock", "kept in\nran\n"},
		{[]string{noNamespaces, noLandlock}, "subreaper", "process group", None, "subreaper with Landlock: the kernel has no Landlock", "ran\n"},
	} {
		t.Run(fmt.Sprint("without ", tt.refused), func(t *testing.T) {
			got, base := onRefusing(t, refusedTask{Before: tt.refused, Mode: Auto, Sandbox: true, Line: line})
			if !strings.HasSuffix(got.Plain, tt.plain) || !strings.HasSuffix(got.Walled, tt.walled) || got.Strength != tt.strength.String() {
				t.Errorf("measured: %+v", got)
			}
			if !strings.Contains(got.Why, tt.why) {
				t.Errorf("it is said to be because %s", got.Why)
			}
			if got.Output != tt.output || got.Err != "" {
				t.Errorf("the command: %+v", got)
			}
			if _, err := os.Stat(filepath.Join(base, "outside")); (err == nil) != (tt.strength == None) {
				t.Errorf("with a %v sandbox a file outside: %v", tt.strength, err)
			}
		})
	}
	got, base := onRefusing(t, refusedTask{Before: []string{noNamespaces}, Mode: Required, Sandbox: true, Line: "echo >ran"})
	if got.Err != errTooWeak.Error() {
		t.Errorf("required: %+v", got)
	}
	wantNothingRan(t, base)
}

// TestSandboxNeverStepsDown: what was measured at the start and can't be had later fails the call. Nothing is measured a
// second time, and nothing runs with less than what the cards say.
func TestSandboxNeverStepsDown(t *testing.T) {
	onFull(t)
	for name, task := range map[string]refusedTask{
		"no namespaces": {After: []string{noNamespaces}, Mode: Auto, Sandbox: true},
		"no mounts":     {After: []string{noMounts}, Mode: Auto, Sandbox: true},
		"no Landlock":   {After: []string{noLandlock}, Mode: Auto, Sandbox: true},
		"required":      {After: []string{noLandlock}, Mode: Required, Sandbox: true},
		"on the host":   {After: []string{noNamespaces}},
		"a service":     {After: []string{noNamespaces}, Service: true},
		"turned off":    {After: []string{noNamespaces}, Mode: Off, Sandbox: true},
	} {
		t.Run(name, func(t *testing.T) {
			task.Line = "echo >ran"
			got, base := onRefusing(t, task)
			if task.Mode == Off { // which is said of it all along
				got.Strength, got.Later = Full.String(), Full.String()
			}
			wantNoStepDown(t, got, base)
		})
	}
}

func wantNoStepDown(t *testing.T, got refusedResult, base string) {
	t.Helper()
	if got.Err == "" || got.Output != "" {
		t.Errorf("the call did not fail: %+v", got)
	}
	if got.Strength != Full.String() || got.Later != got.Strength {
		t.Errorf("it was measured again: %+v", got)
	}
	wantNothingRan(t, base)
}

func wantNothingRan(t *testing.T, base string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(base, "work", "ran")); err == nil {
		t.Error("it ran")
	}
}
