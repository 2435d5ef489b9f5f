package shell

import (
	"slices"
	"strings"
)

// Variable is one that a person has declared for commands. It is given to those that may use the network: a person
// approved them, or a rule that says so.
type Variable struct {
	Name  string
	Value func() string // asked when a command starts; "" for none, which leaves the variable out
}

// given are the variables that have a value now, in the form of an environment.
func (r *Runner) given() (env []string) {
	for _, v := range r.Variables {
		if value := v.Value(); value != "" && !strings.ContainsRune(value, 0) {
			env = append(env, v.Name+"="+value)
		}
	}
	return env
}

// givenNote names the variables on the card, without their values.
func (r *Runner) givenNote() []string {
	var names []string
	for _, v := range r.given() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"🔑 is given " + strings.Join(names, ", ")}
}
