package emulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/bot/emulator"
)

// reply is the envelope of an answer.
type reply struct {
	OK          bool
	Result      json.RawMessage
	Code        int `json:"error_code"`
	Description string
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	}
	status int
	header http.Header
}

type params map[string]any

// call sends one request with a JSON body.
func call(t testing.TB, tg *emulator.Server, method string, p params) reply {
	t.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/bot"+emulator.Token+"/"+method, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return do(t, tg, r)
}

// upload sends one request as a form; files are named after their fields.
func upload(t testing.TB, tg *emulator.Server, method string, p map[string]string, files map[string][]byte) reply {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range p {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range files {
		part, err := form.CreateFormFile(name, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/bot"+emulator.Token+"/"+method, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return do(t, tg, r)
}

func do(t testing.TB, tg http.Handler, r *http.Request) reply {
	t.Helper()
	w := httptest.NewRecorder()
	tg.ServeHTTP(w, r)
	out := reply{status: w.Code, header: w.Header()}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: the answer is not JSON: %v", r.URL.Path, err)
	}
	if out.status != http.StatusOK && out.status != out.Code {
		t.Errorf("HTTP status %d differs from error_code %d", out.status, out.Code)
	}
	return out
}

func must(t testing.TB, r reply) reply {
	t.Helper()
	if !r.OK {
		t.Fatalf("refused: %d %s", r.Code, r.Description)
	}
	return r
}

// sent sends a text to Ann and returns the message's id.
func sent(t testing.TB, tg *emulator.Server) int {
	t.Helper()
	var m emulator.Message
	if err := json.Unmarshal(must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "hi"})).Result, &m); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func text(s string) params { return params{"chat_id": 101, "text": s} }

func html(s string) params { return params{"chat_id": 101, "text": s, "parse_mode": "HTML"} }

func markup(raw string) params {
	return params{"chat_id": 101, "text": "x", "reply_markup": json.RawMessage(raw)}
}

const (
	parse = "Bad Request: can't parse entities: "
	bad   = "Bad Request: "
)

// TestRefusals provokes each error that the emulator knows of a call by itself.
func TestRefusals(t *testing.T) {
	long := strings.Repeat
	button := func(fields string) params { return markup(`{"inline_keyboard":[[{` + fields + `}]]}`) }
	media := func(items ...string) params {
		return params{"chat_id": 101, "media": json.RawMessage("[" + strings.Join(items, ",") + "]")}
	}
	command := func(name, description string) params {
		return params{"commands": []map[string]string{{"command": name, "description": description}}}
	}
	rows := []struct {
		want   string
		method string
		params params
	}{
		// 2.3, HTML
		{parse + `Unsupported start tag "" at byte offset 2`, "sendMessage", html("a < b")},
		{parse + `Unsupported start tag "br/" at byte offset 1`, "sendMessage", html("x<br/>")},
		{parse + `Unsupported start tag "p" at byte offset 3`, "sendMessage", html("é <p>x</p>")},
		{parse + `Unclosed start tag at byte offset 0`, "sendMessage", html("<b")},
		{parse + `Unclosed start tag "a" at byte offset 0`, "sendMessage", html("<a href")},
		{parse + `Unclosed start tag at byte offset 0`, "sendMessage", html(`<a href="x`)},
		{parse + `Can't find end tag corresponding to start tag "b"`, "sendMessage", html("<b>x")},
		{parse + `Unexpected end tag at byte offset 1`, "sendMessage", html("x</b>")},
		{parse + `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`, "sendMessage", html("<b>x</i>")},
		{parse + `Unclosed end tag at byte offset 4`, "sendMessage", html("<b>x</b")},
		{parse + `Tag "span" must have class "tg-spoiler" at byte offset 0`, "sendMessage", html("<span>x</span>")},
		{parse + `Unexpected end of name token at byte offset 8`, "sendMessage", html("<a href=http://x>")},
		{parse + `Empty attribute name in the tag "a" at byte offset 0`, "sendMessage", html("<a =x>")},
		{bad + `invalid custom emoji identifier specified`, "sendMessage", html(`<tg-emoji emoji-id="x">y</tg-emoji>`)},
		// 2.3, Markdown
		{parse + `Can't find end of the entity starting at byte offset 2`, "sendMessage", params{"chat_id": 101, "text": "a *b", "parse_mode": "Markdown"}},
		{parse + `Character '-' is reserved and must be escaped with the preceding '\'`, "sendMessage", params{"chat_id": 101, "text": "a-b", "parse_mode": "MarkdownV2"}},
		{parse + `Can't find end of Italic entity at byte offset 2`, "sendMessage", params{"chat_id": 101, "text": "a _b", "parse_mode": "MarkdownV2"}},
		{parse + `Can't find end of a URL at byte offset 4`, "sendMessage", params{"chat_id": 101, "text": "[a](b", "parse_mode": "MarkdownV2"}},
		// 2.4, send
		{bad + "message text is empty", "sendMessage", text("")},
		{bad + "text must be non-empty", "sendMessage", text(" \n ")},
		{bad + "text must be non-empty", "sendMessage", html("<b></b>")},
		{bad + "message is too long", "sendMessage", text(long("😀", 4097))},
		{bad + "text is too long", "sendMessage", text(long("x", 1<<15+1))},
		{bad + "message caption is too long", "sendPhoto", params{"chat_id": 101, "photo": "AgADphoto_1", "caption": long("x", 1025)}},
		{bad + "ENTITIES_TOO_LONG", "sendMessage", html(long(`<a href="https://example.com/`+long("y", 180)+`">x</a> `, 90))},
		{bad + "chat_id is empty", "sendMessage", params{"text": "x"}},
		{bad + "chat not found", "sendMessage", params{"chat_id": 999, "text": "x"}},
		{bad + "chat not found", "sendMessage", params{"chat_id": "@nobody", "text": "x"}},
		{bad + "message thread not found", "sendMessage", params{"chat_id": 101, "text": "x", "message_thread_id": 77}},
		{bad + "message to be replied not found", "sendMessage", params{"chat_id": 101, "text": "x", "reply_parameters": params{"message_id": 99}}},
		{bad + "unsupported parse_mode", "sendMessage", params{"chat_id": 101, "text": "x", "parse_mode": "BBCode"}},
		{bad + "wrong file identifier/HTTP URL specified", "sendDocument", params{"chat_id": 101, "document": "no-such-id"}},
		{bad + "failed to get HTTP URL content", "sendDocument", params{"chat_id": 101, "document": "https://example.com/a.pdf"}},
		{bad + "wrong HTTP URL specified", "sendDocument", params{"chat_id": 101, "document": "http://"}},
		{bad + "there is no document in the request", "sendDocument", params{"chat_id": 101}},
		{bad + "there is no photo in the request", "sendPhoto", params{"chat_id": 101}},
		{bad + "there is no audio in the request", "sendAudio", params{"chat_id": 101}},
		{bad + "there is no video in the request", "sendVideo", params{"chat_id": 101}},
		{bad + "there is no voice in the request", "sendVoice", params{"chat_id": 101}},
		{bad + `parameter "media" is required`, "sendMediaGroup", params{"chat_id": 101}},
		{bad + "too many messages to send as an album", "sendMediaGroup", media(strings.Split(long(`{"type":"photo","media":"AgADphoto_1"} `, 11), " ")[:11]...)},
		{bad + "there are no messages to send", "sendMediaGroup", media()},
		{bad + "can't use the media of the specified type in the album", "sendMediaGroup", media(`{"type":"photo","media":"AgADphoto_1"}`, `{"type":"document","media":"AgADphoto_1"}`)},
		{bad + "wrong parameter action in request", "sendChatAction", params{"chat_id": 101, "action": "dance"}},
		// 2.4, markup
		{bad + "can't parse reply keyboard markup JSON object", "sendMessage", params{"chat_id": 101, "text": "x", "reply_markup": "{"}},
		{bad + "object expected as reply markup", "sendMessage", params{"chat_id": 101, "text": "x", "reply_markup": "null"}},
		{bad + `field "inline_keyboard" must be of type Array`, "sendMessage", markup(`{"inline_keyboard":null}`)},
		{bad + `field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`, "sendMessage", markup(`{"inline_keyboard":[{}]}`)},
		{bad + "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard", "sendMessage", button(`"text":"x"`)},
		{bad + "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard", "sendMessage", button(`"text":"x","callback_data":""`)},
		{bad + `can't parse inline keyboard button: Can't find field "text"`, "sendMessage", button(`"callback_data":"x"`)},
		{bad + "inline keyboard button text must be non-empty", "sendMessage", button(`"text":"","callback_data":"x"`)},
		{bad + "BUTTON_DATA_INVALID", "sendMessage", button(`"text":"x","callback_data":"` + long("é", 33) + `"`)},
		{bad + "BUTTON_TYPE_INVALID", "sendMessage", params{"chat_id": -1_000_000_000_001, "text": "x", "reply_markup": params{"inline_keyboard": [][]params{{{"text": "x", "web_app": params{"url": "https://x.test"}}}}}}},
		{bad + "reply markup is too long", "sendMessage", markup(`{"inline_keyboard":[` + strings.TrimSuffix(long(`[{"text":"x","callback_data":"`+long("d", 60)+`"}],`, 150), ",") + `]}`)},
		{bad + "inline keyboard expected", "editMessageText", params{"chat_id": 101, "message_id": 2, "text": "y", "reply_markup": params{"remove_keyboard": true}}},
		// 2.4, edit and delete; message 1 is Ann's photo, 2 and 3 are the bot's text and document
		{bad + "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message", "editMessageText", params{"chat_id": 101, "message_id": 2, "text": "hi"}},
		{bad + "message to edit not found", "editMessageText", params{"chat_id": 101, "message_id": 99, "text": "y"}},
		{bad + "message can't be edited", "editMessageText", params{"chat_id": 101, "message_id": 1, "text": "y"}},
		{bad + "there is no text in the message to edit", "editMessageText", params{"chat_id": 101, "message_id": 3, "text": "y"}},
		{bad + "there is no caption in the message to edit", "editMessageCaption", params{"chat_id": 101, "message_id": 2, "caption": "y"}},
		{bad + "MESSAGE_TOO_LONG", "editMessageText", params{"chat_id": 101, "message_id": 2, "text": long("x", 4097)}},
		{bad + "message to delete not found", "deleteMessage", params{"chat_id": 101, "message_id": 99}},
		{bad + "message can't be deleted", "deleteMessage", params{"chat_id": -1_000_000_000_001, "message_id": 1}},
		{bad + "message identifier is not specified", "deleteMessage", params{"chat_id": 101}},
		{bad + "message to react not found", "setMessageReaction", params{"chat_id": 101, "message_id": 99}},
		{bad + "REACTION_INVALID", "setMessageReaction", params{"chat_id": 101, "message_id": 1, "reaction": []params{{"type": "emoji", "emoji": "✅"}}}},
		// 2.4, callback
		{bad + "query is too old and response timeout expired or query ID is invalid", "answerCallbackQuery", params{"callback_query_id": "1"}},
		// 2.4, files
		{bad + "file_id not specified", "getFile", params{}},
		{bad + "invalid file_id", "getFile", params{"file_id": "x"}},
		{bad + "file is too big", "getFile", params{"file_id": "big"}},
		{bad + "wrong file_id or the file is temporarily unavailable", "getFile", params{"file_id": "lost"}},
		// 2.4, commands
		{bad + "command must be non-empty", "setMyCommands", command("/", "x")},
		{bad + "command length must not exceed 32", "setMyCommands", command(long("x", 33), "x")},
		{bad + "command description must be non-empty", "setMyCommands", command("x", " ")},
		{bad + "command description length must not exceed 256", "setMyCommands", command("x", long("x", 257))},
		{bad + `can't parse BotCommand: Can't find field "description"`, "setMyCommands", params{"commands": []params{{"command": "x"}}}},
		{bad + "BOT_COMMAND_INVALID", "setMyCommands", command("Start", "x")},
		// 2.4, drafts and rich messages
		{bad + "TEXTDRAFT_PEER_INVALID", "sendMessageDraft", params{"chat_id": -1_000_000_000_001, "draft_id": 1, "text": "x"}},
		{bad + "RICH_MESSAGE_EMPTY_INVALID", "sendRichMessage", params{"chat_id": 101, "rich_message": params{"markdown": " "}}},
		// 2.4, 404
		{"Not Found: method not found", "sendTelepathy", params{}},
	}
	for _, row := range rows {
		t.Run(row.method+" "+row.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tg := emulator.New(emulator.Options{})
				p := tg.Private(ann)
				p.SendPhoto(emulator.Upload{Data: pngBytes(t, 10, 10)})
				sent(t, tg)
				must(t, upload(t, tg, "sendDocument", map[string]string{"chat_id": "101"}, map[string][]byte{"document": []byte("x")}))
				tg.NewGroup(emulator.GroupOptions{Title: "Team"}, ann).Person(ann).SendText("hello")
				switch row.params["file_id"] {
				case "big":
					row.params["file_id"] = p.SendDocument(emulator.Upload{Name: "big.iso", Size: 20<<20 + 1}).FileID()
				case "lost":
					row.params["file_id"] = p.SendDocument(emulator.Upload{Name: "lost.txt", Size: 10}).FileID()
				}
				before := p.Transcript()
				r := call(t, tg, row.method, row.params)
				if r.OK || r.Description != row.want {
					t.Errorf("got %d %q", r.Code, r.Description)
				}
				if after := p.Transcript(); after != before {
					t.Errorf("a refused call changed the chat:\n%s", after)
				}
			})
		})
	}
}

// TestRefusalsOfState provokes the errors that depend on what happened before.
func TestRefusalsOfState(t *testing.T) {
	hello := func(t *testing.T, tg *emulator.Server, chat int64) reply {
		return call(t, tg, "sendMessage", params{"chat_id": chat, "text": "x"})
	}
	group := func(tg *emulator.Server, o emulator.GroupOptions) *emulator.Group {
		o.Title = "Team"
		return tg.NewGroup(o, ann)
	}
	for _, row := range []struct {
		code int
		want string
		run  func(*testing.T, *emulator.Server) reply
	}{
		{403, "Forbidden: bot was blocked by the user", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann).Block()
			return hello(t, tg, 101)
		}},
		{403, "Forbidden: user is deactivated", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann).Deactivate()
			return hello(t, tg, 101)
		}},
		{403, "Forbidden: bot can't initiate conversation with a user", func(t *testing.T, tg *emulator.Server) reply {
			tg.AddUser(emulator.User{ID: 102})
			return hello(t, tg, 102)
		}},
		{403, "Forbidden: the bot can't send messages to the bot", func(t *testing.T, tg *emulator.Server) reply {
			return hello(t, tg, tg.Bot().ID)
		}},
		{403, "Forbidden: bot was kicked from the group chat", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{Basic: true})
			g.Kick(ann)
			return hello(t, tg, g.ID())
		}},
		{403, "Forbidden: bot was kicked from the supergroup chat", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{})
			g.Kick(ann)
			return hello(t, tg, g.ID())
		}},
		{403, "Forbidden: bot was kicked from the channel chat", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{Channel: true})
			g.Kick(ann)
			return hello(t, tg, g.ID())
		}},
		{403, "Forbidden: bot is not a member of the supergroup chat", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{})
			must(t, call(t, tg, "leaveChat", params{"chat_id": g.ID()}))
			return hello(t, tg, g.ID())
		}},
		{403, "Forbidden: the group chat was deleted", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{Basic: true})
			g.Delete()
			return hello(t, tg, g.ID())
		}},
		{400, "Bad Request: group chat was upgraded to a supergroup chat", func(t *testing.T, tg *emulator.Server) reply {
			g := group(tg, emulator.GroupOptions{Basic: true})
			to := g.Migrate()
			r := hello(t, tg, g.ID())
			if r.Parameters.MigrateTo != to.ID() {
				t.Errorf("migrate_to_chat_id %d, want %d", r.Parameters.MigrateTo, to.ID())
			}
			must(t, hello(t, tg, to.ID()))
			return r
		}},
		{409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", func(t *testing.T, tg *emulator.Server) reply {
			must(t, call(t, tg, "setWebhook", params{"url": "https://example.com/hook"}))
			return call(t, tg, "getUpdates", params{})
		}},
		{401, "Unauthorized", func(t *testing.T, tg *emulator.Server) reply {
			return do(t, tg, httptest.NewRequest(http.MethodGet, "/bot1:x/getMe", nil))
		}},
		{401, "Unauthorized: invalid token specified", func(t *testing.T, tg *emulator.Server) reply {
			return do(t, tg, httptest.NewRequest(http.MethodGet, "/bot0123/getMe", nil))
		}},
		{401, "Unauthorized", func(t *testing.T, tg *emulator.Server) reply {
			return do(t, tg, httptest.NewRequest(http.MethodGet, "/file/bot1:x/documents/file_1.txt", nil))
		}},
		{404, "Not Found", func(t *testing.T, tg *emulator.Server) reply {
			return do(t, tg, httptest.NewRequest(http.MethodGet, "/", nil))
		}},
		{404, "Not Found", func(t *testing.T, tg *emulator.Server) reply {
			return do(t, tg, httptest.NewRequest(http.MethodGet, "/file/bot"+emulator.Token+"/documents/file_9.txt", nil))
		}},
		{429, "Too Many Requests: retry after 7", func(t *testing.T, tg *emulator.Server) reply {
			tg.Inject("sendMessage", 1, emulator.RetryAfter(7))
			r := hello(t, tg, 101)
			if r.Parameters.RetryAfter != 7 || r.header.Get("Retry-After") != "7" {
				t.Errorf("retry_after %d, header %q", r.Parameters.RetryAfter, r.header.Get("Retry-After"))
			}
			return r
		}},
		{500, "Internal Server Error: restart", func(t *testing.T, tg *emulator.Server) reply {
			tg.Inject("", 1, emulator.ServerError())
			return hello(t, tg, 101)
		}},
		{413, "Request Entity Too Large", func(t *testing.T, tg *emulator.Server) reply {
			r := httptest.NewRequest(http.MethodPost, "/bot"+emulator.Token+"/sendDocument", io.LimitReader(zeros{}, 52<<20))
			r.Header.Set("Content-Type", "application/json")
			return do(t, tg, r)
		}},
		{400, "Bad Request: PHOTO_INVALID_DIMENSIONS", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann)
			return upload(t, tg, "sendPhoto", map[string]string{"chat_id": "101"}, map[string][]byte{"photo": pngBytes(t, 2100, 100)})
		}},
		{400, "Bad Request: IMAGE_PROCESS_FAILED", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann)
			return upload(t, tg, "sendPhoto", map[string]string{"chat_id": "101"}, map[string][]byte{"photo": []byte("no picture")})
		}},
		{400, "Bad Request: query is too old and response timeout expired or query ID is invalid", func(t *testing.T, tg *emulator.Server) reply {
			p := tg.Private(ann)
			press := p.PressData(1, "late")
			time.Sleep(2 * time.Minute)
			return call(t, tg, "answerCallbackQuery", params{"callback_query_id": press.ID})
		}},
		{400, "Bad Request: query is too old and response timeout expired or query ID is invalid", func(t *testing.T, tg *emulator.Server) reply {
			press := tg.Private(ann).PressData(1, "twice")
			must(t, call(t, tg, "answerCallbackQuery", params{"callback_query_id": press.ID}))
			return call(t, tg, "answerCallbackQuery", params{"callback_query_id": press.ID})
		}},
		{400, "Bad Request: message can't be deleted", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann)
			id := sent(t, tg)
			time.Sleep(49 * time.Hour)
			return call(t, tg, "deleteMessage", params{"chat_id": 101, "message_id": id})
		}},
		{400, "Bad Request: RICH_MESSAGE_EMAIL_INVALID", func(t *testing.T, tg *emulator.Server) reply {
			tg.Private(ann)
			tg.Inject("sendRichMessage", 1, emulator.Fail(400, "Bad Request: RICH_MESSAGE_EMAIL_INVALID"))
			return call(t, tg, "sendRichMessage", params{"chat_id": 101, "rich_message": params{"markdown": "x"}})
		}},
	} {
		t.Run(fmt.Sprint(row.code, " ", row.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := row.run(t, emulator.New(emulator.Options{}))
				if r.Code != row.code || r.Description != row.want {
					t.Errorf("got %d %q", r.Code, r.Description)
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
