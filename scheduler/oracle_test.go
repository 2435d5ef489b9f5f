package scheduler

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// The oracle knows nothing of masks, spans or offsets. It looks at the clock on the wall of every minute, one after the
// other, and is as simple and as slow as can be.

// pattern is a spec as the oracle reads it: nil means any value.
type pattern struct {
	spec                           string
	minute, hour, dom, month, week []int
}

var patterns = []pattern{
	{spec: "0 0 * * *", minute: []int{0}, hour: []int{0}},
	{spec: "30 0 * * *", minute: []int{30}, hour: []int{0}},
	{spec: "30 1 * * *", minute: []int{30}, hour: []int{1}},
	{spec: "0 2 * * *", minute: []int{0}, hour: []int{2}},
	{spec: "15 2 * * *", minute: []int{15}, hour: []int{2}},
	{spec: "30 2,3 * * *", minute: []int{30}, hour: []int{2, 3}},
	{spec: "45 23 * * *", minute: []int{45}, hour: []int{23}},
	{spec: "*/15 1-3 * * *", minute: []int{0, 15, 30, 45}, hour: []int{1, 2, 3}},
	{spec: "* 2 * * *", hour: []int{2}},
	{spec: "0 */2 * * *", minute: []int{0}, hour: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
	{spec: "0 * * * *", minute: []int{0}},
	{spec: "15,45 * * * *", minute: []int{15, 45}},
	{spec: "* * * * *"},
	{spec: "30 2 * * 0", minute: []int{30}, hour: []int{2}, week: []int{0}},
	{spec: "0 1 28-31 3,10 7", minute: []int{0}, hour: []int{1}, dom: []int{28, 29, 30, 31}, month: []int{3, 10}, week: []int{0}},
	{spec: "0 0 1 * mon", minute: []int{0}, hour: []int{0}, dom: []int{1}, week: []int{1}},
}

func (p pattern) fits(wall time.Time) bool {
	has := func(values []int, v int) bool { return values == nil || slices.Contains(values, v) }
	if !has(p.minute, wall.Minute()) || !has(p.hour, wall.Hour()) || !has(p.month, int(wall.Month())) {
		return false
	}
	dom, week := has(p.dom, wall.Day()), has(p.week, int(wall.Weekday()))
	if p.dom != nil && p.week != nil {
		return dom || week
	}
	return dom && week
}

// oracle returns the minutes in [from, to) at which each pattern is due.
func oracle(zone *time.Location, from, to time.Time, patterns []pattern) [][]time.Time {
	due := make([][]time.Time, len(patterns))
	wallOf := func(t time.Time) time.Time {
		t = t.In(zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	highest := wallOf(from.Add(-time.Minute)) // the latest minute that the wall has shown
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall := wallOf(at)
		for i, p := range patterns {
			isDue := p.fits(wall)
			if p.hour != nil {
				isDue = isDue && wall.After(highest)
				for skipped := highest.Add(time.Minute); skipped.Before(wall) && !isDue; skipped = skipped.Add(time.Minute) {
					isDue = p.fits(skipped)
				}
			}
			if isDue {
				due[i] = append(due[i], at)
			}
		}
		if wall.After(highest) {
			highest = wall
		}
	}
	return due
}

// compare checks Next against the oracle over [from, to), whole minutes.
func compare(t *testing.T, zone *time.Location, from, to time.Time) {
	t.Helper()
	for i, want := range oracle(zone, from, to, patterns) {
		s, err := parse(patterns[i].spec, zone)
		if err != nil {
			t.Fatal(err)
		}
		at := from.Add(-time.Second)
		for n := 0; ; n++ {
			at = s.Next(at)
			if !at.Before(to) || n == len(want) {
				if n < len(want) {
					t.Errorf("%s, %q: missing %s", zone, s, want[n].In(zone))
				} else if at.Before(to) {
					t.Errorf("%s, %q: %s is one too many", zone, s, at)
				}
				break
			}
			if !at.Equal(want[n]) {
				t.Errorf("%s, %q: got %s, want %s", zone, s, at, want[n].In(zone))
				break
			}
		}
	}
}

// aroundShifts calls fn with the hours around each change of a zone's clocks in [from, to).
func aroundShifts(zone *time.Location, from, to time.Time, hours int, fn func(from, to time.Time)) {
	for at := from; ; {
		_, shift := at.In(zone).ZoneBounds()
		if shift.IsZero() || !shift.Before(to) {
			return
		}
		day := shift.UTC().Truncate(time.Minute)
		around := time.Duration(hours) * time.Hour
		fn(day.Add(-around), day.Add(around))
		at = shift
	}
}

func year(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }

// TestNextAgainstOracleByKindOfShift takes every kind there is: whole and half hours, at midnight, across a date, a lost
// day, offsets that change for good, two a month.
func TestNextAgainstOracleByKindOfShift(t *testing.T) {
	for _, c := range []struct {
		zone     string
		from, to int
	}{
		{"America/New_York", 2026, 2027},
		{"Europe/Rome", 2026, 2027},
		{"Europe/Dublin", 2026, 2027},
		{"Australia/Lord_Howe", 2025, 2026},
		{"Africa/Cairo", 2026, 2027},
		{"Africa/Casablanca", 2026, 2027},
		{"Asia/Beirut", 2026, 2027},
		{"America/Santiago", 2026, 2027},
		{"America/Havana", 2026, 2027},
		{"Antarctica/Troll", 2026, 2027},
		{"Atlantic/Azores", 2026, 2027},
		{"Pacific/Chatham", 2026, 2027},
		{"Pacific/Apia", 2011, 2013},
		{"Asia/Pyongyang", 2015, 2019},
		{"America/Caracas", 2016, 2017},
		{"America/Sao_Paulo", 2018, 2020},
	} {
		zone, err := Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		aroundShifts(zone, year(c.from), year(c.to), 30, func(from, to time.Time) {
			n++
			compare(t, zone, from, to)
		})
		if n == 0 {
			t.Errorf("%s: no shift between %d and %d", c.zone, c.from, c.to)
		}
	}
}

// TestNextAgainstOracleInAllZones looks at the hours around each shift of 2025 to 2027, once for zones that shift alike.
// With NOD_LONG=1 it takes every minute of those years in each zone instead, which needs ten minutes and -timeout 30m.
func TestNextAgainstOracleInAllZones(t *testing.T) {
	from, to := year(2025), year(2028)
	zones, seen := allZones(t), map[string]bool{}
	for _, zone := range zones {
		if os.Getenv("NOD_LONG") != "" {
			compare(t, zone, from, to)
			continue
		}
		aroundShifts(zone, from, to, 5, func(from, to time.Time) {
			layout := "2006-01-02 15:04 -0700"
			shift := from.In(zone).Format(layout) + to.In(zone).Format(layout)
			if !seen[shift] {
				seen[shift] = true
				compare(t, zone, from, to)
			}
		})
	}
	t.Logf("%d zones, %d different shifts", len(zones), len(seen))
}

// allZones reads the machine's zone names; it skips the test where there are none.
func allZones(t *testing.T) []*time.Location {
	const root = "/usr/share/zoneinfo"
	if _, err := os.Stat(root); err != nil {
		t.Skipf("NOT TESTED: all time zones; their names are read from %s, so install tzdata: %v", root, err)
	}
	var zones []*time.Location
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/") {
			return err // right/ counts leap seconds, which Unix time has not; posix/ repeats the rest
		}
		if zone, err := time.LoadLocation(name); err == nil { // lists and licences lie there too
			zones = append(zones, zone)
		}
		return nil
	})
	if err != nil || len(zones) < 300 {
		t.Fatalf("%s holds %d zones, expected some 600 (%v)", root, len(zones), err)
	}
	return zones
}
