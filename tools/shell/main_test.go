package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asNod, set in the environment, makes the test binary a nod that runs the one command which the
// variable holds as JSON, until it is killed.
const asNod = "NOD_SHELL_TEST_AS_NOD"

type nodTask struct {
	Isolation int // index in allIsolations()
	Dir       string
	Line      string
	Program   string
	Words     []string
	Env       []string
}

// atOnce is for the environment of what the test binary plays: with the race detector it would sleep a second at its end.
const atOnce = "GORACE=atexit_sleep_ms=0"

// roles are what the test binary can be instead of its tests, by the variable that makes it so and holds what to do.
var roles = map[string]func(task string) (code int){asNod: beNod, asAttempts: beAttempts}

func TestMain(m *testing.M) {
	if Dispatch(os.Args) {
		return
	}
	for variable, be := range roles {
		if task := os.Getenv(variable); task != "" {
			os.Exit(be(task))
		}
	}
	flag.Parse()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // whose workers are children too
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD && !fuzzing {
			fmt.Fprintf(os.Stderr, "a child process is left over: pid %d, %v\n", pid, err)
			code = 1
		}
		os.Exit(code)
	}))
}

func beNod(text string) int {
	var task nodTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		panic(err)
	}
	dir, err := OpenDir(task.Dir)
	if err != nil {
		panic(err)
	}
	r := forced(allIsolations()[task.Isolation])
	_, err = r.Run(context.Background(), Command{Line: task.Line, Program: task.Program, Words: task.Words, Dir: dir, Timeout: MaxTimeout, Env: task.Env})
	panic(fmt.Sprintf("the command ended before nod was killed: %v", err))
}

// rung is a runner that does not measure: all its commands have one isolation.
type rung struct {
	*Runner
	iso isolation
}

func forced(iso isolation) rung {
	r := &Runner{}
	for _, m := range []*measurement{&r.plain, &r.walled} {
		m.once.Do(func() { m.iso, m.found = iso, true })
	}
	return rung{r, iso}
}

// Run runs the command in a sandbox if the isolation is one, whose workspace is the command's folder when nothing else
// is said.
func (r rung) Run(ctx context.Context, c Command) (Result, error) {
	if !r.iso.walls.none() && c.Sandbox == nil && c.Dir != nil {
		c.Sandbox = &Sandbox{Workspace: c.Dir.Path}
	}
	return r.Runner.Run(ctx, c)
}

func allIsolations() []isolation { return append(ladder(), sandboxLadder()...) }

// isolations runs test once for every isolation that this machine and user can have.
func isolations(t *testing.T, test func(t *testing.T, index int, r rung)) {
	t.Helper()
	for i, iso := range allIsolations() {
		t.Run(iso.String(), func(t *testing.T) {
			if err := probe(iso); err != nil {
				t.Skipf("NOT TESTED, this machine has no %v: %v", iso, err)
			}
			test(t, i, forced(iso))
		})
	}
}

func tempDir(t *testing.T) *Dir {
	t.Helper()
	dir, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

type runner interface {
	Run(context.Context, Command) (Result, error)
}

// run runs line in a new folder and expects that it could be run.
func run(t *testing.T, r runner, line string) Result {
	t.Helper()
	res, err := r.Run(t.Context(), Command{Line: line, Dir: tempDir(t), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// until polls for what must come true within 20 s.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// marked lists the processes of this machine that have the variable in their environment.
func marked(t *testing.T, variable string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		env, _ := os.ReadFile(f) // empty for a process that has ended or is someone else's
		if !slices.Contains(strings.Split(string(env), "\x00"), variable) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		found = append(found, string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
	}
	return found
}
