package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"nod/bot/emulator"
)

// residentMax is the most memory that a process has had at once since its start, or since resetResident, in bytes.
func residentMax(t *testing.T, n *realNod) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// resetResident begins the measurement anew (proc_pid_clear_refs(5)).
func resetResident(t *testing.T, n *realNod) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", n.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// TestSD1_AFloodOfStrangersCostsNothing: strangers write, a hundred thousand of them with -trust.long, while an owner asks
// how nod is. The real program's memory and database stay as they were, and the owner is answered
// soon: few cards ask about them.
func TestSD1_AFloodOfStrangersCostsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: memory is measured on Linux")
	}
	// A chat is given a message a second, and the cards go first.
	const mostMemory, mostDisk, slowest = 64 << 20, 1 << 20, 5 * time.Second
	w := newCrashWorld(t, 1, nil)
	owner := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	nod := w.launch("")
	status := func() time.Duration {
		asked := time.Now()
		mine := owner.SendText("/status")
		for {
			if m, ok := owner.Last(); ok && m.ID > mine.ID && strings.Contains(m.Shown(), "Up for") {
				return time.Since(asked)
			}
			if ctx.Err() != nil {
				t.Fatal("no /status came")
			}
			time.Sleep(time.Millisecond) // nothing tells of this message and not of others
		}
	}
	status()
	resetResident(t, nod)
	before, size := residentMax(t, nod), fileSize(t, filepath.Join(w.home, databaseName))
	strangers := trustSize(500, 2_000, 100_000)
	var slow time.Duration
	for i := range strangers {
		p := w.telegram.Private(emulator.User{ID: int64(1_000_000 + i), FirstName: strings.Repeat("Stranger", 8)})
		if i%10 == 0 {
			p.SendDocument(emulator.Upload{Name: "big.bin", Size: 1 << 20})
		} else {
			p.SendText("/start " + strings.Repeat("let me in ", 300))
		}
		if i%200 == 199 { // else the owner's message would stand in Telegram's queue
			if err := w.telegram.WaitAcknowledged(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if i == strangers/2 || i == strangers-1 {
			slow = max(slow, status())
		}
	}
	if err := w.telegram.WaitAcknowledged(ctx); err != nil {
		t.Fatal(err)
	}
	status()
	grown, disk := residentMax(t, nod)-before, fileSize(t, filepath.Join(w.home, databaseName))-size
	nod.terminate()
	t.Logf("%d strangers: memory +%d MiB at most, database +%d KiB, /status within %v", strangers, grown>>20, disk>>10, slow.Round(time.Millisecond))
	if grown > mostMemory || disk > mostDisk {
		t.Errorf("memory grew by %d MiB and the database by %d KiB", grown>>20, disk>>10)
	}
	if slow > slowest {
		t.Errorf("/status took %v meanwhile", slow)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
