package emulator_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
)

// step is one call and what it answers: an error's description, or a part of the result.
type step struct {
	method string
	params params
	want   string
}

func walk(t *testing.T, tg *emulator.Server, steps []step) {
	t.Helper()
	for _, s := range steps {
		r := call(t, tg, s.method, s.params)
		got := r.Description
		if r.OK {
			got = string(r.Result)
		}
		if !strings.Contains(got, s.want) {
			t.Errorf("%s %v: got %s, want %s", s.method, s.params, got, s.want)
		}
	}
}

func TestFilesThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		must(t, upload(t, tg, "sendPhoto", map[string]string{"chat_id": "101", "caption": "a"}, map[string][]byte{"photo": pngBytes(t, 30, 20)}))
		photo := p.Messages()[0]
		must(t, upload(t, tg, "sendVideo", map[string]string{"chat_id": "101"}, map[string][]byte{"video": []byte("no film")}))
		must(t, upload(t, tg, "sendAnimation", map[string]string{"chat_id": "101"}, map[string][]byte{"animation": []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00")}))
		if m, _ := p.Last(); m.Animation == nil || m.Document == nil {
			t.Errorf("an animation carries a document too: %+v", m.Media)
		}
		walk(t, tg, []step{
			{"editMessageCaption", params{"chat_id": 101, "message_id": 1, "caption": "b"}, `"caption":"b"`},
			{"editMessageMedia", params{"chat_id": 101, "message_id": 1, "media": params{"type": "document", "media": p.Messages()[1].FileID(), "caption": "now a file"}}, `"document"`},
			{"editMessageMedia", params{"chat_id": 101, "message_id": 1, "media": params{"type": "sticker", "media": "x"}}, "Bad Request: can't parse InputMedia"},
			{"editMessageMedia", params{"chat_id": 101, "message_id": 1, "media": "{"}, "Bad Request: can't parse input media JSON object"},
			{"sendPhoto", params{"chat_id": 101, "photo": photo.FileID(), "caption": "again"}, `"width":30`},
			{"sendDocument", params{"chat_id": 101, "document": "attach://nothing"}, "Bad Request: there is no document in the request"},
		})
		r := upload(t, tg, "sendDocument", map[string]string{"chat_id": "101"}, map[string][]byte{"document": nil})
		if r.Description != "Bad Request: file must be non-empty" {
			t.Errorf("an empty file: %q", r.Description)
		}
		r = upload(t, tg, "sendPhoto", map[string]string{"chat_id": "101"}, map[string][]byte{"photo": make([]byte, 10<<20+1)})
		if !strings.HasPrefix(r.Description, "Bad Request: file of size 10485761 bytes is too big for a photo") {
			t.Errorf("a large photo: %q", r.Description)
		}
		want := "nod: <document video, 7 bytes> now a file\nnod: <document video, 7 bytes>\nnod: <animation animation, 13 bytes>\nnod: <photo 30x20> again\n"
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestForwardCopyAndPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		p.SendText("mine")
		at := func(more params) params {
			q := params{"chat_id": 101, "from_chat_id": 101}
			for k, v := range more {
				q[k] = v
			}
			return q
		}
		walk(t, tg, []step{
			{"forwardMessage", at(params{"message_id": 1}), `"forward_origin":{"type":"user"`},
			{"copyMessage", at(params{"message_id": 1}), `{"message_id":3}`},
			{"sendMessage", params{"chat_id": 101, "text": "secret", "protect_content": true}, `"has_protected_content":true`},
			{"forwardMessage", at(params{"message_id": 4}), "Bad Request: the message can't be forwarded"},
			{"copyMessage", at(params{"message_id": 4}), "Bad Request: the message can't be copied"},
			{"copyMessage", at(params{"message_id": 99}), "Bad Request: message to copy not found"},
			{"forwardMessage", at(params{"message_id": 99}), "Bad Request: message to forward not found"},
			{"editMessageText", params{"chat_id": 101, "message_id": 2, "text": "x"}, "Bad Request: message can't be edited"},
			{"pinChatMessage", params{"chat_id": 101, "message_id": 3}, "true"},
			{"getChat", params{"chat_id": 101}, `"pinned_message":{"message_id":3`},
		})
		if !slices.Equal(p.Pinned(), []int{3}) {
			t.Errorf("pinned %v", p.Pinned())
		}
		walk(t, tg, []step{
			{"unpinChatMessage", params{"chat_id": 101}, "true"},
			{"unpinChatMessage", params{"chat_id": 101}, "Bad Request: message to unpin not found"},
			{"unpinAllChatMessages", params{"chat_id": 101}, "true"},
		})
		want := "Ann: mine\nnod: <forwarded from Ann> mine\nnod: mine\nnod: secret\nnod: <pinned: mine>\n"
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPlacesContactsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		walk(t, tg, []step{
			{"sendLocation", params{"chat_id": 101, "latitude": 1.5, "longitude": "2"}, `"location":{"latitude":1.5,"longitude":2}`},
			{"sendLocation", params{"chat_id": 101, "longitude": 2}, "Bad Request: latitude is empty"},
			{"sendLocation", params{"chat_id": 101, "latitude": 2}, "Bad Request: longitude is empty"},
			{"sendLocation", params{"chat_id": 101, "latitude": 91, "longitude": 2}, "Bad Request: wrong location specified"},
			{"sendContact", params{"chat_id": 101, "phone_number": "+49", "first_name": "Bob"}, `"phone_number":"+49"`},
			{"sendContact", params{"chat_id": 101, "first_name": "Bob"}, `Bad Request: parameter "phone_number" is required`},
			{"sendPoll", params{"chat_id": 101, "question": "q", "options": []any{"a", params{"text": "b"}}, "is_anonymous": false}, `"is_anonymous":false`},
			{"sendPoll", params{"chat_id": 101, "question": "", "options": []any{"a"}}, "Bad Request: poll question must be non-empty"},
			{"sendPoll", params{"chat_id": 101, "question": strings.Repeat("q", 301), "options": []any{"a"}}, "Bad Request: poll question length must not exceed 300"},
			{"sendPoll", params{"chat_id": 101, "question": "q", "options": []any{" "}}, "Bad Request: poll options must be non-empty"},
			{"sendPoll", params{"chat_id": 101, "question": "q", "options": strings.Split(strings.Repeat("a", 13), "")}, "Bad Request: poll can't have more than 12 options"},
			{"sendPoll", params{"chat_id": 101, "question": "q", "options": "x"}, "Bad Request: can't parse options JSON object"},
			{"stopPoll", params{"chat_id": 101, "message_id": 3}, `"is_closed":true`},
			{"stopPoll", params{"chat_id": 101, "message_id": 3}, "Bad Request: poll has already been closed"},
			{"stopPoll", params{"chat_id": 101, "message_id": 1}, "Bad Request: message with poll to stop not found"},
		})
		if diff := cmp.Diff("nod: <location 1.5, 2>\nnod: <contact Bob, +49>\nnod: <poll q: a / b>\n", p.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReplyKeyboards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		ask := func(markup any) params { return params{"chat_id": 101, "text": "?", "reply_markup": markup} }
		walk(t, tg, []step{
			{"sendMessage", ask(params{"keyboard": []any{[]any{"Yes", params{"text": "No"}}}, "one_time_keyboard": true, "input_field_placeholder": "say"}), `"text":"?"`},
			{"sendMessage", ask(params{"keyboard": []any{"x"}}), `Bad Request: field "keyboard" must be an Array of Arrays`},
			{"sendMessage", ask(params{"keyboard": []any{[]any{1}}}), "Bad Request: can't parse keyboard button: KeyboardButton must be a String or an Object"},
			{"sendMessage", ask(params{"keyboard": []any{[]any{params{}}}}), `Bad Request: can't parse keyboard button: Can't find field "text"`},
			{"sendMessage", ask(params{"force_reply": true, "input_field_placeholder": strings.Repeat("x", 65)}), "Bad Request: input field placeholder is too long"},
			{"sendMessage", ask(params{"inline_keyboard": []any{[]any{params{"text": 1}}}}), `Bad Request: can't parse inline keyboard button: Field "text" must be of type String`},
			{"sendMessage", ask(params{"inline_keyboard": []any{[]any{params{"text": "x", "callback_data": "x", "style": "pink"}}}}), "Bad Request: can't parse inline keyboard button: invalid button style specified"},
			{"sendMessage", ask(params{"inline_keyboard": []any{[]any{params{"text": "x", "url": "javascript:x"}}}}), "Bad Request: inline keyboard button URL 'javascript:x' is invalid"},
			{"sendMessage", ask(params{"inline_keyboard": []any{[]any{params{"text": "x", "copy_text": params{"text": ""}}}}}), "Bad Request: BUTTON_COPY_TEXT_INVALID"},
			{"sendMessage", ask(params{"inline_keyboard": []any{[]any{7}}}), "Bad Request: can't parse inline keyboard button: InlineKeyboardButton must be an Object"},
		})
		want := &emulator.Replies{Rows: [][]string{{"Yes", "No"}}, Placeholder: "say", OneTime: true}
		if diff := cmp.Diff(want, p.ReplyKeyboard()); diff != "" {
			t.Error(diff)
		}
		p.SendText("Yes")
		if p.ReplyKeyboard() != nil {
			t.Error("a one-time keyboard stayed after its use")
		}
	})
}

func TestGroupsAndMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{PrivateTopics: true})
		bob := emulator.User{ID: 102, FirstName: "Bob"}
		g := tg.NewGroup(emulator.GroupOptions{Title: "Team", Username: "team"}, ann)
		at := func(more params) params {
			q := params{"chat_id": "@team"}
			for k, v := range more {
				q[k] = v
			}
			return q
		}
		g.AskToJoin(bob)
		walk(t, tg, []step{
			{"createChatInviteLink", at(nil), "Bad Request: not enough rights to manage chat invite link"},
			{"pinChatMessage", at(params{"message_id": 1}), "Bad Request: message to pin not found"},
			{"createForumTopic", at(params{"name": "x"}), "Bad Request: the chat is not a forum"},
			{"getChatMember", at(params{"user_id": 102}), `"status":"left"`},
			{"getChatMember", at(params{"user_id": "x"}), "Bad Request: invalid user_id specified"},
			{"getChatMember", at(params{"user_id": 999}), "Bad Request: user not found"},
		})
		g.Promote(tg.Bot().ID)
		walk(t, tg, []step{
			{"createChatInviteLink", at(params{"creates_join_request": true, "member_limit": 1}), "Bad Request: member limit can't be specified"},
			{"createChatInviteLink", at(params{"name": "door"}), `"invite_link":"https://t.me/+emulator0001"`},
			{"revokeChatInviteLink", at(params{"invite_link": "https://t.me/+emulator0001"}), `"is_revoked":true`},
			{"revokeChatInviteLink", at(params{"invite_link": "x"}), "Bad Request: INVITE_HASH_EXPIRED"},
			{"declineChatJoinRequest", at(params{"user_id": 102}), "true"},
			{"approveChatJoinRequest", at(params{"user_id": 102}), "Bad Request: HIDE_REQUESTER_MISSING"},
			{"approveChatJoinRequest", at(params{"user_id": 101}), "Bad Request: USER_ALREADY_PARTICIPANT"},
			{"getChatMemberCount", at(nil), "2"},
			{"getChatAdministrators", params{"chat_id": 101}, "Bad Request: there are no administrators in the private chat"},
			{"createChatInviteLink", params{"chat_id": 101}, "Bad Request: can't invite members to a private chat"},
			{"leaveChat", params{"chat_id": 101}, "Bad Request: chat member status can't be changed in private chats"},
		})
		if got := g.Status(102); got != "left" {
			t.Errorf("Bob is %q", got)
		}
		g.Remove(ann)
		walk(t, tg, []step{{"getChat", at(nil), "Forbidden: bot is not a member of the supergroup chat"}})
		g.Return(ann)
		walk(t, tg, []step{{"getChat", at(nil), `"title":"Team"`}})

		p := tg.Private(ann).NewTopic("Plans") // private chats may have topics, too (Bot API 9.3)
		p.SendText("in it")
		walk(t, tg, []step{
			{"createForumTopic", params{"chat_id": 101, "name": ""}, "Bad Request: topic name must be non-empty"},
			{"createForumTopic", params{"chat_id": 101, "name": "More"}, `"name":"More"`},
			{"sendMessage", params{"chat_id": 101, "message_thread_id": 1, "text": "here"}, `"is_topic_message":true`},
			{"getMe", nil, `"has_topics_enabled":true`},
		})
		p.Block()
		p.Unblock()
		sent(t, tg)
	})
}

func TestMenusAndInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		many := slices.Repeat([]params{{"command": "x", "description": "y"}}, 101)
		walk(t, tg, []step{
			{"getMyCommands", nil, "[]"},
			{"setMyCommands", params{"commands": many[:100]}, "true"},
			{"setMyCommands", params{"commands": many}, "Bad Request: BOT_COMMANDS_TOO_MUCH"}, // RECV-8
			{"setMyCommands", params{"commands": "{"}, "Bad Request: can't parse commands JSON object"},
			{"setMyCommands", params{"commands": "{}"}, "Bad Request: expected an Array of BotCommand"},
			{"setMyCommands", params{"scope": params{"type": "moon"}}, "Bad Request: can't parse BotCommandScope"},
			{"setMyCommands", params{"scope": params{"type": "chat", "chat_id": 101}, "commands": many[:1]}, "true"},
			{"getMyCommands", nil, `[{"command":"x"`},
			{"getChatMenuButton", nil, `{"type":"commands"}`},
			{"setChatMenuButton", params{"menu_button": params{"type": "default"}}, "true"},
			{"setChatMenuButton", params{"menu_button": params{"type": "x"}}, "Bad Request: menuButton has unsupported type"},
			{"getChatMenuButton", nil, `{"type":"default"}`},
			{"setWebhook", params{"url": "http://x.test"}, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"},
			{"setWebhook", params{"url": "https://x.test"}, "true"},
			{"getWebhookInfo", nil, `"url":"https://x.test"`},
			{"setWebhook", params{"url": ""}, "true"},
			{"sendRichMessageDraft", params{"chat_id": 101, "draft_id": 1, "rich_message": params{"markdown": "# x"}}, "true"},
			{"sendMessageDraft", params{"chat_id": 101, "draft_id": 0, "text": "x"}, "Bad Request: TEXTDRAFT_ID_INVALID"},
			{"sendRichMessage", params{"chat_id": 101}, `Bad Request: parameter "rich_message" is required`},
			{"sendRichMessage", params{"chat_id": 101, "rich_message": params{"markdown": strings.Repeat("x", 32769)}}, "Bad Request: RICH_MESSAGE_TOO_LONG_INVALID"},
			{"sendRichMessage", params{"chat_id": 101, "rich_message": params{"html": "<h1>x</h1>"}}, `"type":"paragraph"`},
			{"editMessageText", params{"chat_id": 101, "message_id": 1, "rich_message": params{"markdown": "y"}}, `"text":"y"`},
			{"editMessageText", params{"inline_message_id": "x", "text": "y"}, "Bad Request: MESSAGE_ID_INVALID"},
			{"deleteMessages", params{"chat_id": 101}, "Bad Request: message identifiers are not specified"},
			{"deleteMessages", params{"chat_id": 101, "message_ids": make([]int, 101)}, "Bad Request: too many message identifiers specified"},
			{"sendMessage", params{"chat_id": 101, "text": "x", "reply_parameters": "{"}, "Bad Request: can't parse reply parameters JSON object"},
			{"sendMessage", params{"chat_id": 101, "text": "x", "reply_parameters": params{"message_id": 1, "quote": "not there"}}, "Bad Request: QUOTE_TEXT_INVALID"},
		})
		if n := len(p.Commands()); n != 1 {
			t.Errorf("the chat's own menu has %d commands, want 1", n)
		}
	})
}

// What tests do to a message's update: entities out of range (RECV-7), a forward, a restart of the numbers.
func TestUpdatesToOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		tg.SetNextUpdateID(7)
		p.SendText("hi", emulator.WithEntities(emulator.Entity{Type: "mention", Offset: 90, Length: -4}),
			emulator.ForwardedFrom(emulator.User{ID: 9, FirstName: "Eve"}, time.Unix(1_700_000_000, 0)))
		var got []struct {
			ID      int `json:"update_id"`
			Message emulator.Message
		}
		if err := json.Unmarshal(must(t, call(t, tg, "getUpdates", nil)).Result, &got); err != nil {
			t.Fatal(err)
		}
		m := got[0].Message
		if got[0].ID != 7 || m.Entities[0].Offset != 90 || m.Entities[0].Length != -4 || m.Forward.SenderUser.ID != 9 || m.Forward.Date != 1_700_000_000 {
			t.Errorf("update %+v", got[0])
		}
	})
}

// A condition of one's own is asked again at each change.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				p.SendText("x")
			}
		}()
		if err := tg.Wait(t.Context(), func() bool { return len(p.Messages()) == 3 }); err != nil {
			t.Fatal(err)
		}
		sent(t, tg)
		if c, err := tg.WaitCall(t.Context(), emulator.Method("sendMessage")); err != nil || c.N != 1 {
			t.Errorf("found %v, %v", c, err)
		}
	})
}
