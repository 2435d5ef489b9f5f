package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "a folder in which the browser test leaves its screenshots")

// TestBrowser uses the demo's page as a person does, in a headless Chromium as wide as a phone, then on a desktop. It
// needs a Chromium; NOD_BROWSER=1 makes a missing one a failure.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	b := openBrowser(t, findBrowser(t))
	demo := showDemo(t, nil)
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.do(chromedp.Navigate(demo.page.String()), chromedp.WaitVisible(chromedp.CSS("#suggest")))
	b.sees("a script plays the model")
	b.is(`location.search === ""`) // the key is out of sight
	b.shot("1-greeting")

	b.say("Write me a note")
	b.sees("write_file")
	b.do(chromedp.WaitVisible(chromedp.CSS("#log .key.success")))
	b.shot("2-card")
	b.do(chromedp.Click(chromedp.CSS("#log .key.success")))
	b.sees("Approved by You")
	b.sees("Written to notes/hello.md")
	b.is(`document.querySelector("#log .key.success") === null`)

	b.say("Send me a file")
	b.sees("There it is")
	b.is(`fetch(document.querySelector("#log .theirs a.doc[download='welcome.md']").href).then((r) => r.text()).then((s) => s.startsWith("# Welcome"))`)
	b.shot("3-file")

	b.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{b.file("list.txt", "milk\n")}), chromedp.WaitVisible(chromedp.CSS("#files")))
	b.do(chromedp.Click(chromedp.CSS("#send")))
	b.sees("Here it is again")

	b.say("Answer slowly")
	b.sees("Line 3 of 60")
	b.do(chromedp.SendKeys(chromedp.CSS("#input"), "/st"), chromedp.WaitVisible(chromedp.CSS("#commands [data-command='/stop']")))
	b.do(chromedp.Click(chromedp.CSS("#commands [data-command='/stop']")))
	b.sees("Stopped")
	b.shot("4-stopped")
	b.do(chromedp.Click(chromedp.CSS("#suggest button:nth-child(2)"))) // the next message works
	b.sees("Run this command?")
	b.is(`document.documentElement.scrollWidth <= innerWidth`)

	b.do(chromedp.EmulateViewport(1100, 900, chromedp.EmulateScale(2)), b.dark())
	b.is(`getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1"`)
	b.is(`[...document.querySelectorAll("#log .row")].at(-1).getBoundingClientRect().bottom <= innerHeight`)
	b.shot("5-desktop")
	b.close()
	demo.end()
}

// findBrowser gives the path of a Chromium.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("NOD_BROWSER") == "1" {
		t.Fatal("NOD_BROWSER=1, but there is no chromium on this machine")
	}
	t.Skip("THE DEMO'S PAGE WAS NOT TESTED: there is no chromium on this machine (apt-get install chromium)")
	return ""
}

// browser is a tab that a test works with.
type browser struct {
	t   *testing.T
	tab context.Context
	dir string

	mu     sync.Mutex
	errors []string // what the page's console complained of
}

// openBrowser starts a browser with a profile of its own.
func openBrowser(t *testing.T, path string) *browser {
	t.Helper()
	b := &browser{t: t, dir: t.TempDir()}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Env("TMPDIR=" + b.dir), chromedp.UserDataDir(filepath.Join(b.dir, "profile")),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
	}
	for _, name := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b.tab = tab
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	if err := chromedp.Listen(tab, b.hear); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear collects errors: uncaught ones, those that scripts log, and those that the browser logs, such as files not found.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.errors = append(b.errors, fmt.Sprintf("%+v", e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// do carries out steps, for as long as demoTime.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, demoTime)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.shot("failed")
		b.t.Fatal(err)
	}
}

// is waits until an expression in the page, which may be a promise, is true.
func (b *browser) is(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, demoTime)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(demoTime))); err != nil {
		text, _ := chromedp.Run(b.tab, chromedp.Evaluate[string](`document.querySelector("#log").innerText`)) // for the message only
		b.shot("failed")
		b.t.Fatalf("waiting for %s: %v; the chat:\n%s", expression, err, text)
	}
}

// sees waits until the chat shows a text.
func (b *browser) sees(text string) {
	b.t.Helper()
	b.is(fmt.Sprintf(`document.querySelector("#log").innerText.includes(%q)`, text))
}

// say types a message and sends it.
func (b *browser) say(text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("#input"), text), chromedp.WaitEnabled(chromedp.CSS("#send")), chromedp.Click(chromedp.CSS("#send")))
}

// dark makes the system prefer dark colours.
func (b *browser) dark() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return err
	})
}

// shot leaves a picture of the page, with its animations at their end.
func (b *browser) shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.tab, demoTime)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`document.getAnimations().forEach((a) => { try { a.finish() } catch {} })`))
	if err != nil {
		b.t.Error(err)
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Errorf("taking the picture %s: %v", name, err)
		return
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// file writes a file that can be uploaded.
func (b *browser) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// close ends the browser, and fails the test when the page's console complained.
func (b *browser) close() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, 10*time.Second)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		b.t.Errorf("closing the browser: %v", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.t.Errorf("the page's console complains:\n%s", strings.Join(b.errors, "\n"))
	}
}
