package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What At takes: with an offset, and in the zone's own time.
var (
	offsetLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"}
	localLayouts  = []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"}
	clockLayouts  = []string{"15:04", "15:04:05"}
)

// At reads the time of a one-shot: RFC 3339, a date and time in zone (2026-12-01 09:00, with T or blank, seconds or
// none), or a time alone, which is the next such time after now. A local time that the zone's clocks jump over is the
// first instant after the gap, one that they show twice is the first of the two; fractions of a second are dropped.
// A time that is not after now, or after the year 2199, is an error.
func At(text string, zone *time.Location, now time.Time) (Schedule, error) {
	if zone == nil {
		return Schedule{}, errors.New("a time needs a time zone")
	}
	if len(text) > maxText {
		return Schedule{}, fmt.Errorf("the time is %d bytes long; give it as 2026-12-01 09:00", len(text))
	}
	text = strings.TrimSpace(text)
	at, ok := parseAt(strings.ToUpper(text), zone, now)
	switch {
	case !ok:
		return Schedule{}, fmt.Errorf("the time %q is not understood; give it as 2026-12-01 09:00 (in %s) or in RFC 3339, as 2026-12-01T09:00:00+01:00",
			text, zone)
	case !at.After(now):
		return Schedule{}, fmt.Errorf("the time %s is not in the future: it is %s now in %s; give a later one",
			text, now.In(zone).Format("2006-01-02 15:04:05"), zone)
	case at.Year() > maxYear:
		return Schedule{}, fmt.Errorf("the time %s is too far away; give a year up to %d", text, maxYear)
	}
	return once(at, zone), nil
}

// once is a one-shot at a time that was accepted before.
func once(at time.Time, zone *time.Location) Schedule {
	return Schedule{at: time.Unix(at.Unix(), 0).In(zone), zone: zone}
}

func parseAt(text string, zone *time.Location, now time.Time) (time.Time, bool) {
	if t, ok := parseAny(offsetLayouts, text); ok {
		return time.Unix(t.Unix(), 0).In(zone), true
	}
	if t, ok := parseAny(localLayouts, text); ok {
		return time.Unix(instant(t.Unix(), zone), 0).In(zone), true
	}
	clock, ok := parseAny(clockLayouts, text)
	if !ok {
		return time.Time{}, false
	}
	year, month, day := now.In(zone).Date()
	sinceMidnight := int64(clock.Hour()*3600 + clock.Minute()*60 + clock.Second())
	for {
		at := time.Unix(instant(midnight(year, month, day)+sinceMidnight, zone), 0)
		if at.After(now) {
			return at.In(zone), true
		}
		day++
	}
}

func parseAny(layouts []string, text string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
