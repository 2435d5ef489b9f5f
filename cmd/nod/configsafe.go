package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"nod/agent/llm"
	"nod/tools/secrets"
)

// defaultKeepDays is for how long records are kept of what is over.
const defaultKeepDays = 90

// passphraseCredential is the passphrase's name for systemd's LoadCredential=.
const passphraseCredential = "nod-passphrase"

// passphrase reads what the key of the secrets is locked with. It is always somewhere else: beside the lock it would be
// of no use.
func (l *loader) passphrase(value, credentials string) llm.Secret {
	key := "passphrase"
	switch path := l.env("NOD_PASSPHRASE_FILE"); {
	case path != "":
		key, value = "NOD_PASSPHRASE_FILE", "file:"+path
	case value == "" && credentials != "":
		path := filepath.Join(credentials, passphraseCredential)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		value = "file:" + path
	case value == "":
		return ""
	}
	given := l.secret(key, value)
	switch _, stored := secrets.Reference(value); {
	case stored || string(given) == value:
		l.problem(key, "it must be given as file:/path or as ${NAME} of a variable")
	case len(given) < secrets.MinPassphrase && !l.has(key):
		l.problem(key, "it is shorter than %d characters", secrets.MinPassphrase)
	}
	return given
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are variables that commands are given by nod itself, or that change what a program does before it begins.
var reserved = []string{
	"PATH", "HOME", "USER", "SHELL", "TERM", "LANG", "TMPDIR", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
}

// commandVariable is the value of a variable for commands.
type commandVariable struct {
	Value llm.Secret
	Plain bool // it stands in nod.yaml as it is, and is no secret
}

// commandEnv checks the variables for commands.
func (l *loader) commandEnv(given map[string]string) map[string]commandVariable {
	if len(given) == 0 {
		return nil
	}
	all := map[string]commandVariable{}
	for name, value := range given {
		key := "command_env." + name
		if !variableName.MatchString(name) || slices.Contains(reserved, name) {
			l.problem(key, "it can't be the name of a variable for commands")
			continue
		}
		v := commandVariable{Value: l.secret(key, value)}
		_, stored := secrets.Reference(value)
		v.Plain = !stored && string(v.Value) == strings.TrimSpace(value)
		if v.Value == "" && !l.has(key) {
			l.problem(key, "it is empty")
		}
		all[name] = v
	}
	return all
}

func (l *loader) keepDays(given *int) int {
	switch {
	case given == nil:
		return defaultKeepDays
	case *given < 0 || *given > 36_500:
		l.problem("keep_days", "%d is not between 0 (for ever) and 36500", *given)
	}
	return *given
}
