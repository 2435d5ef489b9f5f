package fs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// writerFolder, when set, makes this binary a process that replaces a file in that folder until it is killed.
const writerFolder = "NOD_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerFolder); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

const writtenSize = 1 << 20

func writeForEver(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	for n := byte('a'); ; n = 'a' + (n-'a'+1)%26 {
		old, err := root.Lstat("f")
		if err != nil {
			return err
		}
		if err := replace(root, "f", bytes.Repeat([]byte{n}, writtenSize), old); err != nil {
			return err
		}
		if n == 'a' {
			fmt.Println("wrote all letters") // at most a few lines, which the pipe holds
		}
	}
}

// TestSC7KilledWhileWriting: after a kill -9 at any moment the file is one content or the other.
func TestSC7KilledWhileWriting(t *testing.T) {
	for range 8 {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, bytes.Repeat([]byte{'0'}, writtenSize), 0o640); err != nil {
			t.Fatal(err)
		}
		killWhileWriting(t, dir)
		data, err := os.ReadFile(path)
		if err != nil || len(data) != writtenSize || !bytes.Equal(data, bytes.Repeat(data[:1], writtenSize)) {
			t.Errorf("the file has %d bytes, %v", len(data), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
	}
}

// killWhileWriting starts a writer and kills it a random moment after its first write.
func killWhileWriting(t *testing.T, dir string) {
	t.Helper()
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), writerFolder+"="+dir)
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error("the writer wrote nothing:", err)
	}
	time.Sleep(rand.N(30 * time.Millisecond))
	if err := writer.Process.Kill(); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := writer.Wait(); !errors.As(err, &exit) {
		t.Error(err)
	}
}
