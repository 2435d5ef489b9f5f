package main

import (
	"archive/zip"
	"fmt"
	"iter"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"nod/scheduler"
)

// cronPattern is a spec as the oracle reads it: nil means any value.
type cronPattern struct {
	spec         string
	minute, hour []int
}

var cronPatterns = []cronPattern{
	{"0 0 * * *", []int{0}, []int{0}},
	{"30 0 * * *", []int{30}, []int{0}},
	{"30 1 * * *", []int{30}, []int{1}},
	{"0 2 * * *", []int{0}, []int{2}},
	{"30 2,3 * * *", []int{30}, []int{2, 3}},
	{"45 23 * * *", []int{45}, []int{23}},
	{"*/15 1-3 * * *", []int{0, 15, 30, 45}, []int{1, 2, 3}},
	{"15,45 * * * *", []int{15, 45}, nil},
}

// hostileSpecs are what robfig/cron panics on, takes for something else, or can never be due.
var hostileSpecs = []string{
	"TZ=", "TZ=UTC", "CRON_TZ=Europe/Rome", "0 0 31 2 *", "0 0 30 2 *", "@every 0s", "@every -1h", "@every 1ns", "*/61 * * * *", "1,,2 * * * *",
	strings.Repeat("1,", 200_000) + "1 * * * *", "CRON_TZ=../../etc/passwd 0 0 * * *", "60 * * * *", "* * * *", "", "\x00", "0 0 * * 8", "-1 * * * *", "@reboot",
}

// trustCron compares due times with an oracle that looks at every minute, around each change of each zone's clocks in 2025
// to 2027. In full that is a month for each change and zone.
func trustCron(t *testing.T, table *trustTable) {
	around := time.Duration(trustSize(8, 8, 15*24)) * time.Hour
	zones, shifts := 0, map[string]bool{}
	var ours, theirs cronFaults
	for _, name := range zoneNames(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue // lists and licences lie there too
		}
		shifting := false
		for shift := range shiftsOf(zone) {
			shifting = true
			from, to := shift.Add(-around), shift.Add(around)
			const layout = "2006-01-02 15:04 -0700"
			key := shift.Add(-time.Minute).In(zone).Format(layout) + shift.In(zone).Format(layout)
			if shifts[key] && !*trustLong || testing.Short() && len(shifts) > 40 {
				continue // another zone shifts just so
			}
			shifts[key] = true
			due := cronOracle(zone, from, to)
			for i, p := range cronPatterns {
				ours.compare(due[i], firings(nextOf(t, p.spec, zone), from, to))
				theirs.compare(due[i], firings(robfigOf(t, p.spec, zone), from, to))
			}
		}
		if shifting {
			zones++
		}
	}
	for _, spec := range hostileSpecs {
		ours.tryHostile(func() error { _, err := scheduler.Parse(spec, time.UTC); return err })
		theirs.tryHostile(func() error { _, err := cron.ParseStandard(spec); return err })
	}
	table.add(t, trustRow{
		"12. due times missed, extra or wrong; hostile schedules that panic or pass",
		fmt.Sprintf("%d of %s (%d zones, %d different shifts); %d and %d of %d", ours.wrong, count(ours.due), zones, len(shifts), ours.panics, ours.passed, len(hostileSpecs)), "0; 0 and 0",
		fmt.Sprintf("robfig/cron 3.0.1: %d of %s; %d and %d", theirs.wrong, count(theirs.due), theirs.panics, theirs.passed),
	}, ours.wrong+ours.panics+ours.passed == 0 && ours.due > 0, theirs.wrong > 0 && theirs.panics >= 3)
}

// cronFaults counts what a schedule did wrong.
type cronFaults struct{ due, wrong, panics, passed int }

// compare counts the due times that are in one list and not in the other.
func (f *cronFaults) compare(want, got []time.Time) {
	f.due += len(want)
	wanted := map[int64]bool{}
	for _, at := range want {
		wanted[at.Unix()] = true
	}
	for _, at := range got {
		if !wanted[at.Unix()] {
			f.wrong++
		}
		delete(wanted, at.Unix())
	}
	f.wrong += len(wanted)
}

func (f *cronFaults) tryHostile(parse func() error) {
	defer func() {
		if recover() != nil {
			f.panics++
		}
	}()
	if parse() == nil {
		f.passed++
	}
}

type nexter interface{ Next(time.Time) time.Time }

func nextOf(t *testing.T, spec string, zone *time.Location) nexter {
	s, err := scheduler.Parse(spec, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func robfigOf(t *testing.T, spec string, zone *time.Location) nexter {
	s, err := cron.ParseStandard("CRON_TZ=" + zone.String() + " " + spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func firings(s nexter, from, to time.Time) (all []time.Time) {
	for at := s.Next(from.Add(-time.Second)); !at.IsZero() && at.Before(to) && len(all) < 100_000; at = s.Next(at) {
		all = append(all, at)
	}
	return all
}

// shiftsOf are the moments from 2025 to 2027 at which a zone's clocks change.
func shiftsOf(zone *time.Location) iter.Seq[time.Time] {
	begin, end := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	return func(yield func(time.Time) bool) {
		for at := begin; ; {
			_, shift := at.In(zone).ZoneBounds()
			if shift.IsZero() || !shift.Before(end) || !yield(shift.UTC().Truncate(time.Minute)) {
				return
			}
			at = shift
		}
	}
}

// cronOracle looks at the clock on the wall of every minute, one after the other: a listed hour counts when the wall shows
// it for the first time, and what the wall jumps over counts at the first minute after.
func cronOracle(zone *time.Location, from, to time.Time) [][]time.Time {
	due := make([][]time.Time, len(cronPatterns))
	wallOf := func(t time.Time) time.Time {
		t = t.In(zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	latest := wallOf(from.Add(-time.Minute)) // that the wall has shown
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall := wallOf(at)
		for i, p := range cronPatterns {
			isDue := p.fits(wall)
			if p.hour != nil {
				isDue = isDue && wall.After(latest)
				for skipped := latest.Add(time.Minute); skipped.Before(wall) && !isDue; skipped = skipped.Add(time.Minute) {
					isDue = p.fits(skipped)
				}
			}
			if isDue {
				due[i] = append(due[i], at)
			}
		}
		if wall.After(latest) {
			latest = wall
		}
	}
	return due
}

func (p cronPattern) fits(wall time.Time) bool {
	return (p.minute == nil || slices.Contains(p.minute, wall.Minute())) && (p.hour == nil || slices.Contains(p.hour, wall.Hour()))
}

// zoneNames lists the zones of Go's own database.
func zoneNames(t *testing.T) (names []string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("NOT MEASURED: cron. Where Go keeps the names of all zones is not known: %v", err)
	}
	list, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skipf("NOT MEASURED: cron. The names of all zones are read from Go's database: %v", err)
	}
	defer list.Close()
	for _, f := range list.File {
		names = append(names, f.Name)
	}
	return names
}
