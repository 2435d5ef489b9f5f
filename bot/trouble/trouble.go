// Package trouble decides when a person is told that something is wrong and that it is over: once each, also when it comes
// and goes. It owns no text and sends nothing; whoever meets the trouble keeps a Spell and asks it what to say.
package trouble

import "time"

// Patience is how much of a trouble passes before it is worth a word.
type Patience struct {
	After time.Duration // it is told once it has lasted this long
	Calm  time.Duration // it is over once nothing has failed for this long
}

// again is how soon trouble that was over is taken for the same: it then counts as over after as long without.
const again = time.Hour

// Word is what to say.
type Word int

const (
	Nothing  Word = iota
	Begun         // it is there
	Returned      // it is there again, soon after it was over: it comes and goes
	Over          // it is over
)

// Spell is a spell of trouble. Its zero value is that all is well. It can be kept as JSON. It is not safe for concurrent use.
type Spell struct {
	Since  time.Time `json:"since,omitzero"`  // of the first failure; zero while all is well
	Newest time.Time `json:"newest,omitzero"` // of the last failure
	Told   bool      `json:"told,omitempty"`
	Comes  bool      `json:"comes,omitempty"` // it comes and goes
	Ended  time.Time `json:"ended,omitzero"`  // when the spell before was over, if that was told
}

// Failed notes a failure.
func (s *Spell) Failed(now time.Time, p Patience) Word {
	if s.Since.IsZero() {
		s.Since = now
	}
	s.Newest = now
	if s.Told || now.Sub(s.Since) < p.After {
		return Nothing
	}
	s.Told = true
	if s.Comes = !s.Ended.IsZero() && s.Since.Sub(s.Ended) < again; s.Comes {
		return Returned
	}
	return Begun
}

// Fine notes a success.
func (s *Spell) Fine(now time.Time, p Patience) Word {
	if s.Since.IsZero() {
		return Nothing
	}
	if now.Before(s.Newest) { // the clock was set back
		s.Newest = now
	}
	calm := p.Calm
	if s.Comes {
		calm = again
	}
	if now.Sub(s.Newest) < calm {
		return Nothing
	}
	ended, word := s.Ended, Nothing
	if s.Told {
		ended, word = now, Over
	}
	*s = Spell{Ended: ended}
	return word
}
