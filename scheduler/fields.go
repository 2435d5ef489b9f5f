package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// fields is a parsed cron spec: one bit a value.
type fields struct {
	second, minute, hour, dom, month, dow uint64

	starDom, starDow bool  // the field holds a *, so the other one decides
	years            []int // ascending; nil means every year
}

const (
	allHours  = 1<<24 - 1
	allDays   = 1<<32 - 2
	allMonths = 1<<13 - 2
	allWeek   = 1<<7 - 1
)

// door is the way of one field into robfig/cron's parser. Each field goes alone, so that an error can name it. What the
// parser would take in silence though it can't be meant (empty list items, *-5, a step past the end) stops before it.
type door struct {
	name   string
	values int // how many there are: the largest step
	parser cron.Parser
	bits   func(*cron.SpecSchedule) uint64
}

var doors = []door{
	{"second", 60, cron.NewParser(cron.Second), func(s *cron.SpecSchedule) uint64 { return s.Second }},
	{"minute", 60, cron.NewParser(cron.Minute), func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{"hour", 24, cron.NewParser(cron.Hour), func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{"day of month", 31, cron.NewParser(cron.Dom), func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{"month", 12, cron.NewParser(cron.Month), func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{"day of week", 7, cron.NewParser(cron.Dow), func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

// item is one element of a list: a star, a value or a range, and perhaps a step.
var item = regexp.MustCompile(`^(?:[*?]|(?:\d{1,4}|[a-z]{3})(?:-(?:\d{1,4}|[a-z]{3}))?)(?:/(\d{1,4}))?$`)

func parseFields(spec string) (fields, error) {
	if spec[0] == '@' {
		full, ok := words[spec]
		if !ok {
			known := slices.Sorted(maps.Keys(words))
			return fields{}, fmt.Errorf("this word is not known; there are %s and @every", strings.Join(known, " "))
		}
		spec = full
	}
	texts := strings.Fields(spec)
	year := "*"
	switch len(texts) {
	case 5:
		texts = slices.Insert(texts, 0, "0")
	case 6:
	case 7:
		texts, year = texts[:6], texts[6]
	default:
		return fields{}, fmt.Errorf("it has %d fields; give 5 (minute hour day-of-month month day-of-week), 6 with seconds first, "+
			"or 7 with seconds first and year last", len(texts))
	}
	var masks [6]uint64
	for i, d := range doors {
		var err error
		if masks[i], err = d.mask(texts[i]); err != nil {
			return fields{}, fmt.Errorf("%s %q: %w", d.name, texts[i], err)
		}
	}
	years, err := parseYears(year)
	if err != nil {
		return fields{}, fmt.Errorf("year %q: %w", year, err)
	}
	f := fields{
		second: masks[0], minute: masks[1], hour: masks[2], dom: masks[3], month: masks[4], dow: masks[5],
		starDom: strings.ContainsAny(texts[3], "*?"), starDow: strings.ContainsAny(texts[5], "*?"), years: years,
	}
	// The calendar repeats itself after 400 years, so what is not found in as many is never found.
	if _, ok := f.civil(0, horizon); !ok {
		return fields{}, fmt.Errorf("it can never be due: no date has day of month %s, month %s, day of week %s, year %s",
			texts[3], texts[4], texts[5], year)
	}
	return f, nil
}

// mask returns the field's values as bits, without the parser's own mark for a star.
func (d door) mask(text string) (uint64, error) {
	items, err := splitItems(text, d.values)
	if err != nil {
		return 0, err
	}
	if d.name == "day of week" {
		for i := range items {
			items[i] = sundayLast(items[i])
		}
	}
	parsed, err := d.parser.Parse(strings.Join(items, ","))
	if err != nil {
		return 0, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return 0, errors.New("it is not a list of values")
	}
	return d.bits(spec) &^ (1 << 63), nil
}

func splitItems(text string, values int) ([]string, error) {
	items := strings.Split(text, ",")
	for _, it := range items {
		m := item.FindStringSubmatch(it)
		if m == nil {
			return nil, fmt.Errorf("%q is not a value, a range a-b or *, with or without a /step", it)
		}
		if m[1] == "" {
			continue
		}
		if step, err := strconv.Atoi(m[1]); err != nil || step < 1 || step > values {
			return nil, fmt.Errorf("the step must be from 1 to %d", values)
		}
	}
	return items, nil
}

var weekdayDigits = strings.NewReplacer("sun", "0", "mon", "1", "tue", "2", "wed", "3", "thu", "4", "fri", "5", "sat", "6")

// sundayLast spells out an item of the day-of-week field that ends on Sunday as the seventh day (7, 5-7, fri-sun),
// which robfig/cron's parser refuses. Other items stay as they are.
func sundayLast(it string) string {
	span, stepText, stepped := strings.Cut(weekdayDigits.Replace(it), "/")
	first, last, isRange := strings.Cut(span, "-")
	switch {
	case span == "7":
		return "0"
	case !isRange || last != "7" && (last != "0" || first == "0"):
		return it
	}
	from, err := strconv.Atoi(first)
	if err != nil || from > 7 {
		return it
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil {
			return it
		}
	}
	var days []string
	for day := from; day <= 7; day += step {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// parseYears reads the field that robfig/cron does not have.
func parseYears(text string) ([]int, error) {
	if text == "*" || text == "?" {
		return nil, nil
	}
	items, err := splitItems(text, maxYear-minYear+1)
	if err != nil {
		return nil, err
	}
	var years []int
	for _, it := range items {
		span, stepText, stepped := strings.Cut(it, "/")
		first, last, isRange := strings.Cut(span, "-")
		switch {
		case span == "*" || span == "?":
			first, last = strconv.Itoa(minYear), strconv.Itoa(maxYear)
		case !isRange && stepped:
			last = strconv.Itoa(maxYear)
		case !isRange:
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < minYear || to > maxYear || from > to {
			return nil, fmt.Errorf("give years from %d to %d, such as 2027 or 2027-2029", minYear, maxYear)
		}
		step := 1
		if stepped {
			step, _ = strconv.Atoi(stepText) // splitItems has read it
		}
		for y := from; y <= to; y += step {
			years = append(years, y)
		}
	}
	slices.Sort(years)
	return slices.Compact(years), nil
}

// everyHour reports whether the hour is left open, so that the times follow the clock on the wall.
func (f fields) everyHour() bool { return f.hour == allHours }

func (f fields) dayMatches(day int, weekday time.Weekday) bool {
	dom, dow := f.dom&(1<<day) != 0, f.dow&(1<<weekday) != 0
	if f.starDom || f.starDow {
		return dom && dow
	}
	return dom || dow
}

// yearFrom returns the first year of the schedule that is not before y.
func (f fields) yearFrom(y int) (int, bool) {
	if f.years == nil {
		return y, true
	}
	i, _ := slices.BinarySearch(f.years, y)
	if i == len(f.years) {
		return 0, false
	}
	return f.years[i], true
}

// clockFrom returns the first listed second of a day, counted from midnight, that is not before sec.
func (f fields) clockFrom(sec int) (int, bool) {
	h, m, s := sec/3600, sec/60%60, sec%60
	if f.hour&(1<<h) != 0 {
		if f.minute&(1<<m) != 0 {
			if s2 := bitFrom(f.second, s); s2 < 60 {
				return h*3600 + m*60 + s2, true
			}
		}
		if m2 := bitFrom(f.minute, m+1); m2 < 60 {
			return h*3600 + m2*60 + bitFrom(f.second, 0), true
		}
	}
	if h2 := bitFrom(f.hour, h+1); h2 < 24 {
		return h2*3600 + bitFrom(f.minute, 0)*60 + bitFrom(f.second, 0), true
	}
	return 0, false
}

// bitFrom returns the lowest set bit of mask that is not below n, or 64.
func bitFrom(mask uint64, n int) int {
	return bits.TrailingZeros64(mask >> n << n)
}
