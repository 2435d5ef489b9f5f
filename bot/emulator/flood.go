package emulator

import (
	"math"
	"time"
)

// Flood is a model of Telegram's pace limits. The real ones are not published; these are the documented rules of thumb
// (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this). Sends and edits share them.
type Flood struct {
	Interval       time.Duration // one message a chat in this time; default 1 s
	Burst          int           // messages that may come at once after a pause; default 5
	GroupPerMinute int           // in one group; default 20
}

// flood keeps the pace of each chat; Server.mu guards it.
type flood struct {
	limits *Flood
	lanes  map[int64]*pace
}

type pace struct {
	free  time.Time   // when the bucket is full again
	group []time.Time // of the last minute
}

// SetFlood switches the pace limits on, or off with nil, and forgets what was counted.
func (s *Server) SetFlood(f *Flood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flood = flood{limits: f}
}

// take counts n messages to the chat, or refuses them with the time to wait.
func (f *flood) take(c *chat, n int, now time.Time) *apiError {
	if f.limits == nil {
		return nil
	}
	interval, burst, perMinute := f.limits.Interval, f.limits.Burst, f.limits.GroupPerMinute
	if interval <= 0 {
		interval = time.Second
	}
	if burst <= 0 {
		burst = 5
	}
	if perMinute <= 0 {
		perMinute = 20
	}
	if f.lanes == nil {
		f.lanes = map[int64]*pace{}
	}
	p := f.lanes[c.ID]
	if p == nil {
		p = &pace{}
		f.lanes[c.ID] = p
	}
	free := p.free
	if free.Before(now) {
		free = now
	}
	free = free.Add(time.Duration(n) * interval)
	if wait := free.Sub(now) - time.Duration(max(burst, n))*interval; wait > 0 {
		return tooManyRequests(seconds(wait))
	}
	if c.Type != "private" {
		for len(p.group) > 0 && now.Sub(p.group[0]) >= time.Minute {
			p.group = p.group[1:]
		}
		if len(p.group)+n > perMinute && len(p.group) > 0 {
			return tooManyRequests(seconds(p.group[0].Add(time.Minute).Sub(now)))
		}
		for range n {
			p.group = append(p.group, now)
		}
	}
	p.free = free
	return nil
}

func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
