package scheduler

import (
	"math"
	"time"
)

const daySeconds = 24 * 60 * 60

// horizon is how far a search for a due time goes, in seconds: 400 years, after which dates and weekdays repeat.
const horizon = 146097 * daySeconds

// A span is a stretch of instants over which a zone keeps one offset from UTC. Instants are Unix seconds. Civil seconds,
// used beside them, are what the clock on the wall shows, counted as if it were UTC: an instant plus its offset.
type span struct {
	start, end int64 // [start, end); MinInt64 and MaxInt64 where the zone never changes
	offset     int64 // seconds east of UTC
	reached    int64 // the civil second that the span before it had reached; above start+offset where clocks went back
}

func spanAt(unix int64, zone *time.Location) span {
	t := time.Unix(unix, 0).In(zone)
	_, offset := t.Zone()
	sp := span{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset), reached: math.MinInt64}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		sp.start = start.Unix()
		sp.reached = sp.start + int64(before)
	}
	if !end.IsZero() {
		// Past a zone's table of transitions (2037), Go 1.26 ends the last span of a year after 365 days, which leaves the
		// 31st of December of leap years outside of it (time.tzset).
		sp.end = end.Unix()
		if sp.end <= unix {
			sp.end = unix - unix%daySeconds + daySeconds
		}
	}
	return sp
}

// next returns the first due instant after the given one. It walks the zone's spans: within one, civil time runs straight.
func (f fields) next(after int64, zone *time.Location) (int64, bool) {
	limit := after + horizon
	for at := after + 1; at < limit; {
		sp := spanAt(at, zone)
		from, to := at+sp.offset, min(sp.end, limit)+sp.offset
		if !f.everyHour() {
			if at == sp.start {
				if _, skipped := f.civil(sp.reached, from); skipped {
					return at, true
				}
			}
			from = max(from, sp.reached)
		}
		if civil, ok := f.civil(from, to); ok {
			return civil - sp.offset, true
		}
		at = sp.end
	}
	return 0, false
}

// civil returns the first civil second in [from, limit) that the fields match.
func (f fields) civil(from, limit int64) (int64, bool) {
	for from < limit {
		t := time.Unix(from, 0).UTC()
		year, month, day := t.Date()
		first, ok := f.yearFrom(year)
		switch {
		case !ok:
			return 0, false
		case first > year:
			from = midnight(first, time.January, 1)
		case f.month&(1<<month) == 0:
			from = midnight(year, month+1, 1)
		case !f.dayMatches(day, t.Weekday()):
			from = midnight(year, month, day+1)
		default:
			today := midnight(year, month, day)
			if sec, ok := f.clockFrom(int(from - today)); ok {
				return today + int64(sec), today+int64(sec) < limit
			}
			from = today + daySeconds
		}
	}
	return 0, false
}

// midnight returns a date's first civil second; a month or day past the end runs over, as with time.Date.
func midnight(year int, month time.Month, day int) int64 {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
}

// instant turns a civil second into the first instant at which the zone's clocks show it; one that they jump over
// becomes the first instant after the gap.
func instant(civil int64, zone *time.Location) int64 {
	// No offset was ever a day long, so a day earlier is surely before it.
	for at := civil - daySeconds; ; {
		sp := spanAt(at, zone)
		switch {
		case civil < at+sp.offset:
			return at
		case sp.end == math.MaxInt64 || civil < sp.end+sp.offset:
			return civil - sp.offset
		}
		at = sp.end
	}
}
