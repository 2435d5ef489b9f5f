package llm

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

var delayShape = regexp.MustCompile(`(?i)(?:try again in|retry in|"retryDelay"\s*:\s*") ?((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// retryAfter reads how long a service wants to be left alone: Retry-After-Ms, Retry-After (seconds or a date), an
// exhausted x-ratelimit window, or the words of the error. 0 if it does not say.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			return span(s, time.Second)
		}
		if t, err := http.ParseTime(v); err == nil {
			return max(t.Sub(now), 0)
		}
	}
	var wait time.Duration
	for _, what := range []string{"Requests", "Tokens"} {
		if h.Get("X-Ratelimit-Remaining-"+what) == "0" {
			if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + what)); err == nil {
				wait = max(wait, d)
			}
		}
	}
	if m := delayShape.FindSubmatch(body); wait == 0 && m != nil {
		if d, err := time.ParseDuration(string(m[1])); err == nil {
			wait = max(d, 0)
		}
	}
	return wait
}

// span is n units, kept within a day so that no header overflows a Duration. NaN and negative numbers give 0.
func span(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(24*time.Hour)))
}
