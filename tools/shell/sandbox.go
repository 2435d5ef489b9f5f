package shell

import (
	"errors"
	"fmt"
)

// Strength is how much of the sandbox a machine can have. The package comment says what holds at each.
type Strength int

const (
	None    Strength = iota // commands may do what nod's user may do
	Partial                 // Landlock without mounts, or mounts without Landlock
	Full                    // both
)

// String is the word for people.
func (s Strength) String() string {
	switch s {
	case None:
		return "none"
	case Partial:
		return "partial"
	case Full:
		return "full"
	default:
		return fmt.Sprintf("strength %d", int(s))
	}
}

// Mode is what the person who runs nod wants of the sandbox.
type Mode string

const (
	Auto     Mode = "auto"     // as strong as the machine can; commands say how strong that is. "" means the same
	Required Mode = "required" // full, or nothing runs
	Off      Mode = "off"      // none
)

// Modes are the values of a Mode that a person can choose.
var Modes = []Mode{Auto, Required, Off}

// Sandbox is what a command may do inside of one. It reads the system and writes in the workspace, in a temporary folder
// and in a home of its own.
type Sandbox struct {
	Workspace string   // absolute; may be written
	Closed    []string // absolute; what lies in them can't be read, nor written if they are in a folder that can
	Network   bool     // off, if the sandbox is strong enough for that
}

// Errors of a mode that a command doesn't meet.
var (
	errTooWeak = errors.New("nothing ran: nod is set to sandbox: required, and this machine has no full sandbox; `nod check` says what is missing")
	errNoHost  = errors.New("nothing ran: nod is set to sandbox: required, so access=host is not to be had; leave access out")
)

// Strength measures, once, how strong the sandbox is. The error says what keeps it from being stronger.
func (r *Runner) Strength() (Strength, error) {
	if r.Mode == Off {
		return None, nil
	}
	m := r.walled.take(sandboxLadder)
	return m.iso.strength(), m.why
}

// Describe says how strong the sandbox is, for people.
func (r *Runner) Describe() string {
	strength, _ := r.Strength()
	return r.Mode.Describe(strength)
}

// Describe says, for people, what a mode makes of what a machine has.
func (m Mode) Describe(strength Strength) string {
	switch {
	case m == Off:
		return "none (turned off)"
	case m == Required && strength < Full:
		return fmt.Sprintf("%v, so that no command runs (sandbox: required)", strength)
	}
	return strength.String()
}

// choose is the isolation that a command runs in, if its mode lets it run.
func (r *Runner) choose(c Command) (isolation, error) {
	if c.Sandbox == nil || r.Mode == Off {
		if r.Mode == Required {
			return isolation{}, errNoHost
		}
		return r.isolation()
	}
	m := r.walled.take(sandboxLadder)
	switch {
	case r.Mode == Required && m.iso.strength() < Full:
		return isolation{}, errTooWeak
	case !m.found:
		return r.isolation()
	}
	return m.iso, nil
}
