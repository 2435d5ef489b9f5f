package main

import (
	"errors"
	"testing"

	"nod/tools/shell"
)

// TestCheckSandboxByModeAndStrength: what is missing is said with what it takes, and is a problem only where nothing runs
// without it. What this machine has is in the script check.
func TestCheckSandboxByModeAndStrength(t *testing.T) {
	const takes = "; a full one takes Linux with Landlock and namespaces that nod may make (user.max_user_namespaces, AppArmor, the container's settings). " +
		"What failed: pid namespace with mounts: refused; subreaper with Landlock: not there"
	why := errors.New("pid namespace with mounts: refused\nsubreaper with Landlock: not there")
	for _, tt := range []struct {
		mode     shell.Mode
		strength shell.Strength
		why      error
		grade    string
		text     string
	}{
		{shell.Auto, shell.Full, nil, ok, "full"},
		{shell.Auto, shell.Partial, why, warning, "partial" + takes},
		{shell.Auto, shell.None, why, warning, "none" + takes},
		{shell.Required, shell.Full, nil, ok, "full"},
		{shell.Required, shell.Partial, why, problem, "partial, so that no command runs (sandbox: required)" + takes},
		{shell.Required, shell.None, why, problem, "none, so that no command runs (sandbox: required)" + takes},
		{shell.Off, shell.None, nil, warning, "none (turned off)"},
	} {
		if got, want := gradeSandbox(tt.mode, tt.strength, tt.why), (finding{"sandbox", tt.grade, tt.text}); got != want {
			t.Errorf("%s, %v: %+v\nwant %+v", tt.mode, tt.strength, got, want)
		}
	}
}
