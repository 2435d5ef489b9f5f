package llm

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"
)

// The shares are what o200k needs (MODELS.md section 5); an estimate may be off by half, but not by more.
func TestEstimate(t *testing.T) {
	tests := []struct {
		name, text    string
		runesPerToken float64
	}{
		{"English", strings.Repeat("The quick brown fox jumps over the lazy dog and goes home. ", 50), 4.66},
		{"Go", strings.Repeat("func (c *Client) Close() error {\n\treturn c.body.Close()\n}\n", 50), 4.46},
		{"JSON", strings.Repeat(`{"id":17,"name":"fox","tags":["a","b"],"ok":true},`, 50), 2.79},
		{"Russian", strings.Repeat("Съешь ещё этих мягких французских булок да выпей чаю. ", 50), 3.10},
		{"Chinese", strings.Repeat("我能吞下玻璃而不伤身体，今天天气很好。", 50), 1.50},
		{"base64", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x8f\x03\xe7\xd1\x5a", 500))), 1.82},
		{"emoji", strings.Repeat("🙂🚀🎉", 100), 0.62},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := float64(len([]rune(tt.text))) / tt.runesPerToken
			if got := float64(Estimate(tt.text)); got < want*0.5 || got > want*2 {
				t.Errorf("%.0f tokens, o200k has about %.0f", got, want)
			}
		})
	}
	if Estimate("") != 0 {
		t.Error("nothing has tokens")
	}
	with := EstimateMessages([]Message{{Text: "x", Images: []Image{{}}, Calls: []Call{{Name: "f", Args: `{"a":1}`}}}})
	if bare := EstimateMessages([]Message{{Text: "x"}}); with < bare+perImage+2 {
		t.Errorf("images and calls count %d", with-bare)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	if m.ratio() != 1 {
		t.Errorf("ratio %v before any report", m.ratio())
	}
	m.add(10, 500) // mostly the service's own template
	if m.ratio() != 1 {
		t.Errorf("ratio %v after a tiny request", m.ratio())
	}
	for range 20 {
		m.add(1000, 1500)
	}
	if math.Abs(m.ratio()-1.5) > 0.01 {
		t.Errorf("ratio %v, want 1.5", m.ratio())
	}
	m.add(1000, 1_000_000)
	if m.ratio() > 2.1 {
		t.Errorf("ratio %v after one absurd report", m.ratio())
	}
}

func TestCost(t *testing.T) {
	m := Model{PriceIn: 2, PriceOut: 10}
	if got := Cost(Usage{In: 1_000_000, Cached: 500_000, Out: 100_000}, m); got != 3 {
		t.Errorf("cost %v, want 3", got)
	}
	if got := Cost(Usage{In: 1_000_000, USD: 0.5}, m); got != 0.5 {
		t.Errorf("stated cost %v, want 0.5", got)
	}
}
