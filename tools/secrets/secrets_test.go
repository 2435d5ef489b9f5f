package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

const canary = `K7/canary+"secret"\value~42`

// TestSE9_EveryFormIsMasked looks for a canary in the forms in which it could leave.
func TestSE9_EveryFormIsMasked(t *testing.T) {
	var r Redactor
	r.Add(canary)
	quoted := strings.Trim(quote(t, canary), `"`)
	tests := map[string]string{
		"plain": canary, "hex": hex.EncodeToString([]byte(canary)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"query": url.QueryEscape(canary), "path": url.PathEscape(canary), "json": quoted,
		"base64": base64.StdEncoding.EncodeToString([]byte(canary)), "base64url": base64.URLEncoding.EncodeToString([]byte(canary)),
		"base64 of more": base64.StdEncoding.EncodeToString([]byte("x" + canary + "yz")), "base64 of more still": base64.StdEncoding.EncodeToString([]byte("xy" + canary)),
	}
	for name, form := range tests {
		got := r.Redact("before " + form + " after")
		if !strings.Contains(got, Mask) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, form, got)
		}
	}
}

func quote(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("", "v", s)
	_, rest, _ := strings.Cut(b.String(), `"v":`)
	return strings.TrimSuffix(strings.TrimSpace(rest), "}")
}

func TestShapesAreMasked(t *testing.T) {
	var r Redactor
	token := "123456789:" + strings.Repeat("Ab_-5", 7)
	for _, text := range []string{
		"https://api.telegram.org/bot" + token + "/getMe", token, "key sk-" + strings.Repeat("a1", 15), "ghp_" + strings.Repeat("z", 36),
		"AKIA" + strings.Repeat("Q", 16), "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
	} {
		if got := r.Redact(text); !strings.Contains(got, Mask) {
			t.Errorf("%q passes", text)
		}
	}
	for _, text := range []string{"", "at 12:30:45 we met", "right through the night", "ratio 12345678:1", "skill-set", "a: b: c"} {
		if got := r.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestNoShapeIsPassedOver compares the quick look with the regular expression alone.
func TestNoShapeIsPassedOver(t *testing.T) {
	var r Redactor
	keys := []string{
		"12345678:" + strings.Repeat("x", 35), "123456789012:" + strings.Repeat("-", 36), "12345678:" + strings.Repeat("x", 34),
		"1234567:" + strings.Repeat("x", 35), "sk-" + strings.Repeat("a", 20), "sk-short", "ghs_" + strings.Repeat("0", 36),
		"github_pat_" + strings.Repeat("Z", 22), "glpat-" + strings.Repeat("q", 20), "xoxb-" + strings.Repeat("1", 10),
		"AKIA" + strings.Repeat("A", 16), "AIza" + strings.Repeat("_", 35), "eyJabcdefghij.eyJabcdefghij.abcdefghij",
		"-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----",
	}
	around := []string{"", " ", "a", "Z", "7", "_", "-", "/", "é", ":", "task-", "sk-sk-", "12:45 "}
	for _, key := range keys {
		for _, before := range around {
			for _, after := range around {
				text := before + key + after
				if diff := cmp.Diff(shapes().ReplaceAllString(text, Mask), r.Redact(text)); diff != "" {
					t.Errorf("%q: %s", text, diff)
				}
			}
		}
	}
}

// TestGrowingShowsNoBeginning types a text in one rune after the other.
func TestGrowingShowsNoBeginning(t *testing.T) {
	var r Redactor
	r.Add("hunter2-hunter2")
	full := "it is hunter2-hunter2, they say; hunter3"
	for i := range full {
		if got := r.Growing(full[:i]); strings.Contains(got, "hunter2") || strings.HasSuffix(got, "hunt") && i < 20 {
			t.Errorf("after %d bytes it shows %q", i, got)
		}
	}
	if diff := cmp.Diff("it is "+Mask+", they say; hunter3", r.Redact(full)); diff != "" {
		t.Error(diff)
	}
}

// TestGrowingShowsNoBeginningOfAShape: nor is one shown of a key that nod does not know.
func TestGrowingShowsNoBeginningOfAShape(t *testing.T) {
	var r Redactor
	for _, key := range []string{
		"sk-" + strings.Repeat("a1", 15), "123456789:" + strings.Repeat("Ab_-5", 7), "ghp_" + strings.Repeat("z", 36), "AKIA" + strings.Repeat("Q", 16),
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\naC1rZXk=\n-----END OPENSSH PRIVATE KEY-----",
	} {
		full := "use " + key + ", they say"
		shown := key[:min(len(key), 16)]
		for i := range full {
			if got := r.Growing(full[:i]); strings.Contains(got, shown) || strings.Contains(got, "b3Blb") {
				t.Errorf("after %d bytes it shows %q", i, got)
			}
		}
		if diff := cmp.Diff("use "+Mask+", they say", r.Growing(full)); diff != "" {
			t.Error(diff)
		}
	}
	for _, text := range []string{"the skill", "at 12:30", "I ask-", "risk-", "see 1234567:", "BEGIN", "----"} {
		if got := r.Growing(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestLogIsMasked(t *testing.T) {
	var r Redactor
	r.Add(canary)
	var b bytes.Buffer
	log := slog.New(NewHandler(slog.NewTextHandler(&b, nil), &r)).With("with", canary).WithGroup("g")
	log.Info("said "+canary, "err", errors.New("calling "+canary), slog.Group("in", "v", canary), "n", 7)
	if strings.Contains(b.String(), "canary") || strings.Count(b.String(), Mask) != 4 || !strings.Contains(b.String(), "n=7") {
		t.Error(b.String())
	}
}

func TestVault(t *testing.T) {
	db, home := store.OpenTest(t), t.TempDir()
	key, err := LoadKey(KeySource{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadKey(KeySource{Home: home})
	if err != nil || !bytes.Equal(key, again) {
		t.Fatalf("the key changed: %v", err)
	}
	v, err := OpenVault(db, key, &Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *store.Tx) error {
		return errors.Join(v.Set(tx, "api_mail", canary), v.Set(tx, "api_web", "other value"), v.Set(tx, "x", "third value"))
	}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(db.Path())
	if err != nil || bytes.Contains(raw, []byte("canary")) {
		t.Errorf("the value lies in the file in clear (%v)", err)
	}
	var redactor Redactor
	v, err = OpenVault(db, key, &redactor)
	if err != nil {
		t.Fatal(err)
	}
	if value, ok := v.Value("api_mail"); !ok || value != canary || redactor.Redact(canary) != Mask {
		t.Errorf("after opening anew: %q, %v", value, ok)
	}
	if err := db.View(func(tx *store.Tx) error {
		names, err := v.Names(tx, "api_*")
		if diff := cmp.Diff([]string{"api_mail", "api_web"}, names); diff != "" {
			t.Error(diff)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestVaultFindsTampering swaps and damages records.
func TestVaultFindsTampering(t *testing.T) {
	for name, tamper := range map[string]func(tx *store.Tx) error{
		"swapped": func(tx *store.Tx) error {
			s, _, err := table.Get(tx, "a")
			return errors.Join(err, table.Put(tx, "b", s))
		},
		"bit flipped": func(tx *store.Tx) error {
			s, _, err := table.Get(tx, "a")
			s.Box[len(s.Box)-1] ^= 1
			return errors.Join(err, table.Put(tx, "a", s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, key := store.OpenTest(t), bytes.Repeat([]byte{7}, keySize)
			v, err := OpenVault(db, key, &Redactor{})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *store.Tx) error {
				return errors.Join(v.Set(tx, "a", "first value"), v.Set(tx, "b", "second value"), tamper(tx))
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenVault(db, key, &Redactor{}); err == nil {
				t.Error("it opens")
			}
			if _, err := OpenVault(store.OpenTest(t), key, &Redactor{}); err != nil {
				t.Errorf("an empty one does not: %v", err)
			}
		})
	}
}

func TestKeyFileIsChecked(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, keyFile)
	if words, err := CheckKey(KeySource{Home: home}); err != nil || !strings.Contains(words, "none yet") {
		t.Errorf("without a key it is said that %s, %v", words, err)
	}
	if _, err := LoadKey(KeySource{Home: home}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(KeySource{Home: home}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("short"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(KeySource{Home: home}); err == nil || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("a short key: %v", err)
	}
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, credentialName), bytes.Repeat([]byte{9}, keySize), 0o400); err != nil {
		t.Fatal(err)
	}
	if key, err := LoadKey(KeySource{Home: home, Credentials: credentials}); err != nil || key[0] != 9 {
		t.Errorf("a key from systemd: %v, %v", key, err)
	}
}

func TestSecretsAreBounded(t *testing.T) {
	db := store.OpenTest(t)
	v, err := OpenVault(db, bytes.Repeat([]byte{7}, keySize), &Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"": "v", "no space": "v", "../x": "v", "ok": "", "big": strings.Repeat("x", maxValue+1)} {
		if err := db.Update(func(tx *store.Tx) error { return v.Set(tx, name, value) }); err == nil {
			t.Errorf("%q = %d bytes is taken", name, len(value))
		}
	}
}

// TestAKeyCanBeLocked: with a passphrase the key file alone opens nothing, and what was stored before stays readable.
func TestAKeyCanBeLocked(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, keyFile)
	open, err := LoadKey(KeySource{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	const passphrase = "correct horse battery"
	locked, err := LoadKey(KeySource{Home: home, Passphrase: passphrase, cost: leastCost})
	if err != nil || !bytes.Equal(open, locked) {
		t.Fatalf("locking changed the key: %v", err)
	}
	file, err := os.ReadFile(path)
	if err != nil || bytes.Contains(file, open) || bytes.Contains(file, []byte(passphrase)) {
		t.Errorf("the locked file shows the key or the passphrase (%v)", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if again, err := LoadKey(KeySource{Home: home, Passphrase: passphrase, cost: leastCost}); err != nil || !bytes.Equal(open, again) {
		t.Errorf("unlocking: %v", err)
	}
	if words, err := CheckKey(KeySource{Home: home, Passphrase: passphrase}); err != nil || !strings.Contains(words, "locked") {
		t.Errorf("it is said that %s, %v", words, err)
	}
	for given, want := range map[string]error{"": errLocked, "wrong horse battery": errWrong} {
		if _, err := LoadKey(KeySource{Home: home, Passphrase: given}); !errors.Is(err, want) {
			t.Errorf("with passphrase %q: %v", given, err)
		}
	}
	turned := func(at int) []byte {
		turned := bytes.Clone(file)
		turned[at] ^= 1
		return turned
	}
	for name, damaged := range map[string][]byte{
		"no salt": []byte(lockedHead), "cut": file[:len(file)-1], "a bit of the salt": turned(len(lockedHead) + 1), "a bit of the key": turned(len(file) - 1),
		"another cost": turned(len(lockedHead)), "no cost": append([]byte(lockedHead), make([]byte, 80)...), "all memory": append([]byte(lockedHead), bytes.Repeat([]byte{40}, 80)...),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(KeySource{Home: home, Passphrase: passphrase, cost: leastCost}); !errors.Is(err, errWrong) && !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, damaged) {
			t.Errorf("%s: a key that could not be opened was written over: %v", name, err)
		}
	}
	if first, err := LoadKey(KeySource{Home: t.TempDir(), Passphrase: passphrase, cost: leastCost}); err != nil || len(first) != keySize {
		t.Errorf("a first start with a passphrase: %v", err)
	}
}
