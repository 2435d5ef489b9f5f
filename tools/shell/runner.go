package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// patience is how long the shim has for ending everything before it is killed. In a namespace that
	// ends everything too; elsewhere it can leave processes behind, so there it has longer.
	patience       = 150 * time.Millisecond
	longPatience   = 10 * time.Second
	lastPatience   = 5 * time.Second // for the kernel to carry out a kill
	drainAfterwork = time.Second     // for an output pipe that someone outside the command's tree holds
)

var (
	errDeadline = errors.New("the command's time is over")
	errShimLost = errors.New("the command's supervising process was killed, so that background processes of the command may still run")
	errUnending = errors.New("the command's processes could not be ended; some may still run")
)

// Runner runs commands. Its zero value is ready. What the machine can do is measured at first use and then
// kept, so that a command that could not have it fails instead of running with less.
type Runner struct {
	Mode     Mode
	Writable []string // folders that a sandboxed command may write to beside the workspace; absolute, without links
	// Variables are declared by the person who runs nod; execute_cmd gives them to what may use the network.
	Variables []Variable

	plain  measurement // without a sandbox
	walled measurement // in one
}

// Level measures, once, how surely a command's processes are found on this machine.
func (r *Runner) Level() (Level, error) {
	iso, err := r.isolation()
	return iso.level, err
}

// isolation is for commands without a sandbox.
func (r *Runner) isolation() (isolation, error) {
	m := r.plain.take(ladder)
	if !m.found {
		return isolation{}, fmt.Errorf("finding a way to run commands: %w", m.why)
	}
	return m.iso, nil
}

// measurement is what was found when each isolation of a ladder was tried.
type measurement struct {
	once  sync.Once
	iso   isolation
	found bool
	why   error // what was wrong with the isolations before iso
}

func (m *measurement) take(ladder func() []isolation) *measurement {
	m.once.Do(func() { m.iso, m.found, m.why = measure(ladder()) })
	return m
}

// measure sends a shim without a command through each step and gives back the first that works.
func measure(steps []isolation) (first isolation, found bool, why error) {
	if len(steps) == 0 {
		return isolation{}, false, errors.New("nod knows no way on this system")
	}
	var all []error
	for _, iso := range steps {
		err := probe(iso)
		if err == nil {
			return iso, true, errors.Join(all...)
		}
		all = append(all, fmt.Errorf("%v: %w", iso, err))
	}
	return isolation{}, false, errors.Join(all...)
}

func probe(iso isolation) error {
	root, err := OpenDir("/")
	if err != nil {
		return err
	}
	defer root.Close()
	p, err := start(iso, Command{Dir: root}, nil)
	if err != nil {
		return err
	}
	defer p.close()
	return p.wait().err
}

// Run runs c to its end, or ends it when ctx or c.Timeout is over. The error is for commands that could
// not be started or not be ended; a command that fails is a Result.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	iso, err := r.choose(c)
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{Exit: -1, Cancelled: true}, nil
	}
	if iso.walls.none() {
		c.Sandbox = nil
	} else if err := makeHome(c.Sandbox.Workspace); err != nil {
		return Result{}, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, errDeadline)
	defer cancel()
	p, err := start(iso, c, r.Writable)
	if err != nil {
		return Result{}, fmt.Errorf("starting the command: %w", err)
	}
	defer p.close()

	out := &capture{open: c.Spill}
	ends := make(chan ending, 1)
	var wg sync.WaitGroup
	wg.Go(func() { out.drain(p.output) })
	wg.Go(func() {
		ends <- p.wait()
		p.output.SetReadDeadline(time.Now().Add(drainAfterwork))
	})
	end, stopped := p.await(ctx, ends)
	if end.err == errUnending {
		return Result{}, end.err
	}
	wg.Wait()
	if end.err != nil && !(stopped && end.unready) {
		return Result{}, end.err
	}
	res := end.result(stopped)
	res.TimedOut = stopped && context.Cause(ctx) == errDeadline
	res.Cancelled = stopped && !res.TimedOut
	res.Duration = time.Since(began)
	res.Output, res.Omitted = out.text()
	res.Total, res.Spilled, res.SpillErr = out.total, out.spilled, out.spillErr
	return res, nil
}

// process is a running shim with nod's ends of its pipes.
type process struct {
	level   Level
	probe   bool // there is no command
	cmd     *exec.Cmd
	control *os.File
	status  *os.File
	output  *os.File // nil for what is served
}

// ending is how a shim ended.
type ending struct {
	report  report
	killed  bool // the shim was killed before it could report
	unready bool // err says why it came to no command
	err     error
}

func (e ending) result(stopped bool) Result {
	if e.unready {
		return Result{Exit: -1}
	}
	r := Result{Exit: e.report.Exit}
	if sig := syscall.Signal(e.report.Signal); sig != 0 || e.killed {
		r.Exit, r.Signal = -1, unix.SignalName(cmp.Or(sig, syscall.SIGKILL))
	}
	if !stopped { // else what remains was still at work
		r.Leftovers = e.report.Leftovers
	}
	return r
}

// shimEnv is the shim's own environment; the command's travels in the spec. With one processor it starts a
// millisecond sooner, and a build with the race detector would sleep a second at its end.
var shimEnv = []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"}

// start starts the shim for c and tells it what to do. writable is for a sandbox, beside its workspace.
func start(iso isolation, c Command, writable []string) (*process, error) {
	s := newSpec(iso, c, writable)
	p := &process{level: iso.level, probe: len(s.Program) == 0}
	if err := p.begin(iso, c); err != nil {
		p.close()
		return nil, err
	}
	if json.NewEncoder(p.control).Encode(s) != nil {
		p.control.Close() // a shim that has ended, or ends for lack of a spec: wait tells
	}
	return p, nil
}

// begin starts the shim on its ends of the pipes, which then are open in it alone. What is served has its own input and
// output, and no pipe for the latter here.
func (p *process) begin(iso isolation, c Command) (err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	control, toShim := pipe()
	fromShim, status := pipe()
	p.control, p.status, theirs = toShim, fromShim, []*os.File{control, status}
	std := c.std
	if std == nil {
		var output *os.File
		p.output, output = pipe()
		theirs = append(theirs, output)
		std = &stdio{out: output, err: output}
	}
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	exe, err := self()
	if err != nil {
		return err
	}
	p.cmd = &exec.Cmd{
		Path:        exe,
		Args:        []string{shimName},
		Env:         shimEnv,
		Stdout:      std.out,
		Stderr:      std.err,
		ExtraFiles:  []*os.File{controlFD - 3: control, statusFD - 3: status, dirFD - 3: c.Dir.f},
		SysProcAttr: iso.attributes(c.Sandbox != nil && c.Sandbox.Network),
	}
	if std.in != nil {
		p.cmd.Stdin = std.in
	}
	return p.cmd.Start()
}

// await returns the shim's end, which it brings about itself when ctx is done first.
func (p *process) await(ctx context.Context, ends <-chan ending) (end ending, stopped bool) {
	select {
	case end = <-ends:
		return end, false
	case <-ctx.Done():
	}
	p.control.Close()
	wait := patience
	if p.level != LevelNamespace {
		wait = longPatience
	}
	select {
	case end = <-ends:
		return end, true
	case <-time.After(wait):
	}
	p.cmd.Process.Kill()
	select {
	case end = <-ends:
		return end, true
	case <-time.After(lastPatience):
		return ending{err: errUnending}, true
	}
}

// wait returns when the shim has ended, and with it all that it answers for.
func (p *process) wait() ending {
	var last report
	var pid, count int
	for reports := json.NewDecoder(p.status); reports.Decode(&last) == nil && last.Err == ""; count++ {
		pid = max(pid, last.PID)
	}
	p.cmd.Wait() // its status says no more than the reports
	switch {
	case last.Err != "":
		return ending{err: errors.New(last.Err)}
	case count == 0:
		return ending{unready: true, err: fmt.Errorf("the shim ended before it was ready: %v", p.cmd.ProcessState)}
	case count == allReports || p.probe:
		return ending{report: last}
	case p.level == LevelNamespace:
		return ending{killed: true} // and the kernel killed all others
	}
	if pid > 0 {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
	return ending{err: errShimLost}
}

// close lets go of nod's ends.
func (p *process) close() {
	for _, f := range []*os.File{p.control, p.status, p.output} {
		f.Close()
	}
}
