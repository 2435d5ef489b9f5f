package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func mustParse(t testing.TB, spec, zoneName string) Schedule {
	t.Helper()
	s, err := parse(spec, zone(t, zoneName))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// upcoming lists the next n due times after now, fewer when the schedule ends before.
func upcoming(s Schedule, now time.Time, n int) []time.Time {
	var times []time.Time
	for range n {
		now = s.Next(now)
		if now.IsZero() {
			break
		}
		times = append(times, now)
	}
	return times
}

// from lists the next n due times after a local time, with their offsets.
func from(s Schedule, after string, n int) []string {
	t, err := time.ParseInLocation("2006-01-02 15:04", after, s.zone)
	if err != nil {
		panic(err)
	}
	var got []string
	for _, due := range upcoming(s, t, n) {
		got = append(got, due.Format("Mon 2006-01-02 15:04:05 -0700"))
	}
	return got
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name, spec, zone, after string
		want                    []string
	}{
		{
			"CLOCK-1 spring gap, New York", "0 2 * * *", "America/New_York", "2026-03-07 01:00",
			[]string{"Sat 2026-03-07 02:00:00 -0500", "Sun 2026-03-08 03:00:00 -0400", "Mon 2026-03-09 02:00:00 -0400"},
		},
		{
			"CLOCK-1 spring gap, Rome", "0 2 * * *", "Europe/Rome", "2026-03-28 12:00",
			[]string{"Sun 2026-03-29 03:00:00 +0200", "Mon 2026-03-30 02:00:00 +0200"},
		},
		{
			"CLOCK-1 autumn fold, New York", "30 1 * * *", "America/New_York", "2026-10-31 12:00",
			[]string{"Sun 2026-11-01 01:30:00 -0400", "Mon 2026-11-02 01:30:00 -0500"},
		},
		{
			"CLOCK-1 autumn fold, Rome", "30 2 * * *", "Europe/Rome", "2026-10-24 12:00",
			[]string{"Sun 2026-10-25 02:30:00 +0200", "Mon 2026-10-26 02:30:00 +0100"},
		},
		{
			"CLOCK-1 every hour goes through the fold twice", "30 * * * *", "Europe/Rome", "2026-10-25 01:00",
			[]string{"Sun 2026-10-25 01:30:00 +0200", "Sun 2026-10-25 02:30:00 +0200", "Sun 2026-10-25 02:30:00 +0100", "Sun 2026-10-25 03:30:00 +0100"},
		},
		{
			"CLOCK-1 every hour makes nothing up in the gap", "30 * * * *", "Europe/Rome", "2026-03-29 01:00",
			[]string{"Sun 2026-03-29 01:30:00 +0100", "Sun 2026-03-29 03:30:00 +0200"},
		},
		{
			"many skipped times become one", "*/10 2 * * *", "Europe/Rome", "2026-03-29 00:00",
			[]string{"Sun 2026-03-29 03:00:00 +0200", "Mon 2026-03-30 02:00:00 +0200"},
		},
		{
			"half an hour's shift, Lord Howe", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00",
			[]string{"Sun 2026-10-04 02:30:00 +1100", "Mon 2026-10-05 02:15:00 +1100"},
		},
		{
			"a midnight that is not there, Santiago", "0 0 * * *", "America/Santiago", "2026-09-05 12:00",
			[]string{"Sun 2026-09-06 01:00:00 -0300", "Mon 2026-09-07 00:00:00 -0300"},
		},
		{
			"a day that was not there, Apia", "0 9 * * 5", "Pacific/Apia", "2011-12-28 00:00",
			[]string{"Sat 2011-12-31 00:00:00 +1400", "Fri 2012-01-06 09:00:00 +1400"},
		},
		{
			"seconds", "*/20 59 23 * * *", "UTC", "2026-12-31 23:58",
			[]string{"Thu 2026-12-31 23:59:00 +0000", "Thu 2026-12-31 23:59:20 +0000", "Thu 2026-12-31 23:59:40 +0000", "Fri 2027-01-01 23:59:00 +0000"},
		},
		{
			"years", "0 0 8 1 1,7 ? 2027,2030", "UTC", "2026-12-31 23:58",
			[]string{"Fri 2027-01-01 08:00:00 +0000", "Thu 2027-07-01 08:00:00 +0000", "Tue 2030-01-01 08:00:00 +0000", "Mon 2030-07-01 08:00:00 +0000"},
		},
		{
			"leap day over a century without one", "0 0 29 2 *", "UTC", "2092-03-01 00:00",
			[]string{"Wed 2096-02-29 00:00:00 +0000", "Fri 2104-02-29 00:00:00 +0000"},
		},
		{
			"the last day of a leap year past the zone's table", "0 12 * * *", "Europe/Rome", "2040-12-30 13:00",
			[]string{"Mon 2040-12-31 12:00:00 +0100", "Tue 2041-01-01 12:00:00 +0100"},
		},
		{
			"a leap day on a Sunday", "0 0 29 2 */7", "UTC", "2026-01-01 00:00",
			[]string{"Sun 2032-02-29 00:00:00 +0000", "Sun 2060-02-29 00:00:00 +0000", "Sun 2088-02-29 00:00:00 +0000", "Sun 2128-02-29 00:00:00 +0000"},
		},
		{
			"date or weekday when both are given", "0 0 13 * fri", "UTC", "2026-11-01 00:00",
			[]string{"Fri 2026-11-06 00:00:00 +0000", "Fri 2026-11-13 00:00:00 +0000", "Fri 2026-11-20 00:00:00 +0000"},
		},
		{
			"date and weekday when one holds a star", "0 0 */2 * fri", "UTC", "2026-11-01 00:00",
			[]string{"Fri 2026-11-13 00:00:00 +0000", "Fri 2026-11-27 00:00:00 +0000"},
		},
		{
			"Sunday is 7", "0 9 * * 7", "UTC", "2026-11-02 00:00",
			[]string{"Sun 2026-11-08 09:00:00 +0000", "Sun 2026-11-15 09:00:00 +0000"},
		},
		{
			"a week that ends on Sunday", "0 9 * * FRI-SUN", "UTC", "2026-11-02 00:00",
			[]string{"Fri 2026-11-06 09:00:00 +0000", "Sat 2026-11-07 09:00:00 +0000", "Sun 2026-11-08 09:00:00 +0000", "Fri 2026-11-13 09:00:00 +0000"},
		},
		{
			"5-7/2", "0 9 * * 5-7/2", "UTC", "2026-11-02 00:00",
			[]string{"Fri 2026-11-06 09:00:00 +0000", "Sun 2026-11-08 09:00:00 +0000", "Fri 2026-11-13 09:00:00 +0000"},
		},
		{"@weekly", "@Weekly", "UTC", "2026-11-02 00:00", []string{"Sun 2026-11-08 00:00:00 +0000", "Sun 2026-11-15 00:00:00 +0000"}},
		{"@every", "@every 90m", "UTC", "2026-11-02 00:10", []string{"Mon 2026-11-02 01:40:00 +0000", "Mon 2026-11-02 03:10:00 +0000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := from(mustParse(t, c.spec, c.zone), c.after, len(c.want))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.spec, diff)
			}
		})
	}
}

func TestCLOCK7_RefusedSchedules(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", "is empty"},
		{" \t ", "is empty"},
		{"TZ=UTC", "timezone parameter"},
		{"TZ=", "timezone parameter"},
		{"CRON_TZ=Europe/Rome", "timezone parameter"},
		{"CRON_TZ=Europe/Rome 0 9 * * *", "timezone parameter"},
		{"tz=../../etc/passwd 0 9 * * *", "timezone parameter"},
		{"0 0 30 2 *", "can never be due"},
		{"0 0 31 2 *", "can never be due"},
		{"0 0 31 4,6,9,11 *", "can never be due"},
		{"0 0 0 30 2 * *", "can never be due"},
		{"0 0 0 29 2 * 2027", "can never be due"},
		{"0 0 0 29 2 ? 2100", "can never be due"},
		{"0 0 0 1 1 * 2020", "never due again"},
		{"0 0 0 1 1 * 1969", "years from 1970"},
		{"0 0 0 1 1 * 2028-2027", "years from 1970"},
		{"0 0 0 1 1 * mon", "years from 1970"},
		{"@every 1ns", "once a second"},
		{"@every 0s", "once a second"},
		{"@every -1h", "once a second"},
		{"@every 500ms", "once a second"},
		{"@every 1.5s", "whole seconds"},
		{"@every 9000h", "366 days"},
		{"@every", "takes a duration"},
		{"@every hour", "takes a duration"},
		{"@reboot", "is not known"},
		{"*/0 * * * *", "step must be"},
		{"*/61 * * * *", "step must be"},
		{"* */25 * * *", "step must be"},
		{"*/-1 * * * *", "is not a value"},
		{"1,,2 * * * *", "is not a value"},
		{", * * * *", "is not a value"},
		{"1-2-3 * * * *", "is not a value"},
		{"1/2/3 * * * *", "is not a value"},
		{"*-5 * * * *", "is not a value"},
		{"60 * * * *", "minute"},
		{"* 24 * * *", "hour"},
		{"* * 0 * *", "day of month"},
		{"* * L * *", "day of month"},
		{"* * * 13 *", "month"},
		{"* * * * 8", "day of week"},
		{"* * * * 1#2", "day of week"},
		{"* * * * 6-2", "day of week"},
		{"30-10 * * * *", "minute"},
		{"* * * *", "it has 4 fields"},
		{"* * * * * * * *", "it has 8 fields"},
		{strings.TrimSpace(strings.Repeat("* ", 127)), "it has 127 fields"},
		{strings.Repeat("* ", 300), "600 bytes long"},
		{"99999999999999999999 * * * *", "is not a value"},
		{"0 9 * * *\x00", "holds the character"},
		{"0 ９ * * *", "holds the character"},
		{"0\u00a09 * * *", "holds the character"},
	} {
		t.Run("CLOCK-7 "+c.spec[:min(len(c.spec), 30)], func(t *testing.T) {
			s, err := Parse(c.spec, time.UTC)
			if err == nil {
				t.Fatalf("accepted, next due %s", s.Next(time.Now()))
			}
			if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
				t.Errorf("the error %q does not say %q in short", err, c.want)
			}
		})
	}
	if _, err := Parse("0 9 * * *", nil); err == nil {
		t.Error("accepted without a zone")
	}
}

func TestZone(t *testing.T) {
	for _, name := range []string{"", "Mars/Base", "../../etc/passwd", "/etc/localtime", strings.Repeat("a", 100)} {
		if z, err := Zone(name); err == nil {
			t.Errorf("Zone(%q) = %s", name, z)
		}
	}
	if z, err := Zone("Asia/Kathmandu"); err != nil || z.String() != "Asia/Kathmandu" {
		t.Errorf("Zone(Asia/Kathmandu) = %v, %v", z, err)
	}
}

func TestAt(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) // 11:00 in Rome
	for _, c := range []struct{ text, zone, want string }{
		{"2026-12-01 09:00", "Europe/Rome", "2026-12-01T09:00:00+01:00"},
		{"2026-12-01T09:00", "Europe/Rome", "2026-12-01T09:00:00+01:00"},
		{" 2026-12-01 09:00:30 ", "Europe/Rome", "2026-12-01T09:00:30+01:00"},
		{"2026-12-01T09:00:00Z", "Europe/Rome", "2026-12-01T10:00:00+01:00"},
		{"2026-12-01t09:00:00.7-05:00", "Europe/Rome", "2026-12-01T15:00:00+01:00"},
		{"2026-12-01 09:00+02:00", "Europe/Rome", "2026-12-01T08:00:00+01:00"},
		{"11:01", "Europe/Rome", "2026-11-30T11:01:00+01:00"},
		{"11:00", "Europe/Rome", "2026-12-01T11:00:00+01:00"},
		{"9:00", "Europe/Rome", "2026-12-01T09:00:00+01:00"},
		{"2027-03-28 02:30", "Europe/Rome", "2027-03-28T03:00:00+02:00"},         // in the gap
		{"2027-10-31 02:30", "Europe/Rome", "2027-10-31T02:30:00+02:00"},         // twice
		{"2027-09-05 00:15", "America/Santiago", "2027-09-05T01:00:00-03:00"},    // in a gap at midnight
		{"2027-04-04 01:45", "Australia/Lord_Howe", "2027-04-04T01:45:00+11:00"}, // twice, half an hour apart
		{"2027-01-01 00:00", "Pacific/Kiritimati", "2027-01-01T00:00:00+14:00"},

		{"2026-11-30 10:59", "Europe/Rome", "not in the future"},
		{"2026-11-30 11:00", "Europe/Rome", "not in the future"},
		{"2020-01-01T00:00:00Z", "Europe/Rome", "not in the future"},
		{"2300-01-01 00:00", "UTC", "too far away"},
		{"2027-02-29 09:00", "UTC", "not understood"},
		{"2027-13-01 09:00", "UTC", "not understood"},
		{"24:00", "UTC", "not understood"},
		{"tomorrow", "UTC", "not understood"},
		{"", "UTC", "not understood"},
		{"0 9 * * *", "UTC", "not understood"},
		{strings.Repeat("2", 300), "UTC", "300 bytes"},
	} {
		s, err := At(c.text, zone(t, c.zone), now)
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("At(%q): %v, want %s", c.text, err, c.want)
		case err == nil && s.String() != c.want:
			t.Errorf("At(%q) = %s, want %s", c.text, s, c.want)
		case err == nil && (!s.Next(s.at).IsZero() || !s.Next(now).Equal(s.at)):
			t.Errorf("At(%q) is not due just once", c.text)
		}
	}
	if _, err := At("09:00", nil, now); err == nil {
		t.Error("accepted without a zone")
	}
}

func TestZeroScheduleIsNeverDue(t *testing.T) {
	if next := (Schedule{}).Next(time.Now()); !next.IsZero() {
		t.Errorf("it is due at %s", next)
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"0 9 * * 1-5", "every weekday at 09:00 (Europe/Rome)"},
		{"0 9 * * MON-FRI", "every weekday at 09:00 (Europe/Rome)"},
		{"@daily", "every day at 00:00 (Europe/Rome)"},
		{"@yearly", "on the 1st of January at 00:00 (Europe/Rome)"},
		{"0 9,18 * * *", "every day at 09:00 and 18:00 (Europe/Rome)"},
		{"30 8 1 * *", "on the 1st of every month at 08:30 (Europe/Rome)"},
		{"30 8 1,2,3,11,22 * *", "on the 1st, 2nd, 3rd, 11th and 22nd of every month at 08:30 (Europe/Rome)"},
		{"0 8 15 1,7 *", "on the 15th of January and July at 08:00 (Europe/Rome)"},
		{"0 8 1 * 1", "on the 1st of every month and every Monday at 08:00 (Europe/Rome)"},
		{"0 8 1 6 1", "on the 1st and every Monday in June at 08:00 (Europe/Rome)"},
		{"0 8 1 * 1-7", "every day at 08:00 (Europe/Rome)"},
		{"0 8 * 6 *", "every day in June at 08:00 (Europe/Rome)"},
		{"0 8 * * 1,3,7", "every Monday, Wednesday and Sunday at 08:00 (Europe/Rome)"},
		{"0 8 * * 6,0", "every Saturday and Sunday at 08:00 (Europe/Rome)"},
		{"*/15 * * * *", "every 15 minutes (Europe/Rome)"},
		{"* * * * *", "every minute (Europe/Rome)"},
		{"* * * * * *", "every second (Europe/Rome)"},
		{"*/10 * * * * *", "every 10 seconds (Europe/Rome)"},
		{"@hourly", "every hour (Europe/Rome)"},
		{"30 * * * *", "every hour at minute 30 (Europe/Rome)"},
		{"0 */2 * * *", "every 2 hours from 00:00 (Europe/Rome)"},
		{"0 */12 * * *", "every day at 00:00 and 12:00 (Europe/Rome)"},
		{"0 9-17 * * 1-5", "every weekday, every hour from 09:00 to 17:00 (Europe/Rome)"},
		{"*/15 9-16 * * 1-5", "every weekday, every 15 minutes from 09:00 to 16:45 (Europe/Rome)"},
		{"30 0 9 * * * 2027", "every day in 2027 at 09:00:30 (Europe/Rome)"},
		{"@every 90m", "every 90 minutes"},
		{"@every 1h", "every hour"},
		{"@every 45s", "every 45 seconds"},
		{"*/7 * * * *", `cron "*/7 * * * *" (Europe/Rome)`},
		{"0 9 */2 * 1-5", `cron "0 9 */2 * 1-5" (Europe/Rome)`},
		{"0 9 1-20 * *", `cron "0 9 1-20 * *" (Europe/Rome)`},
		{"0 9 * 1-8 *", `cron "0 9 * 1-8 *" (Europe/Rome)`},
		{"0 0 9 * * * 2027-2040", `cron "0 0 9 * * * 2027-2040" (Europe/Rome)`},
		{"5,17,44 1-8 * * *", `cron "5,17,44 1-8 * * *" (Europe/Rome)`},
	} {
		if got := Describe(mustParse(t, c.spec, "Europe/Rome")); got != c.want {
			t.Errorf("Describe(%q) = %q, want %q", c.spec, got, c.want)
		}
	}
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	once, err := At("2026-12-01 09:00", zone(t, "Europe/Rome"), now)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Describe(once), "once, on Tuesday 1 December 2026 at 09:00 (Europe/Rome)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Describe(Schedule{}); got != "never" {
		t.Errorf("the zero schedule is %q", got)
	}
}

func TestUpcomingEndsWithTheSchedule(t *testing.T) {
	s := mustParse(t, "0 0 9 1 1,7 * 2027", "UTC")
	if got := upcoming(s, year(2027).Add(24*time.Hour), 3); len(got) != 1 {
		t.Errorf("got %v, want the one time in July", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, spec := range []string{
		"0 9 * * 1-5", "TZ=UTC", "CRON_TZ=", "0 0 31 2 *", "@every 1h30m", "@daily", "*/61 * * * *", "1,,2 * * * *",
		"0 0 0 29 2 */7 2028/4", "* * * * * ? *", "0 0 * * fri-sun", "5-7/0 * * * 5-7/0", "@every 9999999999h",
	} {
		for _, zone := range []string{"Europe/Rome", "Australia/Lord_Howe"} {
			f.Add(spec, zone)
		}
	}
	f.Fuzz(func(t *testing.T, spec, zoneName string) {
		zone, err := Zone(zoneName)
		if err != nil {
			zone = time.UTC
		}
		s, err := Parse(spec, zone)
		if err != nil {
			return
		}
		if text := Describe(s); text == "" || len(text) > 600 {
			t.Errorf("%q in words: %q", spec, text)
		}
		again, err := parse(s.String(), zone)
		if err != nil || !again.Next(year(2026)).Equal(s.Next(year(2026))) {
			t.Errorf("%q does not read back from %q: %v", spec, s, err)
		}
		last := time.Now()
		for i := range 50 {
			next := s.Next(last)
			if next.IsZero() && i > 0 && s.fields.years != nil {
				return
			}
			if !next.After(last) || next.Nanosecond() != 0 {
				t.Fatalf("%q: due at %s after %s", spec, next, last)
			}
			last = next
		}
	})
}

func FuzzAt(f *testing.F) {
	for _, text := range []string{"2026-12-01 09:00", "2026-12-01T09:00:00+01:00", "09:00", "2027-03-28 02:30", "9999-12-31T23:59:59-23:59", "24:00"} {
		f.Add(text, "Europe/Rome", int64(1796000000))
	}
	f.Add("00:30", "America/Santiago", int64(1820000000))
	f.Fuzz(func(t *testing.T, text, zoneName string, unix int64) {
		zone, err := Zone(zoneName)
		if err != nil {
			zone = time.UTC
		}
		now := time.Unix(unix%(1<<33), 0)
		s, err := At(text, zone, now)
		if err != nil {
			return
		}
		next := s.Next(now)
		if !next.After(now) || !s.Next(next).IsZero() || next.Year() > maxYear {
			t.Errorf("At(%q, %s, %s) is due at %s, then at %s", text, zone, now, next, s.Next(next))
		}
		if Describe(s) == "" {
			t.Error("it has no words")
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, spec := range []string{"* * * * *", "0 9 * * 1-5", "0 0 29 2 *", "0 0 29 2 */7"} {
		b.Run(spec, func(b *testing.B) {
			s := mustParse(b, spec, "Europe/Rome")
			at := year(2026)
			for b.Loop() {
				s.Next(at)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		mustParse(b, "0 9 * * 1-5", "Europe/Rome")
	}
}
