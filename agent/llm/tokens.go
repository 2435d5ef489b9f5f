package llm

import "unicode"

// Fixed parts of an estimate, in tokens.
const (
	perMessage = 4
	perImage   = 1000
)

// Estimate guesses how many tokens a text has. It follows what o200k and cl100k were measured to need for English, code,
// JSON, Russian, Chinese, base64 and emoji, and rather says too many; Client.Ratio calibrates it for a model.
func Estimate(text string) int {
	var letters, marks, runes, wide float64
	for _, r := range text {
		switch {
		case r >= unicode.MaxASCII+1:
			if isWide(r) {
				wide++
			} else {
				runes++
			}
		case r == ' ' || r == '\n' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letters++
		default:
			marks++
		}
	}
	return int(letters/4 + marks/2.5 + runes*0.6 + wide*1.2 + 0.5)
}

// isWide is true for CJK and emoji, which take about a token each.
func isWide(r rune) bool {
	return r >= 0x1F000 || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// EstimateMessages guesses how many tokens messages have in a request, with images and calls.
func EstimateMessages(h []Message) int {
	n := 0
	for _, m := range h {
		n += perMessage + Estimate(m.Text) + perImage*len(m.Images)
		for _, c := range m.Calls {
			n += perMessage + Estimate(c.Name) + Estimate(c.Args)
		}
	}
	return n
}

// EstimateTools guesses how many tokens the offer of tools takes in a request.
func EstimateTools(tools []ToolDef) int {
	n := 0
	for _, t := range tools {
		n += perMessage + (len(t.Name)+len(t.Description)+len(t.Schema))/3
	}
	return n
}

// Ratio is how many tokens a model reported lately for each that was estimated; 1 until it has reported any. "" is the
// first model.
func (c *Client) Ratio(model string) float64 {
	e := c.first(model)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meter.ratio()
}

// observe calibrates the model's estimates. The request is sanitized: its system text is in its messages.
func (e *entry) observe(req Request, u Usage) {
	if u.In <= 0 {
		return
	}
	raw := EstimateMessages(req.Messages) + EstimateTools(req.Tools)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.meter.add(raw, u.In)
}

// meter is a moving average of reported over estimated tokens.
type meter struct{ avg float64 }

// A single report moves the average by a third, and no report by more than makes sense.
const (
	meterWeight = 1.0 / 3
	meterLow    = 0.4
	meterHigh   = 3.0
	meterLeast  = 50 // tokens; below, fixed parts of a service's template outweigh the text
)

func (m *meter) add(estimated, reported int) {
	if estimated < meterLeast {
		return
	}
	r := min(max(float64(reported)/float64(estimated), meterLow), meterHigh)
	if m.avg == 0 {
		m.avg = r
		return
	}
	m.avg += (r - m.avg) * meterWeight
}

func (m *meter) ratio() float64 {
	if m.avg == 0 {
		return 1
	}
	return m.avg
}

// Cost is the price of a usage in USD: what the service stated, else by m's prices with cached tokens at the full one.
func Cost(u Usage, m Model) float64 {
	if u.USD > 0 {
		return u.USD
	}
	return (float64(u.In)*m.PriceIn + float64(u.Out)*m.PriceOut) / 1e6
}
