package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nod/tools/shell"
)

// treeLine starts processes in every way to get away that we know, and notes when all are up.
const treeLine = `sh -c 'echo >background; exec sleep 600' &
nohup sh -c 'echo >nohup; exec sleep 600' >/dev/null 2>&1 &
setsid sh -c 'echo >setsid; exec sleep 600' &
(setsid sh -c '(echo >forked; exec sleep 600 <&- >&- 2>&-) &' &)
setsid sh -c 'trap "" TERM HUP INT; echo >deaf; while :; do sleep 600; done' &
setsid sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 600 &) & done; echo >storm; wait; sleep 600' &
for f in background nohup setsid forked deaf storm; do while [ ! -e $f ]; do sleep 0.01; done; done
echo >all
wait
sleep 600`

// treeProcesses is how many processes of a tree there are at least once it is up; the storm may still be rising.
const treeProcesses = 7

// trustProcesses ends trees of processes in the three ways that there are, and looks for what is left.
func trustProcesses(t *testing.T, table *trustTable) {
	each := trustSize(1, 2, 100)
	var runner shell.Runner
	var worst time.Duration
	trees, left, up := 0, 0, 0
	for _, ended := range []string{"deadline", "cancel"} {
		for range each {
			overrun, before, survivors := endTree(t, &runner, ended)
			if ended == "deadline" {
				worst = max(worst, overrun)
			}
			trees, left, up = trees+1, left+survivors, up+before
		}
	}
	w := newCrashWorld(t, 1, nil)
	for range each {
		trees++
		before := killWithTree(t, w)
		up += before
		left += len(w.commandProcesses())
	}
	strays := groupKill(t)
	bound := 200 * time.Millisecond
	if !*trustLong {
		bound = 2 * time.Second // other tests load the machine
	}
	table.add(t, trustRow{
		"8. processes left after deadline, cancel and kill -9 of nod; worst overrun",
		fmt.Sprintf("%d of %s in %d trees; %s", left, count(up), trees, worst.Round(time.Millisecond)), "0; ≤ 200 ms",
		fmt.Sprintf("kill of the process group: %d left of one tree", strays),
	}, left == 0 && worst <= bound, strays > 0)
}

// endTree runs a tree and ends it. It counts its processes before, and after Run has returned.
func endTree(t *testing.T, runner *shell.Runner, ended string) (overrun time.Duration, before, survivors int) {
	t.Helper()
	dir := openTemp(t)
	mark := "NOD_TRUST_TREE=" + dir.Path
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	timeout := 10 * time.Second
	watch := make(chan int, 1)
	go func() {
		for !fileThere(filepath.Join(dir.Path, "all")) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond) // nothing tells when a stranger's file appears
		}
		watch <- len(marked(t, mark))
		if ended == "cancel" {
			cancel()
		}
	}()
	if ended == "deadline" {
		timeout = time.Second
	}
	res, err := runner.Run(ctx, shell.Command{
		Line: treeLine, Dir: dir, Timeout: timeout, Env: []string{mark}, Sandbox: &shell.Sandbox{Workspace: dir.Path},
	})
	if err != nil || res.Cancelled != (ended == "cancel") || res.TimedOut != (ended == "deadline") {
		t.Errorf("%s: result = %+v, %v", ended, res, err)
	}
	left := marked(t, mark)
	cancel()
	if before = <-watch; before < treeProcesses && ended == "cancel" {
		t.Errorf("%s: only %d processes were up", ended, before)
	}
	return res.Duration - timeout, before, len(left)
}

func openTemp(t *testing.T) *shell.Dir {
	t.Helper()
	dir, err := shell.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// killWithTree kills the real program while a command of it has processes about, and gives them time to go.
func killWithTree(t *testing.T, w *crashWorld) (before int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p := w.people[0]
	nod := w.launch("")
	errand := p.say(errandTree)
	dead, died := context.WithCancel(ctx)
	defer died()
	go func() {
		w.awaitTrace(ctx, errand)
		before = len(w.commandProcesses())
		died()
	}()
	p.until(dead, func() bool { return false })
	nod.kill()
	w.processesGone()
	return before
}

// groupKill is the control: what many programs do at a deadline.
func groupKill(t *testing.T) (left int) {
	t.Helper()
	dir := t.TempDir()
	mark := "NOD_TRUST_TREE=" + dir
	cmd := exec.Command("/bin/sh", "-c", treeLine)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !fileThere(filepath.Join(dir, "all")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("the control's tree never came up")
			break
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	for pids := marked(t, mark); len(pids) > 0; pids = marked(t, mark) {
		left = max(left, len(pids))
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	return left
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// marked lists the processes that have a variable in their environment.
func marked(t *testing.T, variable string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Error(err)
	}
	for _, name := range files {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(env, []byte(variable+"\x00")) {
			continue // it has ended, or is somebody else's
		}
		if pid, err := strconv.Atoi(strings.Split(name, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
