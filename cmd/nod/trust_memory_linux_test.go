package main

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

// bombs are how much is thrown at a program.
type bombs struct {
	flood     int64 // bytes of a command's output
	pictures  int
	side      int   // of a picture, in pixels
	unzipped  int64 // bytes of an archive's only file
	strangers int   // messages of people whom nod does not know
}

const (
	memoryFigure = "9. peak memory over idle, in bombs of output, pictures, archives and strangers; /status meanwhile"
	memoryTarget = "< 64 MiB; < 1 s"
)

// trustMemory throws at the real program what makes others grow, asks for /status meanwhile, and does the same to a
// program that takes things as they come.
func trustMemory(t *testing.T, table *trustTable) {
	if result := os.Getenv(labVariable); result != "" {
		beNaive(t, result)
		return
	}
	if testing.Short() {
		table.miss(t, memoryFigure, memoryTarget, "-short goes with the race detector, whose memory would be measured, and not nod's")
	}
	b := bombs{flood: 256 << 20, pictures: 6, side: 9_000, unzipped: 128 << 20, strangers: 500}
	if *trustLong {
		b = bombs{flood: 10 << 30, pictures: 20, side: 15_000, unzipped: 1 << 30, strangers: 100_000}
	}
	idle, peak, refused, status := throw(t, b)
	naive := naivePeak(t)
	const bound = 64 << 20
	table.add(t, trustRow{
		memoryFigure,
		fmt.Sprintf("%d MiB over %d MiB (%s of output, %d of %d pictures of %d Mpx refused unseen, a zip of %s, %s strangers' messages); median %s, 95 %% %s", (peak-idle)>>20, idle>>20,
			mib(b.flood), refused, b.pictures, b.side*b.side/1e6, mib(b.unzipped), count(b.strangers), status.median().Round(time.Millisecond), status.at(0.95).Round(time.Millisecond)),
		memoryTarget, fmt.Sprintf("everything read and decoded, a tenth of it: %d MiB", naive>>20),
	}, peak-idle < bound && status.median() < time.Second && refused == b.pictures, naive > 64<<20)
}

func mib(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// throw throws the bombs at one nod, one kind after the other, while somebody else asks for /status. Its model can see, so
// that each picture has to be looked at: refused counts those of which the model was told their size instead.
func throw(t *testing.T, b bombs) (idle, peak int64, refused int, status samples) {
	w := newCrashWorld(t, 2, nil)
	model := scripted.New(b.reply)
	service := w.serve(model)
	if err := errors.Join(os.MkdirAll(w.home, 0o700), os.WriteFile(filepath.Join(w.home, "nod.yaml"), []byte("models: [{name: scripted, vision: true}]\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "OPENAI_BASE_URL=") })
	w.env[at] = "OPENAI_BASE_URL=" + service + "/v1"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	nod := w.launch("")
	p, watcher := w.people[0], w.people[1]
	if !p.hears(ctx, "hello", "done: ") {
		t.Fatal("nod does not answer")
	}
	idle = processMemory(nod.cmd.Process.Pid, "VmRSS")
	busy, rest := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { status = watcher.askStatus(ctx, busy) })
	if !p.hears(ctx, "flood", "done: all") {
		t.Error("the flood was not answered")
	}
	p.throwFiles(ctx, b)
	w.crowd(ctx, b.strangers)
	if !p.hears(ctx, "hello again", "done: ") {
		t.Error("nod does not answer any more")
	}
	rest()
	watching.Wait()
	peak = processMemory(nod.cmd.Process.Pid, "VmHWM")
	nod.terminate()
	return idle, peak, b.refused(t, model.Requests()), status
}

// refused counts the pictures that the model was told of in the place of seeing them.
func (b bombs) refused(t *testing.T, asked []scripted.Request) int {
	told := map[string]bool{}
	form := regexp.MustCompile(fmt.Sprintf(`can't be shown to you: (\S+): it has %d × %d points`, b.side, b.side))
	for _, r := range asked {
		for _, m := range r.Messages {
			if len(m.Images) > 0 {
				t.Error("the model was shown a bomb")
			}
			for _, found := range form.FindAllStringSubmatch(m.Text, -1) {
				told[found[1]] = true
			}
		}
	}
	return len(told)
}

// reply is the model: what people ask for is done.
func (b bombs) reply(r scripted.Request) scripted.Reply {
	switch text := r.LastUser(); {
	case len(r.Results()) > 0:
		return scripted.Say("done: all of it")
	case strings.Contains(text, "flood"):
		return scripted.Call(tools.ExecuteCmd, map[string]any{"command": fmt.Sprintf("yes nod | head -c %d", b.flood), "timeout": 600})
	case strings.Contains(text, "unzip"):
		return scripted.Call(tools.ReadFile, map[string]any{"path": "bomb.zip"}).Call(tools.GrepFiles, map[string]any{"path": ".", "pattern": "nod"})
	}
	return scripted.Say("done: I have seen it")
}

// askStatus asks for /status again and again, and says how long each answer took.
func (p *crashPerson) askStatus(ctx, busy context.Context) (took samples) {
	for busy.Err() == nil {
		began := time.Now()
		if p.hears(ctx, "/status", "Sandbox") {
			took = append(took, time.Since(began))
		}
		select {
		case <-busy.Done():
		case <-time.After(1100 * time.Millisecond): // the pace that one chat allows
		}
	}
	return took
}

// throwFiles sends pictures and an archive, and has the archive read.
func (p *crashPerson) throwFiles(ctx context.Context, b bombs) {
	t := p.w.t
	t.Helper()
	picture, last := pictureBomb(b.side), 0
	for n := range b.pictures { // one after the other, since a model is shown no more than the latest few
		last = p.SendPhoto(emulator.Upload{Name: fmt.Sprintf("%d.png", n), Data: picture}).ID
		if !p.until(ctx, func() bool { return p.answeredAfter(last) }) {
			t.Error("a picture was not answered")
		}
	}
	archive := zipBomb(t, b.unzipped)
	p.w.write("bomb.zip", string(archive))
	last = p.SendDocument(emulator.Upload{Name: "bomb.zip", Data: archive}).ID
	if !p.until(ctx, func() bool { return p.answeredAfter(last) }) {
		t.Error("the archive was not taken in")
	}
	if !p.hears(ctx, "unzip", "done: all") {
		t.Error("the archive was not answered")
	}
}

// crowd has people write whom nod does not know, and waits until nod has taken all of it in.
func (w *crashWorld) crowd(ctx context.Context, messages int) {
	w.t.Helper()
	var strangers []*emulator.Person
	for n := range min(messages, 2_000) {
		strangers = append(strangers, w.telegram.Private(emulator.User{ID: int64(10_000 + n), FirstName: "S"}))
	}
	for n := range messages {
		strangers[n%len(strangers)].SendText(strings.Repeat("let me in ", 50))
	}
	if err := w.telegram.WaitAcknowledged(ctx); err != nil {
		w.t.Error("the strangers' messages were not taken in:", err)
	}
}

// answeredAfter says whether the bot has ended an answer since a message.
func (p *crashPerson) answeredAfter(id int) bool {
	return slices.ContainsFunc(p.Messages(), func(m emulator.Message) bool { return m.ID > id && strings.HasPrefix(m.Shown(), "done: ") })
}

// processMemory is a line of /proc/PID/status, in bytes.
func processMemory(pid int, name string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kib int64
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			if _, err := fmt.Sscan(value, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// pictureBomb is a grey PNG of so many pixels a side, which takes little room until somebody decodes it.
func pictureBomb(side int) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	row := make([]byte, 1+side)
	for range side {
		_, _ = z.Write(row) // into memory
	}
	_ = z.Close()
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		_ = binary.Write(&b, binary.BigEndian, uint32(len(data)))
		body := append([]byte(kind), data...)
		b.Write(body)
		_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(body))
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(side))
	header = binary.BigEndian.AppendUint32(header, uint32(side))
	chunk("IHDR", append(header, 8, 0, 0, 0, 0)) // 8 bits of grey
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return b.Bytes()
}

// zipBomb is an archive of one file of so many zeros.
func zipBomb(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("zeros")
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<20); size > 0; size -= int64(len(block)) {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// naivePeak is the peak memory of the control, which is a process of its own.
func naivePeak(t *testing.T) (peak int64) {
	result := filepath.Join(t.TempDir(), "peak")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.CommandContext(t.Context(), self, "-test.run=^TestTrust$/^memory$")
	lab.Env = append(os.Environ(), labVariable+"="+result)
	if out, err := lab.CombinedOutput(); err != nil {
		t.Fatalf("the control: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(result)
	if err == nil {
		_, err = fmt.Sscan(string(raw), &peak)
	}
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

// beNaive is the control: a command's output read as a whole, a picture decoded, an archive unpacked.
func beNaive(t *testing.T, result string) {
	out, err := exec.Command("/bin/sh", "-c", "yes nod | head -c 67108864").Output()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(pictureBomb(7_000)))
	if err != nil {
		t.Fatal(err)
	}
	raw := zipBomb(t, 64<<20)
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := archive.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	peak := processMemory(os.Getpid(), "VmHWM")
	if err := os.WriteFile(result, fmt.Append(nil, peak), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(len(out), picture.Bounds(), len(unpacked))
}
