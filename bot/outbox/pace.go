package outbox

import "time"

// Telegram publishes no exact limits; these stay below what others measured: about one call a second
// in a chat with a small burst, and twenty a minute in a group. Edits count like sends.
const (
	paceEvery   = time.Second
	paceBurst   = 4
	groupWindow = time.Minute
	groupCalls  = 20
)

// spare is what previews leave of the limits to the messages that stay.
const (
	spareBurst = 2
	spareGroup = 6
)

// pace is the budget of calls of one chat. The zero value is a full budget without the group's limit.
type pace struct {
	group bool
	full  time.Time   // when the burst is whole again
	calls []time.Time // of the last groupWindow, in a group
}

// wait is how long the next call has to wait, leaving that much of the burst and of the group's window untouched.
func (p *pace) wait(now time.Time, burst, window int) time.Duration {
	wait := max(0, max(0, p.full.Sub(now))-time.Duration(paceBurst-1-burst)*paceEvery)
	if !p.group {
		return wait
	}
	for len(p.calls) > 0 && now.Sub(p.calls[0]) >= groupWindow {
		p.calls = p.calls[1:]
	}
	if free := groupCalls - window; len(p.calls) >= free {
		wait = max(wait, groupWindow-now.Sub(p.calls[len(p.calls)-free]))
	}
	return wait
}

// take spends one call.
func (p *pace) take(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(paceEvery)
	if p.group {
		p.calls = append(p.calls, now)
	}
}

// Previews are edited no faster than this, and slower as they age: an answer that has grown for a minute is read, not
// watched.
const (
	previewPrivate = 1500 * time.Millisecond
	previewGroup   = 3 * time.Second
	previewSlowest = 10 * time.Second
)

// previewEvery is the time between two edits of a preview of that age.
func previewEvery(group bool, age time.Duration) time.Duration {
	base := previewPrivate
	if group {
		base = previewGroup
	}
	return min(previewSlowest, max(base, age/20))
}
