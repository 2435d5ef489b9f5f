package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	// maxText bounds what a person or the model may write as a schedule, in bytes. The longest sensible one is far below.
	maxText = 256

	// The years that a schedule may name.
	minYear, maxYear = 1970, 2199

	// The ends of what @every takes.
	minEvery, maxEvery = time.Second, 366 * 24 * time.Hour
)

// words maps the @-words to the five fields they stand for.
var words = map[string]string{
	"@hourly":   "0 * * * *",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@weekly":   "0 0 * * 0",
	"@monthly":  "0 0 1 * *",
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
}

// Schedule says when a job is due: by cron fields, at an interval, or once. It is a value, made by Parse or At, and
// safe for concurrent use. The zero Schedule is never due.
type Schedule struct {
	spec   string         // lower case, single blanks; empty for a one-shot
	zone   *time.Location // where the fields and the words count
	fields fields         // of a cron spec
	every  time.Duration  // of @every
	at     time.Time      // of a one-shot
}

var _ cron.Schedule = Schedule{}

// Parse reads a recurring schedule whose times are wall-clock times in zone:
//
//	minute hour day-of-month month day-of-week            5 fields
//	second minute hour day-of-month month day-of-week     6 fields
//	second minute hour … day-of-week year                 7 fields, years 1970–2199
//	@hourly @daily @midnight @weekly @monthly @yearly @annually
//	@every 90m                                            whole seconds, 1 s to 366 days
//
// Fields take *, ?, numbers, three-letter names of months and weekdays, ranges, lists and steps; Sunday is 0 and 7.
// As crontab(5) says, when day-of-month and day-of-week are both given (neither holds a *), a day that fits either
// counts; otherwise it must fit both. @every counts from the time the job was added or resumed.
//
// A schedule that can never be due from now on is an error, as is anything over 256 bytes.
func Parse(spec string, zone *time.Location) (Schedule, error) {
	s, err := parse(spec, zone)
	if err != nil {
		return Schedule{}, err
	}
	if s.Next(time.Now()).IsZero() {
		return Schedule{}, fmt.Errorf("schedule %q is never due again: the years that it names are over", s.spec)
	}
	return s, nil
}

// parse is Parse for a spec that was accepted once: years that are over by now are no error.
func parse(spec string, zone *time.Location) (Schedule, error) {
	if zone == nil {
		return Schedule{}, errors.New("a schedule needs a time zone")
	}
	spec, err := tidy(spec)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{spec: spec, zone: zone}
	if every, ok := strings.CutPrefix(spec, "@every"); ok {
		s.every, err = parseEvery(every)
	} else {
		s.fields, err = parseFields(spec)
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", spec, err)
	}
	return s, nil
}

// tidy refuses what must not reach a parser, and folds blanks and case.
func tidy(spec string) (string, error) {
	if len(spec) > maxText {
		return "", fmt.Errorf("the schedule is %d bytes long; give at most %d", len(spec), maxText)
	}
	for _, r := range spec {
		if r > '~' || r < ' ' && r != '\t' {
			return "", fmt.Errorf("the schedule holds the character %+q; write it with digits, letters and * , - / only", r)
		}
	}
	spec = strings.ToLower(strings.Join(strings.Fields(spec), " "))
	switch {
	case spec == "":
		return "", errors.New(`the schedule is empty; give five fields, such as "0 9 * * 1-5"`)
	case strings.HasPrefix(spec, "tz=") || strings.HasPrefix(spec, "cron_tz="):
		return "", errors.New("the time zone is not a part of the schedule; leave TZ= out and give the zone as the timezone parameter")
	}
	return spec, nil
}

func parseEvery(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, errors.New("@every takes a duration, such as @every 90m")
	case d < minEvery:
		return 0, errors.New("a job can't be due more often than once a second")
	case d > maxEvery:
		return 0, errors.New("@every takes at most 366 days")
	case d%time.Second != 0:
		return 0, errors.New("@every takes whole seconds")
	}
	return d, nil
}

// Zone finds a time zone by its IANA name, such as Europe/Rome.
func Zone(name string) (*time.Location, error) {
	if name == "" || len(name) > 64 {
		return nil, errors.New("the time zone must be an IANA name, such as Europe/Rome")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is not known; give an IANA name, such as Europe/Rome", name)
	}
	return zone, nil
}

// Next returns the first due time after t, in whole seconds and in the schedule's zone, or the zero time when there is none.
//
// Where the zone's clocks jump forward over a listed hour, the skipped times of a day become one, at the first instant
// after the gap. Where they go back, a listed hour counts the first time only. A schedule for every hour follows the
// clock on the wall as it is: nothing is made up in a gap, and the repeated hour counts twice.
func (s Schedule) Next(t time.Time) time.Time {
	switch {
	case !s.at.IsZero():
		if s.at.After(t) {
			return s.at
		}
	case s.every > 0:
		return time.Unix(t.Unix(), 0).Add(s.every).In(s.zone)
	case s.zone != nil:
		if unix, ok := s.fields.next(t.Unix(), s.zone); ok {
			return time.Unix(unix, 0).In(s.zone)
		}
	}
	return time.Time{}
}

// String returns the schedule as it was written; for a one-shot its time in RFC 3339.
func (s Schedule) String() string {
	if !s.at.IsZero() {
		return s.at.Format(time.RFC3339)
	}
	return s.spec
}
