package secrets

import "strings"

// Reference is the name of the stored secret that a value of the form ${secret:NAME} stands for.
func Reference(value string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(value, "${secret:")
	name, closed := strings.CutSuffix(rest, "}")
	return name, ok && closed && CheckName(name) == nil
}
