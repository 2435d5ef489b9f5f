package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Service is a program that runs until it is stopped, such as an MCP server on pipes. It gets the environment and the
// limits of a command but no sandbox, since whoever configured it vouches for it.
type Service struct {
	Args []string // the program, looked up in PATH where it is no path, and its arguments; no shell expands them
	Dir  *Dir     // where it starts; stays open and the caller's
	Env  []string // "NAME=value", added to the clean environment; wins over it
	// Stdin, Stdout and Stderr are its ends of pipes. They are the caller's, who closes them after Serve.
	Stdin, Stdout, Stderr *os.File
}

type stdio struct{ in, out, err *os.File }

// Served is a Service that was started.
type Served struct {
	stop context.CancelFunc
	done chan struct{}
	end  ending
}

// Serve starts a service, which ends when ctx does. Like a command it can't outlive nod, and when it ends, what it started
// ends with it.
func (r *Runner) Serve(ctx context.Context, s Service) (*Served, error) {
	c, err := s.command()
	if err != nil {
		return nil, err
	}
	iso, err := r.isolation()
	if err != nil {
		return nil, err
	}
	p, err := start(iso, c, nil)
	if err != nil {
		return nil, fmt.Errorf("starting the program: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	d := &Served{stop: stop, done: make(chan struct{})}
	ends := make(chan ending, 1)
	go func() { ends <- p.wait() }()
	go func() {
		defer close(d.done)
		defer stop()
		d.end, _ = p.await(ctx, ends)
		p.close()
	}()
	return d, nil
}

// command is the service as the shim runs it. A shell looks the program up, in the PATH and the folder that it starts with,
// and puts it in its own place; the words reach it as they are.
func (s Service) command() (Command, error) {
	if len(s.Args) == 0 || s.Args[0] == "" || strings.HasPrefix(s.Args[0], "-") {
		return Command{}, errors.New("there is no program to run")
	}
	c := Command{
		Program: sh, Words: append([]string{"sh", "-c", `exec "$@"`, "sh"}, s.Args...), Dir: s.Dir, Timeout: MaxTimeout, Env: slices.Clone(s.Env),
		std: &stdio{in: s.Stdin, out: s.Stdout, err: s.Stderr},
	}
	return c, c.check()
}

// Done is closed once the program and everything that it started is gone.
func (d *Served) Done() <-chan struct{} { return d.done }

// Stop ends the program and everything that it started, within moments, and returns when they are gone.
func (d *Served) Stop() {
	d.stop()
	<-d.done
}

// End says how the program ended, for people. It waits until it has.
func (d *Served) End() string {
	<-d.done
	switch r := d.end.result(false); {
	case d.end.err != nil:
		return d.end.err.Error()
	case r.Signal != "":
		return "it was ended by " + r.Signal
	default:
		return fmt.Sprintf("it ended with exit status %d", r.Exit)
	}
}
