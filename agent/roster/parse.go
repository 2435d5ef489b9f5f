package roster

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// matter is the front matter of an agent's file.
type matter struct {
	ID           string   `yaml:"id"`
	Name         string   `yaml:"name"`
	Description  string   `yaml:"description"`
	Kind         Kind     `yaml:"kind"`
	Instructions string   `yaml:"instructions"`
	Model        string   `yaml:"model"`
	Tools        []string `yaml:"tools"`
	Client       string   `yaml:"client"`
}

// parse reads an agent's file.
func parse(id, text string) (Agent, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, described := strings.CutPrefix(text, "---\n")
	if !described {
		if strings.TrimSpace(text) == "" {
			return Agent{}, errors.New("it is empty; write what the agent is told about itself")
		}
		return Agent{ID: id, Text: text}, nil
	}
	head, body, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		return Agent{}, errors.New("its front matter has no end: a line of three dashes")
	}
	var m matter
	if err := yaml.UnmarshalWithOptions([]byte(head), &m, yaml.Strict()); err != nil {
		return Agent{}, fmt.Errorf("its front matter: %s", yamlFault(err))
	}
	if err := m.check(id, body); err != nil {
		return Agent{}, err
	}
	return Agent{
		ID: id, Name: cmp.Or(oneLine(m.Name), id), Description: oneLine(m.Description), Kind: cmp.Or(m.Kind, Task),
		Instructions: strings.TrimSpace(m.Instructions), Model: m.Model, Tools: m.Tools, Client: oneLine(m.Client), Text: strings.TrimSpace(body) + "\n",
	}, nil
}

var patternForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-zA-Z0-9_-]{1,63}\*?|\*)$`)
})

func (m matter) check(id, body string) error {
	switch {
	case m.ID != "" && m.ID != id:
		return fmt.Errorf("it says the id %q, but its name says %q; make them the same", m.ID, id)
	case m.Kind != "" && m.Kind != Chat && m.Kind != Task && m.Kind != System:
		return fmt.Errorf("the kind %q is none of chat, task, system", m.Kind)
	case strings.TrimSpace(m.Description) == "":
		return errors.New("it has no description; say in a sentence what the agent is good for")
	case strings.TrimSpace(body) == "":
		return errors.New("it has no text below its front matter; write what the agent is told about itself")
	}
	for _, pattern := range m.Tools {
		if !patternForm().MatchString(pattern) {
			return fmt.Errorf("%q is neither a tool's name nor the beginning of one with a * at its end", pattern)
		}
	}
	return nil
}

// yamlFault is a fault with its line in the file, whose first is the dashes.
func yamlFault(err error) string {
	if fault, ok := errors.AsType[yaml.Error](err); ok && fault.GetToken() != nil {
		return fmt.Sprintf("line %d: %s", fault.GetToken().Position.Line, fault.GetMessage())
	}
	return err.Error()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
