package shell

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// credentials are the files and folders of a home in which programs keep keys, tokens and passwords.
var credentials = []string{
	".ssh", ".gnupg", ".config", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
	".cargo/credentials.toml", ".password-store", ".local/share/keyrings", ".mozilla",
}

// homes are those of nod's user: the one that the environment names and the one that the system knows.
var homes = sync.OnceValue(func() []string {
	all := []string{os.Getenv("HOME")}
	if u, err := user.Current(); err == nil {
		all = append(all, u.HomeDir)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(home string) bool { return !filepath.IsAbs(home) })
})

// personal lists what of its user's a command must not reach. A workspace that was put into one of those
// places is reached all the same.
func personal(workspace string) []string {
	var paths []string
	for _, home := range homes() {
		for _, name := range credentials {
			path := filepath.Join(home, name)
			if !strings.HasPrefix(workspace+"/", path+"/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
