package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nod/approvals"
)

// maxScript is the largest file that is hashed, in bytes; a larger one is told by its size and times.
const maxScript = 16 << 20

// Programs that run a file named among their arguments, without their version numbers, and words that another command
// follows.
var (
	interpreters = []string{
		"sh", "bash", "dash", "zsh", "ksh", "fish", "source", "python", "node", "deno", "bun", "ruby", "perl", "php", "lua",
		"Rscript", "tclsh", "pwsh", "osascript",
	}
	wrappers = []string{
		"env", "exec", "command", "nohup", "setsid", "time", "timeout", "nice", "ionice", "stdbuf", "sudo", "doas", "xargs",
		"if", "then", "else", "elif", "while", "until", "do", "!",
	}
)

// scripts lists the files that a command line runs by name, as in "./run.sh", "sh build.sh" and "python3 x.py": what
// a person who nods to the line takes for granted. What those files run in their turn, and names that the shell only
// computes, are not found.
func scripts(line string) []string {
	var files []string
	for _, command := range split(line) {
		for len(command) > 0 && precedes(command[0]) {
			command = command[1:]
		}
		if len(command) == 0 {
			continue
		}
		if program := command[0]; strings.Contains(program, "/") {
			files = append(files, program)
		}
		if interprets(command[0]) {
			files = append(files, operand(command[1:])...)
		}
	}
	return files
}

// precedes says whether a word stands before the program that it runs: an assignment, a wrapper, or its flag or time.
func precedes(word string) bool {
	return assigns(word) || slices.Contains(wrappers, filepath.Base(word)) || strings.HasPrefix(word, "-") ||
		word != "" && word[0] >= '0' && word[0] <= '9' && strings.Trim(word, "0123456789.smhd") == ""
}

// assigns says whether a word sets a variable, as in A=1.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// interprets says whether a program runs the file that it is given.
func interprets(program string) bool {
	return program == "." || slices.Contains(interpreters, strings.TrimRight(filepath.Base(program), "0123456789."))
}

// operand is the first word that is no flag, or the scripts of a line given with -c.
func operand(words []string) []string {
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c") && i+1 < len(words):
			return scripts(words[i+1])
		case word != "" && !strings.HasPrefix(word, "-"):
			return []string{word}
		}
	}
	return nil
}

// split cuts a line into simple commands of words, without quotes. It knows quotes, backslashes and operators; what
// the shell would expand stays as written, and a comment counts as words.
func split(line string) (commands [][]string) {
	var command []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	endWord := func() {
		if inWord {
			command = append(command, word.String())
			word.Reset()
			inWord = false
		}
	}
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			endWord()
		case strings.ContainsRune("\n;&|(){}`<>", r):
			endWord()
			commands = append(commands, command)
			command = nil
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	endWord()
	return append(commands, command)
}

// scriptFacts binds the scripts of a line to what is in them now. dir is where the line runs.
func scriptFacts(line, dir string) (facts []approvals.Fact, notes []string) {
	seen := map[string]bool{}
	for _, name := range scripts(line) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		value := fingerprint(path)
		facts = append(facts, approvals.Fact{Name: "script " + path, Value: value})
		if value != absent {
			notes = append(notes, fmt.Sprintf("runs %s as it is now (%.20s)", name, value))
		}
	}
	return facts, notes
}

const absent = "not there"

// fingerprint tells one content of a file from another, or says why there is none.
func fingerprint(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that a FIFO can't hold it up
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return absent
	case err != nil:
		return "not readable"
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "not a regular file"
	}
	if info.Size() > maxScript {
		return fmt.Sprintf("%d bytes, changed %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxScript)); err != nil {
		return "not readable"
	}
	return "SHA-256 " + hex.EncodeToString(h.Sum(nil))
}
