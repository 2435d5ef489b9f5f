package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nod/tools"
	"nod/tools/tooltest"
)

// asPerson, set in the environment, has TestSE9_CredentialsOfTheHomeAreClosed run as a child whose HOME is the folder that
// the variable names: what lies where is found out once for a process.
const asPerson = "NOD_SHELL_TEST_AS_PERSON"

// keptAt is where programs keep what lets them in: folders, which get a file, and files.
var keptAt = []string{
	".ssh/id_ed25519", ".gnupg/secring.gpg", ".config/gh/hosts.yml", ".aws/credentials", ".azure/accessTokens.json", ".kube/config",
	".docker/config.json", ".netrc", ".git-credentials", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".password-store/mail.gpg",
	".local/share/keyrings/login.keyring", ".mozilla/firefox/logins.json",
}

// TestSE9_CredentialsOfTheHomeAreClosed: what the person's own programs keep in the home can't be read by a command in the
// sandbox, in any that this machine has. Other files of the home can, and with access=host all.
func TestSE9_CredentialsOfTheHomeAreClosed(t *testing.T) {
	home := os.Getenv(asPerson)
	if home == "" {
		asOtherPerson(t)
		return
	}
	for _, name := range credentials {
		if !slices.ContainsFunc(keptAt, func(path string) bool { return path == name || strings.HasPrefix(path, name+"/") }) {
			t.Errorf("%s is closed, and this test does not know it", name)
		}
	}
	var all []string
	for _, name := range append(keptAt, "notes.txt") {
		tooltest.WriteFile(t, filepath.Join(home, name), canary+" "+name)
		all = append(all, filepath.Join(home, name))
	}
	command := "cat '" + strings.Join(all, "' '") + "' | tr '\\n' ' '"
	for i, iso := range sandboxLadder() {
		t.Run(iso.String(), func(t *testing.T) {
			if err := probe(iso); err != nil {
				t.Skipf("NOT TESTED, this machine has no %v: %v", iso, err)
			}
			r := rigWith(t, forcedTo(Auto, iso))
			got := call(r, object{"command": command})
			if want := canary + " notes.txt"; got.State != tools.Completed || strings.Count(got.Text, canary) != 1 || !strings.Contains(got.Text, want) {
				t.Errorf("in the sandbox: %+v", got)
			}
			if i > 0 {
				return
			}
			got = call(r, object{"command": command, "access": accessHost})
			for _, name := range keptAt {
				if !strings.Contains(got.Text, canary+" "+name) {
					t.Errorf("on the host %s is not to be read: %+v", name, got)
				}
			}
		})
	}
}

func asOtherPerson(t *testing.T) {
	t.Helper()
	home := lasting(t)
	child := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^TestSE9_CredentialsOfTheHomeAreClosed$")
	child.Env = append(os.Environ(), asPerson+"="+home, "HOME="+home, atOnce)
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nPASS") {
		t.Errorf("with another home: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "NOT TESTED") {
		t.Logf("with another home something was skipped:\n%s", out)
	}
}
