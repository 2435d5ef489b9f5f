package chat_test

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
	"nod/tools/tooltest"
)

type args = map[string]any

// tray stands for the outbox: what was kept, and what was put in.
type tray struct {
	kept map[string]string
	sent []tools.File
	fail error
}

// everyTool are the tools of the package, where only the config group can be activated.
func everyTool(w *tools.Workspace) []tools.Tool {
	return chat.Tools(w, func() []tools.Group { return []tools.Group{{Name: tools.ConfigGroup}} })
}

func (tr *tray) SendAlbum(tx *store.Tx, to store.Address, photos []tools.File) error {
	for _, p := range photos {
		if err := tr.Send(tx, to, p); err != nil {
			return err
		}
	}
	return nil
}
func (tr *tray) Limit() int64 { return 50 << 20 }

func (tr *tray) Keep(name string, r io.Reader, size int64) (string, error) {
	data, err := io.ReadAll(r)
	if err != nil || int64(len(data)) != size {
		return "", errors.Join(err, errors.New("the size is another"))
	}
	tr.kept[name] = string(data)
	return "kept-" + name, nil
}

func (tr *tray) Send(_ *store.Tx, to store.Address, f tools.File) error {
	if to.Chat != 42 {
		return errors.New("sent to another chat")
	}
	tr.sent = append(tr.sent, f)
	return tr.fail
}

func newRig(t *testing.T) (*tooltest.Rig, *tray) {
	t.Helper()
	r := tooltest.New(t, everyTool)
	tr := &tray{kept: map[string]string{}}
	r.Scope.Ports.Files = tr
	return r, tr
}

func picture(t *testing.T, width, height int, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSendAttachmentKinds(t *testing.T) {
	r, tr := newRig(t)
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	files := []struct {
		name, content string
		asDocument    bool
		want          tools.FileKind
	}{
		{"a.png", picture(t, 30, 20, png.Encode), false, tools.Photo},
		{"b.jpg", picture(t, 30, 20, asJPEG), false, tools.Photo},
		{"c.png", picture(t, 30, 20, png.Encode), true, tools.Document},
		{"wide.png", picture(t, 2001, 100, png.Encode), false, tools.Document}, // ratio
		{"long.png", picture(t, 9000, 1001, png.Encode), false, tools.Document},
		{"edge.png", picture(t, 9000, 1000, png.Encode), false, tools.Photo},
		{"heavy.png", picture(t, 30, 20, png.Encode) + strings.Repeat("x", 10<<20), false, tools.Document},
		{"broken.png", "\x89PNG\r\n\x1a\n", false, tools.Document},
		{"d.gif", "GIF89a......", false, tools.Document},
		{"e.mp4", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", false, tools.Video},
		{"f.m4a", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42", false, tools.Audio},
		{"g.mp3", "ID3\x04" + strings.Repeat("\x00", 50), false, tools.Audio},
		{"h.mp3", "\xff\xfb\x90\x00", false, tools.Audio},
		{"i.ogg", "OggS\x00\x02" + strings.Repeat("\x00", 22) + "OpusHead", false, tools.Voice},
		{"j.txt", "text\n", false, tools.Document},
		{".env", "A=1\n", false, tools.Document},
	}
	for _, f := range files {
		r.Write(f.name, f.content)
		tr.sent = nil
		out := r.Call(tools.SendAttachment, args{"file_path": f.name, "caption": "see", "as_document": f.asDocument})
		want := []tools.File{{Handle: "kept-" + f.name, Name: f.name, Caption: "see", Kind: f.want}}
		if diff := cmp.Diff(want, tr.sent); diff != "" || out.State != tools.Completed || tr.kept[f.name] != f.content {
			t.Errorf("%s is %s: %s %s", f.name, out.State, out.Text, diff)
		}
	}
	if len(r.Cards()) > 0 {
		t.Error("sending from the workspace asked")
	}
}

// TestFILE2 what may not be sent is not, and nobody is asked.
func TestFILE2Refused(t *testing.T) {
	r, tr := newRig(t)
	outside := filepath.Join(t.TempDir(), "x")
	tooltest.WriteFile(t, outside, "outside")
	r.Write("secrets/tok", "secret")
	r.Write("a.txt", "a")
	for name, target := range map[string]string{"link-out": outside, "link-secret": "secrets/tok", "link-in": "a.txt"} {
		if err := os.Symlink(target, r.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(r.Path("secrets/tok"), r.Path("hard")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]tools.State{
		"/etc/passwd": tools.Rejected, outside: tools.Rejected, "link-out": tools.Rejected, "secrets/tok": tools.Rejected,
		"link-secret": tools.Rejected, "../x": tools.Rejected, "none": tools.Failed, ".": tools.Failed, "hard": tools.Failed,
		"link-in": tools.Completed,
	} {
		if out := r.Call(tools.SendAttachment, args{"file_path": path}); out.State != want {
			t.Errorf("sending %s is %s: %s", path, out.State, out.Text)
		}
	}
	if len(tr.kept) != 1 || len(tr.sent) != 1 || len(r.Cards()) > 0 {
		t.Errorf("kept %v, sent %v, asked %v", tr.kept, tr.sent, r.Cards())
	}
}

func TestSendAttachmentLimits(t *testing.T) {
	r, tr := newRig(t)
	r.Write("empty", "")
	r.Write("big", "")
	if err := os.Truncate(r.Path("big"), 50<<20+1); err != nil {
		t.Fatal(err)
	}
	r.Write("a.txt", "a")
	tests := []struct {
		name string
		args args
		want string
	}{
		{"empty file", args{"file_path": "empty"}, "empty is empty, and Telegram takes no empty files"},
		{"over the limit", args{"file_path": "big"}, "big has 50.0 MB, and at most 50.0 MB can be sent; compress it or send a part of it"},
		{"no path", args{"file_path": ""}, "The call was not run: file_path is empty; name the file"},
		{
			"long caption",
			args{"file_path": "a.txt", "caption": strings.Repeat("😀", 600)},
			"The call was not run: the caption has 1200 characters, and Telegram takes 1024; say the rest in your answer",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tools.Outcome{State: tools.Failed, Text: tt.want}, r.Call(tools.SendAttachment, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	tr.fail = errors.New("the outbox is full")
	if out := r.Call(tools.SendAttachment, args{"file_path": "a.txt"}); out.State != tools.Failed || !strings.Contains(out.Text, "the outbox is full") {
		t.Errorf("a file that can't be put in the outbox is %s: %s", out.State, out.Text)
	}
	r.Scope.Ports.Files = nil
	if out := r.Call(tools.SendAttachment, args{"file_path": "a.txt"}); !strings.Contains(out.Text, "not available") {
		t.Errorf("without a port the tool is %s: %s", out.State, out.Text)
	}
}

func TestAskUserClarification(t *testing.T) {
	r, _ := newRig(t)
	r.OnCard = func(p approvals.Pending) approvals.Decision {
		want := &approvals.Question{Title: "Colour", Text: "Which one?", Options: []string{"red", "blue"}}
		if diff := cmp.Diff(want, p.Question); diff != "" {
			t.Error(diff)
		}
		return approvals.Decision{Verb: approvals.VerbAnswer, Answer: "green"}
	}
	out := r.Call(tools.AskUserClarification, args{"title": "Colour", "question": " Which one? ", "suggested_answers": []string{"red", "blue"}})
	if out.State != tools.Completed || !strings.Contains(out.Text, "green") {
		t.Errorf("the answer is %s: %s", out.State, out.Text)
	}
	for name, a := range map[string]args{
		"empty title":   {"title": " ", "question": "x"},
		"same answers":  {"title": "x", "question": "x", "suggested_answers": []string{"a", "a "}},
		"empty answer":  {"title": "x", "question": "x", "suggested_answers": []string{""}},
		"many answers":  {"title": "x", "question": "x", "suggested_answers": strings.Split("abcdefghi", "")},
		"long question": {"title": "x", "question": strings.Repeat("x", 3001)},
	} {
		if out := r.Call(tools.AskUserClarification, a); out.State != tools.Failed {
			t.Errorf("%s is %s: %s", name, out.State, out.Text)
		}
	}
	if len(r.Cards()) != 1 {
		t.Errorf("%d questions were asked", len(r.Cards()))
	}
}

func TestWriteTodos(t *testing.T) {
	r, _ := newRig(t)
	list := []args{
		{"content": "look", "status": "completed"},
		{"content": "do\nit", "status": "in_progress"},
		{"content": "tell", "status": "pending"},
	}
	want := tools.Outcome{State: tools.Completed, Text: "☑ look\n▶ do it\n☐ tell\n"}
	if diff := cmp.Diff(want, r.Call(tools.WriteTodos, args{"todos": list})); diff != "" {
		t.Error(diff)
	}
	for name, a := range map[string]args{
		"unknown status": {"todos": []args{{"content": "x", "status": "done"}}},
		"no content":     {"todos": []args{{"content": " ", "status": "pending"}}},
		"no status":      {"todos": []args{{"content": "x"}}},
	} {
		if out := r.Call(tools.WriteTodos, a); out.State != tools.Failed {
			t.Errorf("%s is %s: %s", name, out.State, out.Text)
		}
	}
	if out := r.Call(tools.WriteTodos, args{"todos": []args{}}); out.Text != "The list is empty." {
		t.Errorf("an empty list is %q", out.Text)
	}
}

func TestUpdateScratchpad(t *testing.T) {
	r, _ := newRig(t)
	pad := func() (pad string) {
		err := r.DB.View(func(tx *store.Tx) (err error) {
			pad, err = chat.Scratchpad(tx, r.Scope.Session)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return pad
	}
	for _, content := range []string{"one", "two", ""} {
		if out := r.Call(tools.UpdateScratchpad, args{"content": content}); out.State != tools.Completed || pad() != content {
			t.Errorf("after %q the scratchpad is %q: %s", content, pad(), out.Text)
		}
	}
	if out := r.Call(tools.UpdateScratchpad, args{"content": strings.Repeat("x", 16<<10+1)}); out.State != tools.Failed || pad() != "" {
		t.Errorf("too much is %s: %s", out.State, out.Text)
	}
}

func TestActivateTools(t *testing.T) {
	r, _ := newRig(t)
	groups := func(session store.SessionID) (groups []string) {
		err := r.DB.View(func(tx *store.Tx) (err error) {
			groups, err = chat.ActiveGroups(tx, session)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return groups
	}
	for range 2 {
		if out := r.Call(tools.ActivateTools, args{"groups": []string{"config"}}); out.State != tools.Completed {
			t.Fatal(out.Text)
		}
	}
	if diff := cmp.Diff([]string{"config"}, groups(r.Scope.Session)); diff != "" || len(groups("another")) > 0 {
		t.Error(diff, groups("another"))
	}
	want := tools.Outcome{State: tools.Failed, Text: `The call was not run: there is no group "weather"; the groups are: config`}
	if diff := cmp.Diff(want, r.Call(tools.ActivateTools, args{"groups": []string{"config", "weather"}})); diff != "" {
		t.Error(diff)
	}
	if err := r.DB.Update(func(tx *store.Tx) error { return chat.ResetGroups(tx, r.Scope.Session) }); err != nil {
		t.Fatal(err)
	}
	if got := groups(r.Scope.Session); len(got) > 0 {
		t.Errorf("after a reset %v are active", got)
	}
}
