package shell

import (
	"cmp"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
)

const fallbackPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// searchPath is where programs are looked for: what nod itself was started with.
func searchPath() string { return cmp.Or(os.Getenv("PATH"), fallbackPath) }

// environment is all that a command sees of nod's environment: a list of what is let in, because a
// list of what is kept out would miss the next token. HOME is the home of the user that nod runs as,
// so that git, ssh and tool chains find their settings.
func environment(extra []string) [][]byte {
	env := map[string]string{
		"PATH": searchPath(),
		"HOME": os.Getenv("HOME"),
		"USER": cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME")),
		"LANG": cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
		"TERM": "dumb", // keeps programs from colours, pagers and cursor movement
	}
	if tz := os.Getenv("TZ"); tz != "" {
		env["TZ"] = tz
	}
	if env["HOME"] == "" || env["USER"] == "" {
		if u, err := user.Current(); err == nil {
			env["HOME"] = cmp.Or(env["HOME"], u.HomeDir)
			env["USER"] = cmp.Or(env["USER"], u.Username)
		}
	}
	for _, v := range extra {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	list := make([][]byte, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if env[name] != "" || slices.Contains(extra, name+"=") {
			list = append(list, []byte(name+"="+env[name]))
		}
	}
	return list
}
