//go:build unix

package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAKeyOfSomebodyElseIsRefused: who can change the owner of a file could have put it there. Only root can make one to test
// with.
func TestAKeyOfSomebodyElseIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give a key to another user")
	}
	for name, passphrase := range map[string]string{"open": "", "locked": "correct horse battery"} {
		t.Run(name, func(t *testing.T) {
			from := KeySource{Home: t.TempDir(), Passphrase: passphrase, cost: leastCost}
			if _, err := LoadKey(from); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(from.Home, keyFile)
			for uid, want := range map[int]string{65534: "belongs to another user: run chown", 0: ""} {
				if err := os.Chown(path, uid, -1); err != nil {
					t.Fatal(err)
				}
				key, err := LoadKey(from)
				_, checked := CheckKey(from)
				for _, err := range []error{err, checked} {
					if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("a key of uid %d: %v", uid, err)
					}
				}
				if want != "" && key != nil {
					t.Errorf("a key of uid %d is given out", uid)
				}
			}
		})
	}
}
