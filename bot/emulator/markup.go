package emulator

import (
	"encoding/json"
	"slices"
	"strings"
)

// Limits of keyboards. The size limit of a whole markup is not published; ours is an estimate.
const (
	maxCallbackData = 64 // bytes
	maxCopyText     = 256
	maxMarkup       = 10_000 // bytes of JSON
	maxRow          = 8      // buttons
	maxPlaceholder  = 64
)

// Replies is what a bot asked to show in place of the person's keyboard.
type Replies struct {
	Rows        [][]string `json:"rows,omitempty"`
	Placeholder string     `json:"placeholder,omitempty"`
	OneTime     bool       `json:"one_time,omitempty"`
	ForceReply  bool       `json:"force_reply,omitempty"`
}

// markup is a decoded reply_markup; at most one of its fields is set.
type markup struct {
	inline  *Keyboard
	replies *Replies
	remove  bool
}

// fields is a JSON object whose values are decoded one by one, since each refusal has its own words.
type fields map[string]json.RawMessage

// markup decodes and checks reply_markup for a chat.
func (q *request) markup(c *chat) (markup, *apiError) {
	raw := q.text("reply_markup")
	if raw == "" {
		return markup{}, nil
	}
	if !json.Valid([]byte(raw)) {
		return markup{}, badRequest("Can't parse reply keyboard markup JSON object")
	}
	var object fields
	if err := json.Unmarshal([]byte(raw), &object); err != nil || object == nil {
		return markup{}, badRequest("Object expected as reply markup")
	}
	if len(raw) > maxMarkup {
		return markup{}, badRequest("reply markup is too long")
	}
	replies, err := object.replyRows()
	if err != nil {
		return markup{}, err
	}
	inline, err := object.inlineRows(c)
	if err != nil {
		return markup{}, err
	}
	var o struct {
		Remove      bool   `json:"remove_keyboard"`
		ForceReply  bool   `json:"force_reply"`
		OneTime     bool   `json:"one_time_keyboard"`
		Placeholder string `json:"input_field_placeholder"`
	}
	if json.Unmarshal([]byte(raw), &o) != nil {
		return markup{}, badRequest("Can't parse reply keyboard markup JSON object")
	}
	if n := len([]rune(o.Placeholder)); n > maxPlaceholder {
		return markup{}, badRequest("Input field placeholder is too long")
	}
	switch {
	case len(replies) > 0:
		return markup{replies: &Replies{replies, o.Placeholder, o.OneTime, o.ForceReply}}, nil
	case len(inline) > 0:
		return markup{inline: &Keyboard{inline}}, nil
	case o.Remove:
		return markup{remove: true}, nil
	case o.ForceReply:
		return markup{replies: &Replies{Placeholder: o.Placeholder, ForceReply: true}}, nil
	}
	return markup{}, nil
}

// array decodes an optional field that has to be a list.
func (f fields) array(name string) ([]json.RawMessage, *apiError) {
	raw, ok := f[name]
	if !ok {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, badRequestf("Field %q must be of type Array", name)
	}
	return list, nil
}

func (f fields) replyRows() ([][]string, *apiError) {
	rows, err := f.array("keyboard")
	if err != nil {
		return nil, err
	}
	var texts [][]string
	for _, raw := range rows {
		var row []json.RawMessage
		if json.Unmarshal(raw, &row) != nil || row == nil {
			return nil, badRequest(`Field "keyboard" must be an Array of Arrays`)
		}
		var line []string
		for _, raw := range row {
			var text string
			var button struct {
				Text *string `json:"text"`
			}
			switch {
			case json.Unmarshal(raw, &text) == nil:
			case json.Unmarshal(raw, &button) != nil:
				return nil, badRequest("Can't parse keyboard button: KeyboardButton must be a String or an Object")
			case button.Text == nil:
				return nil, badRequest(`Can't parse keyboard button: Can't find field "text"`)
			default:
				text = *button.Text
			}
			if strings.TrimSpace(text) == "" {
				return nil, badRequest("Keyboard button text must be non-empty")
			}
			line = append(line, text)
		}
		if len(line) > 0 {
			texts = append(texts, line)
		}
	}
	return texts, nil
}

func (f fields) inlineRows(c *chat) ([][]Button, *apiError) {
	rows, err := f.array("inline_keyboard")
	if err != nil {
		return nil, err
	}
	var buttons [][]Button
	for _, raw := range rows {
		var row []json.RawMessage
		if json.Unmarshal(raw, &row) != nil || row == nil {
			return nil, badRequest(`Field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`)
		}
		var line []Button
		for _, raw := range row {
			b, err := inlineButton(raw, c)
			if err != nil {
				return nil, err
			}
			line = append(line, b)
		}
		if len(line) > maxRow {
			return nil, badRequest("reply markup is too long")
		}
		if len(line) > 0 {
			buttons = append(buttons, line)
		}
	}
	return buttons, nil
}

func inlineButton(raw json.RawMessage, c *chat) (Button, *apiError) {
	wrong := func(why string) (Button, *apiError) {
		return Button{}, badRequest("Can't parse inline keyboard button: " + why)
	}
	var object fields
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return wrong("InlineKeyboardButton must be an Object")
	}
	if _, ok := object["text"]; !ok {
		return wrong(`Can't find field "text"`)
	}
	var b Button
	if err := json.Unmarshal(raw, &b); err != nil {
		if typed, ok := err.(*json.UnmarshalTypeError); ok {
			return wrong("Field \"" + typed.Field + "\" must be of type " + jsonType(typed.Type.Kind().String()))
		}
		return wrong(err.Error())
	}
	b.Style = strings.ToLower(b.Style)
	if !slices.Contains([]string{"", "default", "primary", "danger", "success"}, b.Style) {
		return wrong("invalid button style specified")
	}
	if !hasAction(b, object) {
		return wrong("Text buttons are unallowed in the inline keyboard")
	}
	if strings.TrimSpace(b.Text) == "" {
		return Button{}, badRequest("Inline keyboard button text must be non-empty")
	}
	return b, b.check(c)
}

func jsonType(kind string) string {
	switch kind {
	case "string":
		return "String"
	case "bool":
		return "Boolean"
	}
	return "Object"
}

// hasAction tells that the button does something; empty url and callback_data do not count, as on the real server.
func hasAction(b Button, object fields) bool {
	if b.URL != "" || b.Data != "" {
		return true
	}
	for _, name := range []string{
		"callback_game", "pay", "switch_inline_query", "switch_inline_query_chosen_chat", "switch_inline_query_current_chat",
		"login_url", "web_app", "copy_text", "disabled",
	} {
		if _, ok := object[name]; ok {
			return true
		}
	}
	return false
}

// check applies the rules of the button's kind; url goes before callback_data, the rest follow.
func (b *Button) check(c *chat) *apiError {
	switch {
	case b.URL != "":
		checked := checkedLink(b.URL)
		if checked == "" {
			return badRequestf("Inline keyboard button URL '%s' is invalid: Wrong HTTP URL", b.URL)
		}
		b.URL, b.Data = checked, ""
	case b.Data != "":
		if len(b.Data) > maxCallbackData {
			return badRequest("BUTTON_DATA_INVALID")
		}
	case b.WebApp != nil && c.Type != "private":
		return badRequest("BUTTON_TYPE_INVALID")
	case b.CopyText != nil:
		if n := len([]rune(b.CopyText.Text)); n == 0 || n > maxCopyText {
			return badRequest("BUTTON_COPY_TEXT_INVALID")
		}
	}
	return nil
}

// onlyInline is markup for an edit, which takes no reply keyboard.
func (q *request) onlyInline(c *chat) (*Keyboard, *apiError) {
	m, err := q.markup(c)
	if err != nil {
		return nil, err
	}
	if m.replies != nil || m.remove {
		return nil, badRequest("Inline keyboard expected")
	}
	return m.inline, nil
}

// find returns the button with that label or callback data.
func (k *Keyboard) find(label string) (Button, bool) {
	if k == nil {
		return Button{}, false
	}
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Text == label || b.Data == label && label != "" {
				return b, true
			}
		}
	}
	return Button{}, false
}

// Labels returns the texts of the keyboard, row by row; nil for a message without one.
func (k *Keyboard) Labels() [][]string {
	if k == nil {
		return nil
	}
	var rows [][]string
	for _, row := range k.Rows {
		var labels []string
		for _, b := range row {
			labels = append(labels, b.Text)
		}
		rows = append(rows, labels)
	}
	return rows
}
