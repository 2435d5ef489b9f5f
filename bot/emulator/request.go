package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Limits of one request (https://core.telegram.org/bots/api#sending-files).
const (
	maxUpload  = 50 << 20          // bytes of all files
	maxRequest = maxUpload + 1<<20 // with the fields around them
)

// request is one decoded API call.
type request struct {
	method string
	params map[string]string // nested values are JSON text
	files  map[string]*upload
}

// upload is a file that came with a request.
type upload struct {
	name string
	data []byte
}

// readRequest decodes the parameters from the query string and from a body in any of the API's encodings.
func readRequest(r *http.Request) (*request, *apiError) {
	q := &request{params: map[string]string{}, files: map[string]*upload{}}
	q.addValues(r.URL.Query())
	if r.Body == nil {
		return q, nil
	}
	body := &countingReader{r: io.LimitReader(r.Body, maxRequest+1)}
	kind, attrs, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	err := q.readBody(body, kind, attrs["boundary"])
	if body.n > maxRequest || (err == nil && q.uploaded() > maxUpload) {
		return nil, &apiError{code: http.StatusRequestEntityTooLarge, description: "Request Entity Too Large"}
	}
	if err != nil {
		return nil, badRequest("Can't read the request: " + err.Error())
	}
	return q, nil
}

func (q *request) readBody(body io.Reader, kind, boundary string) error {
	switch kind {
	case "multipart/form-data":
		return q.readForm(multipart.NewReader(body, boundary))
	case "application/json":
		data, err := io.ReadAll(body)
		if err != nil || len(bytes.TrimSpace(data)) == 0 {
			return err
		}
		return q.addJSON(data)
	default:
		data, err := io.ReadAll(body)
		if err != nil || kind != "application/x-www-form-urlencoded" {
			return err
		}
		values, err := url.ParseQuery(string(data))
		q.addValues(values)
		return err
	}
}

// readForm takes the parts in order. A form with no part and no closing boundary is what go-telegram/bot sends for a
// call without parameters, so that its end counts as the end of the form.
func (q *request) readForm(form *multipart.Reader) error {
	for first := true; ; first = false {
		part, err := form.NextRawPart()
		if err == io.EOF || (err != nil && first && strings.HasSuffix(err.Error(), "EOF")) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() != "" || isFilePart(part) {
			q.files[part.FormName()] = &upload{name: part.FileName(), data: data}
			continue
		}
		q.params[part.FormName()] = string(data)
	}
}

func isFilePart(p *multipart.Part) bool {
	_, attrs, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	_, named := attrs["filename"]
	return err == nil && named
}

func (q *request) addValues(v url.Values) {
	for name, values := range v {
		q.params[name] = values[len(values)-1]
	}
}

func (q *request) addJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return errors.New("the JSON body is not an object")
	}
	for name, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			q.params[name] = text
		default:
			q.params[name] = string(raw)
		}
	}
	return nil
}

func (q *request) uploaded() (n int64) {
	for _, f := range q.files {
		n += int64(len(f.data))
	}
	return n
}

// text is a string parameter, "" when absent.
func (q *request) text(name string) string { return q.params[name] }

// flag is a boolean parameter: true, yes and 1 in any case are true, all else is false.
func (q *request) flag(name string) bool { return isTrue(q.params[name]) }

func isTrue(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s == "true" || s == "yes" || s == "1"
}

// number is an integer parameter clamped into [lo, hi]; what is absent or is no number counts as 0.
func (q *request) number(name string, lo, hi int64) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(q.params[name]), 10, 64)
	return max(lo, min(hi, n))
}

func (q *request) id(name string) int {
	return int(q.number(name, -1<<31, 1<<31-1))
}

// decode reads a JSON parameter into v; ok is false when it is absent.
func (q *request) decode(name string, v any) (ok bool, err error) {
	raw := q.params[name]
	if raw == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(raw), v)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
