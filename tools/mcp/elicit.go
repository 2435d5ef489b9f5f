package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/approvals"
)

const (
	maxMessage = 1500 // bytes, of what a server says to a person
	maxLinks   = 5
	maxTries   = 3 // for one field
)

// Answers that nod adds to those of a field.
const (
	decline  = "🚫 Decline"
	leaveOut = "⏭ Leave out"
	opened   = "✓ I have done it"
)

// The actions of an elicitation's result.
const (
	accepted  = "accept"
	declined  = "decline"
	cancelled = "cancel"
)

var (
	errDeclined = errors.New("the person declined")
	errTooMany  = errors.New("the call has asked too often")
)

// elicited takes a question of a server's that does not say which call it belongs to. It is put only where that is plain:
// the person who is asked must be the one whose call it is.
func (c *conn) elicited(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	calls := c.calls()
	if len(calls) != 1 {
		c.log.Warn("a question of an MCP server was not put: it belongs to no single call", "calls", len(calls))
		return &sdk.ElicitResult{Action: cancelled}, nil
	}
	return calls[0].elicit(calls[0].ctx, req.Params)
}

// elicit asks the person of the call what the server wants to know. What comes to no answer is an answer too; an error is
// one of the store, or says that the call ended.
func (r *running) elicit(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	more := r.ask()
	defer r.answered()
	var content map[string]any
	err := errTooMany
	switch {
	case !more:
	case p.Mode == "url" || p.URL != "":
		err = r.askLink(ctx, p)
	default:
		content, err = r.askForm(ctx, p)
	}
	switch {
	case err == nil:
		return &sdk.ElicitResult{Action: accepted, Content: content}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errDeclined):
		return &sdk.ElicitResult{Action: declined}, nil
	}
	r.conn.log.Info("a question of an MCP server came to no answer", "err", err)
	return &sdk.ElicitResult{Action: cancelled}, nil
}

// askLink shows an address that the person should open.
func (r *running) askLink(ctx context.Context, p *sdk.ElicitParams) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(p.URL) > maxMessage {
		return fmt.Errorf("the server gave an address that can't be shown")
	}
	answer, err := r.call.Ask(ctx, approvals.Question{
		Title:   fmt.Sprintf("The MCP server %s wants you to open a link", r.conn.server),
		Text:    plain(p.Message, maxMessage) + "\n\n" + u.String(),
		Link:    u.String(),
		Options: []string{opened, decline},
	})
	switch {
	case err != nil:
		return err
	case answer != opened:
		return errDeclined
	}
	return nil
}

// openLinks shows the links that a server wants to have been opened before it takes the call, which the model may then
// make again.
func (r *running) openLinks(refused *jsonrpc.Error) error {
	var wanted struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if err := json.Unmarshal(refused.Data, &wanted); err != nil || len(wanted.Elicitations) == 0 || len(wanted.Elicitations) > maxLinks {
		return fmt.Errorf("the server refused the call: %s", plain(refused.Message, maxRemark))
	}
	for _, p := range wanted.Elicitations {
		if p == nil {
			continue
		}
		p.Mode = "url"
		answer, err := r.elicit(r.ctx, p)
		switch {
		case err != nil:
			return err
		case answer.Action != accepted:
			return errors.New("the server wanted the user to open a link first, and the user did not")
		}
	}
	return errors.New("the server wanted the user to open a link first, which the user says is done; the call was not made, so make it again")
}

// askForm asks for the fields of a form, one after the other. A form without fields asks for consent.
func (r *running) askForm(ctx context.Context, p *sdk.ElicitParams) (map[string]any, error) {
	fields, err := readForm(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	message := plain(p.Message, maxMessage)
	if len(fields) == 0 {
		fields = []field{{consent: true, property: property{Type: "boolean"}}}
	}
	content := map[string]any{}
	for i, f := range fields {
		title := fmt.Sprintf("The MCP server %s asks", r.conn.server)
		if len(fields) > 1 {
			title += fmt.Sprintf(" (%d of %d)", i+1, len(fields))
		}
		value, given, err := r.askField(ctx, title, message, f)
		switch {
		case err != nil:
			return nil, err
		case f.consent && value != true:
			return nil, errDeclined
		case given && !f.consent:
			content[f.name] = value
		}
	}
	return content, nil
}

// askField asks until the answer fits. given is false for a field that the person leaves out.
func (r *running) askField(ctx context.Context, title, message string, f field) (value any, given bool, err error) {
	fault := ""
	for range maxTries {
		answer, err := r.call.Ask(ctx, f.question(title, message, fault))
		switch {
		case err != nil:
			return nil, false, err
		case answer == decline:
			return nil, false, errDeclined
		case answer == leaveOut && !f.required:
			return nil, false, nil
		}
		if value, err = f.read(answer); err == nil {
			return value, true, nil
		}
		fault = err.Error()
	}
	return nil, false, errors.New("the answers did not fit")
}

// question puts a field in words.
func (f field) question(title, message, fault string) approvals.Question {
	q := approvals.Question{Title: title, Text: message, Hidden: f.secret()}
	if words := f.words(); words != "" {
		q.Text += "\n\n" + words
	}
	if fault != "" {
		q.Text += "\n\nThat did not fit: " + fault
	}
	if q.Hidden {
		q.Text += "\n\nSend it as your next message. It goes to this server only: I delete your message at once, keep it nowhere and never show it to the model."
	}
	for _, c := range f.choices() {
		q.Options = append(q.Options, c.Title)
	}
	if !f.required && !f.consent {
		q.Options = append(q.Options, leaveOut)
	}
	if !f.consent {
		q.Options = append(q.Options, decline)
	}
	return q
}

// inOrder lists a form's fields: those that are required first, in the server's order; the order of the others is lost on
// the way.
func inOrder(properties map[string]property, required []string) []string {
	var names, rest []string
	for _, name := range required {
		if _, ok := properties[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name := range properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}
