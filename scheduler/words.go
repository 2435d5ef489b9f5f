package scheduler

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// The most values that a description lists before it gives way to the spec itself.
const (
	maxTimes  = 4
	maxDates  = 6
	maxMonths = 6
	maxYears  = 4
)

// Describe puts a schedule into plain English with its zone: "every weekday at 09:00 (Europe/Rome)". What has no short
// sentence is quoted: `cron "…" (Europe/Rome)`.
func Describe(s Schedule) string {
	switch {
	case !s.at.IsZero():
		return "once, on " + s.at.Format("Monday 2 January 2006 at 15:04") + seconds(s.at) + inZone(s.zone)
	case s.every > 0:
		return "every " + duration(s.every)
	case s.zone == nil:
		return "never"
	}
	if text, ok := s.fields.words(); ok {
		return text + inZone(s.zone)
	}
	return "cron " + strconv.Quote(s.spec) + inZone(s.zone)
}

func inZone(zone *time.Location) string { return " (" + zone.String() + ")" }

func seconds(t time.Time) string {
	if t.Second() == 0 {
		return ""
	}
	return t.Format(":05")
}

// duration writes whole seconds in the largest unit that divides them: "90 minutes", "hour".
func duration(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return count(int(d/time.Hour), "hour")
	case d%time.Minute == 0:
		return count(int(d/time.Minute), "minute")
	}
	return count(int(d/time.Second), "second")
}

// count is "hour" for one and "2 hours" for two, as it follows "every".
func count(n int, unit string) string {
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func (f fields) words() (string, bool) {
	days, ok := f.days()
	if !ok {
		return "", false
	}
	if times, ok := f.times(); ok {
		return days + " at " + times, true
	}
	interval := f.interval()
	switch {
	case interval == "":
		return "", false
	case days == "every day":
		return interval, true
	}
	return days + ", " + interval, true
}

// times lists the times of a day.
func (f fields) times() (string, bool) {
	if bits.OnesCount64(f.second)*bits.OnesCount64(f.minute)*bits.OnesCount64(f.hour) > maxTimes {
		return "", false
	}
	var times []string
	for sec, ok := f.clockFrom(0); ok; sec, ok = f.clockFrom(sec + 1) {
		t := time.Unix(int64(sec), 0).UTC()
		times = append(times, t.Format("15:04")+seconds(t))
	}
	return join(times), true
}

// interval describes times of day that come at an even pace; it is empty when they don't.
func (f fields) interval() string {
	if step, ok := stepOf(f.second, 60); ok && bits.OnesCount64(f.minute) == 60 && f.everyHour() {
		return "every " + count(step, "second")
	}
	if f.second != 1 {
		return ""
	}
	minute, hours := bitFrom(f.minute, 0), bits.OnesCount64(f.hour)
	first, last := bitFrom(f.hour, 0), 63-bits.LeadingZeros64(f.hour)
	unbroken := last-first+1 == hours
	if step, ok := stepOf(f.minute, 60); ok {
		switch {
		case f.everyHour():
			return "every " + count(step, "minute")
		case unbroken:
			return fmt.Sprintf("every %s from %02d:00 to %02d:%02d", count(step, "minute"), first, last, 60-step)
		}
	}
	if bits.OnesCount64(f.minute) != 1 {
		return ""
	}
	switch step, ok := stepOf(f.hour, 24); {
	case f.everyHour() && minute == 0:
		return "every hour"
	case f.everyHour():
		return fmt.Sprintf("every hour at minute %d", minute)
	case unbroken:
		return fmt.Sprintf("every hour from %02d:%02d to %02d:%02d", first, minute, last, minute)
	case ok:
		return fmt.Sprintf("every %d hours from 00:%02d", step, minute)
	}
	return ""
}

// days describes the dates, beginning with "every" or "on".
func (f fields) days() (string, bool) {
	anyDate, anyWeekday := f.dom == allDays, f.dow == allWeek
	either := !f.starDom && !f.starDow
	var text string
	switch {
	case anyDate && anyWeekday, either && (anyDate || anyWeekday):
		text = "every day"
	case anyDate:
		text = f.weekdays()
	case anyWeekday:
		text = f.dates()
	case either:
		if dates := f.dates(); dates != "" {
			text = dates + " and " + f.weekdays()
		}
	}
	if text == "" {
		return "", false
	}
	if f.month != allMonths {
		months := list(f.month, func(m int) string { return time.Month(m).String() })
		if len(months) > maxMonths {
			return "", false
		}
		text = strings.Replace(text, " of every month", "", 1)
		if anyWeekday && !anyDate {
			text += " of " + join(months)
		} else {
			text += " in " + join(months)
		}
	}
	if f.years != nil {
		if len(f.years) > maxYears {
			return "", false
		}
		var years []string
		for _, y := range f.years {
			years = append(years, strconv.Itoa(y))
		}
		text += " in " + join(years)
	}
	return text, true
}

func (f fields) weekdays() string {
	switch f.dow {
	case 0b0111110:
		return "every weekday"
	case 0b1000001:
		return "every Saturday and Sunday"
	}
	// Monday comes first in a week of words.
	return "every " + join(list(f.dow>>1|f.dow&1<<6, func(d int) string { return time.Weekday((d + 1) % 7).String() }))
}

// dates is empty when there are too many to list.
func (f fields) dates() string {
	days := list(f.dom, ordinal)
	if len(days) > maxDates {
		return ""
	}
	return "on the " + join(days) + " of every month"
}

func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// list names each set bit of mask.
func list(mask uint64, name func(int) string) []string {
	var names []string
	for b := bitFrom(mask, 0); b < 64; b = bitFrom(mask, b+1) {
		names = append(names, name(b))
	}
	return names
}

// join writes "a", "a and b", "a, b and c".
func join(items []string) string {
	last := len(items) - 1
	if last <= 0 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// stepOf returns n when mask holds 0, n, 2n, … of size values and n divides size, so that the pace is even at its end too.
func stepOf(mask uint64, size int) (int, bool) {
	n := size
	if second := bitFrom(mask, 1); second < size {
		n = second
	}
	if size%n != 0 || n == size {
		return 0, false
	}
	var want uint64
	for v := 0; v < size; v += n {
		want |= 1 << v
	}
	return n, mask == want
}
