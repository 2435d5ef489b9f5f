package confined

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxOutput   = 64 << 20 // bytes of a child's output that are read
	maxLastWord = 4 << 10  // bytes of what a child writes when it breaks down
	lastWait    = time.Second
)

var errTimeLimit = errors.New("the time limit")

// Limits bound each child of a Pool.
type Limits struct {
	Time       time.Duration
	Memory     uint64 // bytes beside what the program has when it starts
	SideBySide int    // children at a time
}

// BrokenError says that a child did not come to an end of its own.
type BrokenError struct {
	// What is for the model: "it took longer than 5s", "it takes more than 512 MiB of memory", "the program broke down over it".
	What string
	// Detail is for the operator.
	Detail string
}

func (e *BrokenError) Error() string { return e.What }

// Pool starts the children that do one kind of work. It may be used from many goroutines.
type Pool struct {
	work   string
	limits Limits
	slots  chan struct{}
}

// NewPool makes a pool for the work of that name, see Dispatch.
func NewPool(work string, l Limits) *Pool {
	return &Pool{work: work, limits: l, slots: make(chan struct{}, l.SideBySide)}
}

// request is what a child is told, answer what it tells.
type request struct {
	Input  []byte
	Memory uint64
}

type answer struct {
	Output []byte
	Err    string
}

// Run does the work on an input in a child, which has ended when it returns. label is what a list of processes shows of
// it. The error is a *BrokenError, the context's, or what the work says of its input.
func (p *Pool) Run(ctx context.Context, label string, input []byte) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeoutCause(ctx, p.limits.Time, errTimeLimit)
	defer cancel()
	out, lastWord := &bounded{left: maxOutput}, &bounded{left: maxLastWord}
	cmd, err := p.command(limited, label)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, lastWord
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		if ended := p.ended(ctx, limited); ended != nil {
			return nil, ended
		}
		return nil, fmt.Errorf("starting the child: %w", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { gob.NewEncoder(in).Encode(request{input, p.limits.Memory}) }) // if the child has ended: Wait tells; the pipe stays open until then
	err = cmd.Wait()
	wg.Wait()
	if ended := p.ended(ctx, limited); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, p.broken(cmd, lastWord.String())
	}
	var a answer
	if err := gob.NewDecoder(out).Decode(&a); err != nil {
		return nil, &BrokenError{What: "the child's answer could not be read", Detail: err.Error()}
	}
	if a.Err != "" {
		return nil, errors.New(a.Err)
	}
	return a.Output, nil
}

// ended says which of the two contexts a run ended with: that of the caller, or the one with the time limit.
func (p *Pool) ended(ctx, limited context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &BrokenError{What: fmt.Sprintf("it took longer than %v", p.limits.Time), Detail: "time limit"}
	}
	return nil
}

// command is a child that is not started yet. It is the leader of a process group, which is killed as a whole.
func (p *Pool) command(ctx context.Context, label string) (*exec.Cmd, error) {
	exe, err := self()
	if err != nil {
		return nil, fmt.Errorf("finding nod's own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Args = []string{childName, p.work, label}
	cmd.Env = childEnv
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // terminal signals don't reach it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lastWait
	return cmd, nil
}

// memoryWords stand in the last words of a program that got no more memory: of Go's runtime, C libraries, and the race
// detector. Go 1.26's collector does not look whether it got room for its queue.
var memoryWords = []string{"out of memory", "cannot allocate memory", "failed to allocate", "pthread_create failed", "runtime.(*spanQueue)"}

func (p *Pool) broken(cmd *exec.Cmd, lastWord string) error {
	first, _, _ := strings.Cut(lastWord, "\n")
	e := &BrokenError{What: fmt.Sprintf("the program broke down over it (%s)", cmd.ProcessState), Detail: strings.TrimSpace(cmd.ProcessState.String() + " " + first)}
	for _, word := range memoryWords {
		if strings.Contains(lastWord, word) {
			e.What = fmt.Sprintf("it takes more than %d MiB of memory", p.limits.Memory>>20)
		}
	}
	return e
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.left)]
	b.left -= len(kept)
	b.Buffer.Write(kept)
	return len(p), nil
}
