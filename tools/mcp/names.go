package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	namePrefix = "mcp__"
	nameSplit  = "__"
	maxName    = 63 // of a tool, which all services of models take
	maxServer  = 32
	hashDigits = 8
)

var serverForm = regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

// reservedNames are groups of tools that are not a server's.
var reservedNames = []string{"config", "default"}

// CheckName refuses a name that no server can have. Since none holds two underscores in a row, a tool's name tells its
// server.
func CheckName(name string) error {
	switch {
	case len(name) > maxServer || !serverForm.MatchString(name):
		return fmt.Errorf("%q can't be a server's name: it takes up to %d letters and digits, with single _ or - between them", name, maxServer)
	case slices.Contains(reservedNames, strings.ToLower(name)):
		return fmt.Errorf("%q is the name of something else; choose another", name)
	}
	return nil
}

// toolName is the name under which a server's tool is offered: the same each time, whatever else the server has. What a
// name can't hold becomes an underscore, and what was changed or cut ends with a hash of the server's own name for it.
func toolName(server, tool string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, tool)
	name := namePrefix + server + nameSplit + clean
	if clean == tool && clean != "" && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	tail := "_" + hex.EncodeToString(sum[:])[:hashDigits]
	return name[:min(len(name), maxName-len(tail))] + tail
}

// unambiguous sorts definitions by the names they are offered under, and leaves out those of a name that is taken:
// which one stays does not depend on the server's order.
func unambiguous(server string, all []Definition) (kept []Definition, refused []string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(toolName(server, a.Name), toolName(server, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for _, d := range all {
		if n := len(kept); n > 0 && toolName(server, kept[n-1].Name) == toolName(server, d.Name) {
			refused = append(refused, d.Name)
			continue
		}
		kept = append(kept, d)
	}
	return kept, refused
}

// Owns says whether a tool's name is of a server's tool, or a pattern that begins like one.
func Owns(server, tool string) bool { return strings.HasPrefix(tool, namePrefix+server+nameSplit) }
