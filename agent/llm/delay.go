package llm

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

var delayShape = regexp.MustCompile(`(?i)(?:try again in|retry in|"retryDelay"\s*:\s*") ?((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// retryAfter reads how long a service wants to be left alone: Retry-After-Ms, Retry-After (seconds or a date), an
// exhausted window of requests or tokens, or the words of the error. 0 if it does not say.
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
	wait := usedUp(h, now)
	if m := delayShape.FindSubmatch(body); wait == 0 && m != nil {
		if d, err := time.ParseDuration(string(m[1])); err == nil {
			wait = max(d, 0)
		}
	}
	return wait
}

// usedUp is the time until the windows open again of which nothing remains. OpenAI and Groq tell it as a duration, Anthropic
// as a date of RFC 3339.
func usedUp(h http.Header, now time.Time) (wait time.Duration) {
	for _, what := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if h.Get("X-Ratelimit-Remaining-"+what) == "0" {
			if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + what)); err == nil {
				wait = max(wait, d)
			}
		}
		if h.Get("Anthropic-Ratelimit-"+what+"-Remaining") == "0" {
			if t, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+what+"-Reset")); err == nil {
				wait = max(wait, t.Sub(now))
			}
		}
	}
	return min(wait, 24*time.Hour)
}

// span is n units, kept within a day so that no header overflows a Duration. NaN and negative numbers give 0.
func span(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(24*time.Hour)))
}
