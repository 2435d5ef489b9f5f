package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nod/tools"
)

// TestSC2FolderWithTwoNames: a second mount, like a file system that folds case, gives a closed folder another name.
func TestSC2FolderWithTwoNames(t *testing.T) {
	home := t.TempDir()
	w := openWorkspace(t, home)
	for name, source := range map[string]string{"other": filepath.Join(w.Dir(), "secrets"), "home": home} {
		target := filepath.Join(w.Dir(), name)
		for _, dir := range []string{source, target} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			t.Logf("NOT TESTED: this user may not mount: %v", err)
			return
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	for _, access := range []tools.Access{tools.ForReading, tools.ForWriting} {
		place, err := w.Resolve("other/tok", access)
		if err != nil || place.Path.Shown != "secrets/tok" || !place.Private {
			t.Errorf("secrets/ by another name: %+v, %v", place, err)
		}
		if place, err := w.Resolve("home/nod.yaml", access); err != nil || !place.Denied {
			t.Errorf("nod's home by another name: %+v, %v", place, err)
		}
	}
}
