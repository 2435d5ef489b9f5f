package bot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// customCommand is a file of the owner's: NOD_HOME/commands/<name>/COMMAND.md. It is read each time it is used.
type customCommand struct {
	name        string
	description string
	body        string
}

const (
	commandsDir = "commands"
	commandFile = "COMMAND.md"
	// maxCommand bounds the file, in bytes.
	maxCommand = 64 << 10
	// maxDescription is what Telegram's menu takes, in characters.
	maxDescription = 256
)

// commandForm is what Telegram takes as a command's name.
var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// listCustom reads the custom commands for the menu. A name that Telegram would refuse is left out with a warning.
func listCustom(home string) (found []customCommand, warnings []error) {
	entries, err := os.ReadDir(filepath.Join(home, commandsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("reading the custom commands: %w", err)}
	}
	for _, e := range entries {
		c, ok, err := readCustom(home, e.Name())
		switch {
		case err != nil:
			warnings = append(warnings, err)
		case !ok && !commandForm.MatchString(e.Name()):
			warnings = append(warnings, fmt.Errorf("a command's name has up to 32 of a-z, 0-9 and _, and %q does not", e.Name()))
		case ok && !builtIn(c.name):
			found = append(found, c)
		}
	}
	return found, warnings
}

func builtIn(name string) bool {
	for _, c := range commands {
		if c.name == name {
			return true
		}
	}
	return false
}

// readCustom reads one custom command; ok is false when there is none of this name.
func readCustom(home, name string) (c customCommand, ok bool, err error) {
	if !commandForm.MatchString(name) {
		return c, false, nil
	}
	raw, err := readAtMost(filepath.Join(home, commandsDir, name, commandFile), maxCommand)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("reading the command %s: %w", name, err)
	}
	c = customCommand{name: name, description: "a command of yours", body: string(raw)}
	if head, body, ok := frontMatter(raw); ok {
		var meta struct {
			Description string `yaml:"description"`
		}
		if err := yaml.Unmarshal(head, &meta); err != nil {
			return c, false, fmt.Errorf("reading the front matter of the command %s: %s", name, yaml.FormatError(err, false, false))
		}
		c.body = string(body)
		if d := strings.Join(strings.Fields(meta.Description), " "); d != "" {
			c.description = string([]rune(d)[:min(len([]rune(d)), maxDescription)])
		}
	}
	c.body = strings.TrimSpace(c.body)
	if c.body == "" {
		return c, false, fmt.Errorf("the command /%s has no text: write what it should ask for below its front matter", name)
	}
	return c, true, nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return raw, err
}

// frontMatter parts a file that begins with a block between two lines of three dashes.
func frontMatter(raw []byte) (head, body []byte, ok bool) {
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(raw, []byte("---\n"))
	if !ok {
		return nil, raw, false
	}
	return bytes.Cut(rest, []byte("\n---\n"))
}

// fill puts the arguments in place of {{args}}, or after the text.
func (c customCommand) fill(args string) string {
	if strings.Contains(c.body, "{{args}}") {
		return strings.ReplaceAll(c.body, "{{args}}", args)
	}
	if args == "" {
		return c.body
	}
	return c.body + "\n\n" + args
}
