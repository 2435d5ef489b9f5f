package shell

import "strings"

// Words with which programs tell of what a sandbox refuses, in lower case.
var (
	deniedWords = []string{"read-only file system", "permission denied", "operation not permitted", "erofs", "eacces", "eperm"}
	// offlineWords are those of a command without the network.
	offlineWords = []string{
		"network is unreachable", "could not resolve", "couldn't resolve", "name resolution", "name or service not known",
		"couldn't connect", "connection refused", "no such host", "enetunreach", "eai_again",
	}
)

// hint says that the sandbox may be why a command failed, where its output looks like that. It is "" otherwise.
func (r *Runner) hint(s *Sandbox, res Result) string {
	strength, _ := r.Strength()
	if s == nil || strength == None || res.Exit == 0 && res.Signal == "" {
		return ""
	}
	output := strings.ToLower(res.Output)
	says := func(words []string) bool {
		for _, w := range words {
			if strings.Contains(output, w) {
				return true
			}
		}
		return false
	}
	reason := ""
	switch {
	case !s.Network && says(offlineWords):
		reason = "the sandbox may be why: it had no network, because no person approved this very command"
	case says(deniedWords):
		reason = "the sandbox may be why: only the workspace and temporary folders can be written, and keys and sockets not be reached"
	default:
		return ""
	}
	if r.Mode == Required {
		return reason
	}
	return reason + "; access=host asks the user to run it outside"
}
