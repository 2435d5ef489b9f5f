package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nod/bot/emulator"
)

// acts takes the steps of what people do beside writing, and of what they notice at once.
func (d *dialog) acts(verb, text string) bool {
	d.t.Helper()
	switch verb {
	case "send>":
		d.send(text)
	case "delete>":
		d.actor().Delete(d.own)
	case "tap>":
		d.tap(text)
	case "stale>":
		d.stale(text)
	case "file>":
		name, content, _ := strings.Cut(text, "\n")
		d.write(name, content+"\n")
	case "link>":
		name, target, _ := strings.Cut(text, " ")
		if err := os.Symlink(target, filepath.Join(d.workspace, name)); err != nil {
			d.t.Fatal(err)
		}
	case "soon<":
		asked := time.Now()
		d.sees(d.actor(), text)
		limit := time.Second
		if !inBubble(d.t) { // other tests may keep the machine busy
			limit *= 5
		}
		if took := time.Since(asked); took > limit {
			d.t.Errorf("%q took %s", text, took)
		}
	case "runs<", "runs!":
		d.until("processes of "+text, func() bool { return d.processes(text) == (verb == "runs<") })
	case "typing<":
		d.until("typing", func() bool { return d.actor().Action() != "" })
	case "typing!":
		if action := d.actor().Action(); action != "" {
			d.t.Errorf("the bot is %s", action)
		}
	default:
		return false
	}
	return true
}

// processes says whether a process runs whose command line contains a text.
func (d *dialog) processes(text string) bool {
	d.t.Helper()
	list, err := exec.Command("ps", "-axo", "args").Output()
	if err != nil {
		d.t.Fatalf("listing processes: %v", err)
	}
	return strings.Contains(string(list), text)
}

// tap presses a button without waiting for an answer.
func (d *dialog) tap(label string) {
	d.t.Helper()
	ctx, cancel := d.within()
	defer cancel()
	m, err := d.actor().WaitButton(ctx, label)
	if err == nil {
		_, err = d.actor().PressOn(m.ID, label)
	}
	if err != nil {
		d.t.Fatalf("pressing %q: %v", label, err)
	}
}

// send is the step send>. The first line says what:
//
//	document|photo|video|audio|voice NAME [SIZE]   a file, small and made up, or one of SIZE bytes that Telegram does not hand out
//	album NAME NAME …                              files that go out together
//	sticker 🙂 · location 1.5 2.5 · contact NUMBER NAME · poll QUESTION / OPTION / OPTION
//
// A name in Go's quotes may hold anything. What stands on further lines is the caption.
func (d *dialog) send(text string) {
	d.t.Helper()
	head, caption, _ := strings.Cut(text, "\n")
	kind, rest, _ := strings.Cut(head, " ")
	var opts []emulator.Option
	if caption != "" {
		opts = append(opts, emulator.Caption(caption))
	}
	var sent emulator.Message
	switch kind {
	case "album":
		var files []emulator.Upload
		for _, name := range strings.Fields(rest) {
			files = append(files, d.upload(name))
		}
		all := d.actor().SendAlbum(files, opts...)
		sent = all[len(all)-1]
	case "sticker":
		sent = d.actor().SendSticker(rest, d.upload("sticker.webp"))
	case "location":
		at := strings.Fields(rest)
		sent = d.actor().SendLocation(d.number(at[0]), d.number(at[1]))
	case "contact":
		number, name, _ := strings.Cut(rest, " ")
		sent = d.actor().SendContact(number, name)
	case "poll":
		parts := strings.Split(rest, " / ")
		sent = d.actor().SendPoll(parts[0], parts[1:])
	default:
		sent = d.sendFile(kind, d.upload(rest), opts)
	}
	d.own = sent.ID
}

func (d *dialog) sendFile(kind string, u emulator.Upload, opts []emulator.Option) emulator.Message {
	d.t.Helper()
	switch kind {
	case "document":
		return d.actor().SendDocument(u, opts...)
	case "photo":
		return d.actor().SendPhoto(u, opts...)
	case "video":
		return d.actor().SendVideo(u, opts...)
	case "audio":
		return d.actor().SendAudio(u, opts...)
	case "voice":
		return d.actor().SendVoice(u, opts...)
	}
	d.t.Fatalf("no kind of file: %q", kind)
	return emulator.Message{}
}

// upload makes up a file from "NAME [SIZE]".
func (d *dialog) upload(text string) emulator.Upload {
	d.t.Helper()
	name, size, _ := strings.Cut(text, " ")
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		size = strings.TrimSpace(text[len(quoted):])
		if name, err = strconv.Unquote(quoted); err != nil {
			d.t.Fatal(err)
		}
	}
	u := emulator.Upload{Name: name}
	switch {
	case size != "":
		u.Size = int64(d.number(size))
	case strings.HasSuffix(name, ".png"):
		u.Data = tinyPNG
	default:
		u.Data = []byte("content of " + name)
	}
	return u
}

func (d *dialog) number(s string) float64 {
	d.t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// stale presses the newest button of that label which any message ever had.
func (d *dialog) stale(label string) {
	d.t.Helper()
	ctx, cancel := d.within()
	defer cancel()
	message, data := 0, ""
	// A message is there a moment before the call that sent it is over.
	if err := d.telegram.Wait(ctx, func() bool {
		message, data = d.everHad(label)
		return message != 0
	}); err != nil {
		d.t.Fatalf("no message ever had a button %q: %v", label, err)
	}
	d.notice = d.answerTo(d.actor().PressData(message, data)).Text
}

// everHad is the newest message that ever had a button of that label, and the button's data; 0 when there is none.
func (d *dialog) everHad(label string) (message int, data string) {
	d.t.Helper()
	for _, c := range d.telegram.Calls("sendMessage", "editMessageText") {
		var markup struct {
			Rows [][]struct {
				Text string `json:"text"`
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		}
		if c.Code != 200 || json.Unmarshal([]byte(c.Params["reply_markup"]), &markup) != nil {
			continue
		}
		var shown struct {
			ID int `json:"message_id"`
		}
		if err := json.Unmarshal(c.Result, &shown); err != nil {
			d.t.Fatal(err)
		}
		for _, row := range markup.Rows {
			for _, b := range row {
				if b.Text == label {
					message, data = shown.ID, b.Data
				}
			}
		}
	}
	return message, data
}
