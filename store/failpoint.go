package store

import "sync/atomic"

var failpoint atomic.Pointer[func(name string)]

// Failpoint marks a commit window: a place between two facts at which the crash test ends the process. It does nothing
// unless OnFailpoint was called.
func Failpoint(name string) {
	if fn := failpoint.Load(); fn != nil {
		(*fn)(name)
	}
}

// OnFailpoint sets what happens at every Failpoint. Only the crash test's process calls it.
func OnFailpoint(fn func(name string)) { failpoint.Store(&fn) }
