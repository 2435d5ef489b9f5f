package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"nod/store"
)

// measurePower runs the lab in a process of its own, so that its mount is nobody else's and ends with it.
func measurePower(t *testing.T) (got powerFigures) {
	if result := os.Getenv(labVariable); result != "" {
		return runLab(t, result)
	}
	raw, refused := enterLab(t, "^TestTrust$/^power$")
	if refused != "" {
		got.Refused = refused
	} else if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// enterLab runs a test once more, as its lab, in a process with a mount namespace of its own. It gives back what the lab has
// left in its file, or why there is none on this machine.
func enterLab(t *testing.T, test string) (found []byte, refused string) {
	t.Helper()
	result := filepath.Join(t.TempDir(), "found")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The lab runs this very test and nothing else; flags are passed on.
	lab := exec.Command(self, "-test.run="+test, "-test.v", fmt.Sprint("-test.short=", testing.Short()), fmt.Sprint("-trust.long=", *trustLong))
	lab.Env = append(os.Environ(), labVariable+"="+result)
	lab.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		lab.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		lab.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // to mount, in namespaces of its own
		lab.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		lab.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // whose end is what the lab dies of, see go.dev/issue/27505
	defer runtime.UnlockOSThread()
	out, err := lab.CombinedOutput()
	if lab.ProcessState == nil { // no namespaces here
		return nil, err.Error()
	}
	found, readErr := os.ReadFile(result)
	switch {
	case err != nil || readErr != nil:
		t.Fatalf("the lab: %v, %v\n%s", err, readErr, out)
	case testing.Verbose():
		t.Logf("the lab:\n%s", out)
	}
	return found, ""
}

func runLab(t *testing.T, result string) (got powerFigures) {
	d, at := newDisk(), filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.mount(t, at); err != nil {
		got.Refused = err.Error()
	} else {
		watchMemory(t)
		checkDisk(t, d, at)
		commits, states := trustSize(25, 60, 400), trustSize(40, 300, 6000)
		lab := &powerLab{t: t, disk: d, at: at, coin: rand.New(rand.NewPCG(*crashSeed, 5))}
		got.Store = lab.cutWriter("store", commits, states, fates)
		got.Control = lab.cutWriter("nosync", commits, states/5, []fate{dropped}) // bbolt can't even be opened safely on the others
		got.Nod = lab.cutNod(trustSize(3, 8, 200))
		got.Thought = lab.cutThought(trustSize(1, 2, 20), false)
		got.Liar = lab.cutThought(trustSize(1, 2, 20), true)
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(result, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return got
}

// watchMemory ends a lab that grows: bbolt can take all memory there is on a file that is damaged.
func watchMemory(t *testing.T) {
	const most = 6 << 30
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if now := processMemory(os.Getpid(), "VmRSS"); now > most {
				fmt.Fprintf(os.Stderr, "the lab holds %d GiB: a database is damaged in a way that bbolt does not see\n", now>>30)
				os.Exit(exitFailure)
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
}

// checkDisk shows that the disk forgets what was not synced, and nothing else.
func checkDisk(t *testing.T, d *disk, at string) {
	path := func(name string) string { return filepath.Join(at, name) }
	putFile(t, path("kept"), "old", true)
	putFile(t, path("hollow"), "never synced", false)
	if err := store.SyncFolder(at); err != nil {
		t.Fatal(err)
	}
	putFile(t, path("kept"), "new, not synced", false)
	putFile(t, path("nameless"), "synced, but its name is not", true)
	if err := errors.Join(os.Rename(path("hollow"), path("moved")), os.Link(path("kept"), path("second"))); err != nil {
		t.Fatal(err)
	}
	expectFile(t, path("second"), "new, not synced")
	d.cutPower(dropped, nil)
	if entries, err := os.ReadDir(at); err != nil || len(entries) != 2 {
		t.Errorf("after the cut the folder holds %v, %v", entries, err)
	}
	expectFile(t, path("kept"), "old")
	expectFile(t, path("hollow"), "")
	if err := errors.Join(os.Remove(path("kept")), os.Remove(path("hollow"))); err != nil {
		t.Fatal(err)
	}
	d.cutPower(kept, nil)
}

func putFile(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(f, text)
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func expectFile(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s holds %q, %v, want %q", path, text, err, want)
	}
}

// powerLab cuts the power of programs that keep a database on its disk.
type powerLab struct {
	t    testing.TB
	disk *disk
	at   string // where the disk is mounted
	coin *rand.Rand
}

// cutWriter has a writer make commits, and looks at what a power cut would have left at moments of its life, one after
// each deed where there are states enough. The second life begins with a state of the first.
func (l *powerLab) cutWriter(kind string, commits, states int, fates []fate) (sum cutTally) {
	l.disk.format(false)
	for life := range 2 {
		first := life * commits
		l.write(kind, first, commits)
		l.disk.mu.Lock()
		l.cutEverywhere(&sum, states/2, fates)
		l.disk.mu.Unlock()
		l.disk.cutPower(fates[l.coin.IntN(len(fates))], l.coin)
		sum.Commits += commits
	}
	return sum
}

func (l *powerLab) write(kind string, first, commits int) {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	writer := exec.Command(self)
	writer.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d:%d:%s", writerVariable, kind, first, commits, l.at))
	if out, err := writer.CombinedOutput(); err != nil {
		l.t.Fatalf("%v\n%s", err, out)
	}
}

// cutEverywhere replays the log and cuts the power about so many times in all.
func (l *powerLab) cutEverywhere(sum *cutTally, states int, fates []fate) {
	r, acked := l.disk.newReplay(), -1
	if l.disk.base.find(writerHome) != nil {
		acked = l.lastAcked(r)
	}
	every := max(1, len(l.disk.log)*len(fates)/states)
	for i, e := range l.disk.log {
		if e.kind == wrote && l.isNotes(e.node) {
			acked = lastNumber(e.data, acked)
		}
		r.next(e)
		// The making of the database is looked at closely: it happens once, and most of it is not bbolt's.
		if acked >= 0 && i%every != l.coin.IntN(every) && i != len(l.disk.log)-1 {
			continue
		}
		for _, f := range fates {
			sum.Cuts++
			l.look(sum, r.cut(f, l.coin), acked)
		}
	}
}

func (l *powerLab) isNotes(n *node) bool { return l.disk.root.names[writerNotes] == n }

// lastAcked is what a life that begins may rely on: what the state it begins with holds.
func (l *powerLab) lastAcked(r *replay) int {
	path := l.t.TempDir()
	rows, err := l.open(r.root, path)
	if err != nil {
		l.t.Fatalf("a second life: %v", err)
	}
	last := -1
	for _, n := range rows {
		last = max(last, n)
	}
	return last
}

func lastNumber(text []byte, before int) int {
	fields := bytes.Fields(text)
	if len(fields) == 0 {
		return before
	}
	n, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil {
		return before
	}
	return n
}

// look starts on what a cut left and compares it with what was acknowledged.
func (l *powerLab) look(sum *cutTally, root *node, acked int) {
	path, err := os.MkdirTemp("", "nod-cut-")
	if err != nil {
		l.t.Fatal(err)
	}
	defer os.RemoveAll(path)
	if acked >= 0 {
		sum.Acked++
	}
	rows, err := l.open(root, path)
	if err != nil {
		sum.fault(&sum.Unusable, "with %d commits acknowledged: %v", acked+1, err)
		return
	}
	lost := 0
	for n := max(0, acked-writerKeys+1); n <= acked; n++ {
		keys, _ := writerRows(n)
		a, okA := rows[keys[0]]
		b, okB := rows[keys[1]]
		switch {
		case okA != okB || a != b:
			sum.fault(&sum.Torn, "commit %d is torn: %d and %d", n, a, b)
		case !okA || a < n:
			lost++
		}
	}
	if lost > 0 {
		sum.fault(&sum.LostCuts, "of %d acknowledged commits %d are lost", acked+1, lost)
		sum.Lost = max(sum.Lost, lost)
	}
}

// open opens the database of a state as nod's next start does, and gives back its rows.
func (l *powerLab) open(root *node, path string) (rows map[store.CallID]int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // what NoSync leaves, bbolt falls over
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("bbolt panics: %v", p)
		}
	}()
	if home := root.find(writerHome); home != nil {
		if err := home.writeOut(path); err != nil {
			l.t.Fatal(err)
		}
	}
	db, err := store.Open(filepath.Join(path, databaseName))
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	b, err := bolt.Open(db.Path(), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	rows = map[store.CallID]int{}
	err = b.View(func(tx *bolt.Tx) error {
		for fault := range tx.Check() {
			err = errors.Join(err, fault)
		}
		return errors.Join(err, tx.Bucket([]byte("executions")).ForEach(func(key, raw []byte) error {
			var row writerRow
			defer func() { rows[store.CallID(key)] = row.N }()
			return json.Unmarshal(raw, &row)
		}))
	})
	return rows, errors.Join(err, b.Close())
}
