package shell

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asReach, set in the environment, makes the test binary a program that seeks what other programs of the machine share. The
// variable holds a reachTask; what it got is printed as JSON.
const asReach = "NOD_SHELL_TEST_REACH"

func init() { roles[asReach] = beReach }

type reachTask struct {
	Sockets []string // by path
	Segment int      // of System V shared memory, by id
}

// reached is what a program got at.
type reached struct {
	Sockets []string
	Segment string // what it begins with
	Errs    []string
}

func beReach(text string) int {
	var task reachTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		panic(err)
	}
	var got reached
	for _, path := range task.Sockets {
		c, err := net.Dial("unix", path)
		if err != nil {
			got.Errs = append(got.Errs, err.Error())
			continue
		}
		c.Close()
		got.Sockets = append(got.Sockets, path)
	}
	memory, err := unix.SysvShmAttach(task.Segment, 0, unix.SHM_RDONLY)
	if err != nil {
		got.Errs = append(got.Errs, err.Error())
	} else {
		got.Segment = string(memory[:len(canary)])
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		return 1
	}
	return 0
}

// newSegment is shared memory of the machine that holds a secret, for this user alone.
func newSegment(t *testing.T) (id int) {
	t.Helper()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600|unix.IPC_CREAT)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
			t.Error(err)
		}
	})
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, canary)
	if err := unix.SysvShmDetach(memory); err != nil {
		t.Fatal(err)
	}
	return id
}

// runSockets listens in the folder of sockets and gives the names by which it is found there; none where this user may not.
func runSockets(t *testing.T) []string {
	t.Helper()
	for _, place := range []string{runFolder, fmt.Sprintf("%s/user/%d", runFolder, os.Geteuid())} {
		dir, err := os.MkdirTemp(place, "nod-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		path := filepath.Join(dir, "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() }) // who connects need not be accepted
		return []string{path, "/var" + path}
	}
	t.Logf("NOT TESTED as uid %d: sockets in %s, where nothing can be made", os.Geteuid(), runFolder)
	return nil
}

// TestSandboxSharesNothing: the sockets of container engines and the service manager are out of a command's reach, by
// whatever name, and with the namespaces the shared memory of other programs is too. Without a sandbox both are there.
func TestSandboxSharesNothing(t *testing.T) {
	h := newHideout(t)
	h.putSelf(t, "reach")
	task := reachTask{Sockets: runSockets(t), Segment: newSegment(t)}
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	reach := func(r rung, network bool) (got reached) {
		t.Helper()
		res := h.run(t, r, network, "./reach", asReach+"="+string(text), atOnce)
		if err := json.Unmarshal([]byte(res.Output), &got); err != nil {
			t.Fatalf("%+v: %v", res, err)
		}
		return got
	}
	steps := ladder()
	control := reach(forced(steps[len(steps)-1]), true)
	if control.Segment != canary || len(task.Sockets) > 0 && (len(control.Sockets) == 0 || control.Sockets[0] != task.Sockets[0]) {
		t.Errorf("without a sandbox: %+v", control)
	}
	sandboxes(t, func(t *testing.T, r rung) {
		for _, network := range []bool{false, true} {
			got := reach(r, network)
			if len(got.Sockets) > 0 {
				t.Errorf("network %v: it connects to %q", network, got.Sockets)
			}
			// Landlock knows no shared memory: there only the namespace keeps it apart.
			if shared := strings.HasPrefix(got.Segment, canary); shared == r.iso.walls.Mounts {
				t.Errorf("network %v: the shared memory is there: %v, %q", network, shared, got.Errs)
			}
		}
	})
}
