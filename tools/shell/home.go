package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// homeName is the folder of the workspace that is HOME in the sandbox, where programs keep their settings and caches from
// one command to the next. The real home is there to be read, without what the sandbox hides.
const (
	homeName = ".home"
	tempName = "tmp" // in HOME, for temporary files where /tmp can't be had
)

// toolchains are variables by which programs find what is installed in the real home, and where it is by default.
var toolchains = map[string]string{"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup"}

// variables are what the environment has in the sandbox beside or instead of what it has without.
func (s *Sandbox) variables(w walls) []string {
	if s == nil {
		return nil
	}
	home := filepath.Join(s.Workspace, homeName)
	all := []string{"HOME=" + home}
	if !w.Mounts {
		all = append(all, "TMPDIR="+filepath.Join(home, tempName))
	}
	for name, folder := range toolchains {
		path := os.Getenv(name)
		if path == "" {
			path = filepath.Join(os.Getenv("HOME"), folder)
		}
		if _, err := os.Stat(path); err == nil {
			all = append(all, name+"="+path)
		}
	}
	return all
}

// makeHome makes HOME at its first use. Git then knows the person's name and settings, and the file tools and git pass
// the folder by. Whatever a command puts in its place, nothing is written outside of the workspace.
func makeHome(workspace string) error {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("making HOME for commands: %w", err)
	}
	defer root.Close()
	switch err := root.Mkdir(homeName, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("making HOME for commands: %w", err)
	}
	if err := root.Mkdir(filepath.Join(homeName, tempName), 0o700); err != nil {
		return fmt.Errorf("making HOME for commands: %w", err)
	}
	files := map[string]string{".gitignore": "*\n"}
	if home := os.Getenv("HOME"); ownFolder(home) { // git fails on a file that it may not read
		files[".gitconfig"] = fmt.Sprintf("[include]\n\tpath = %q\n", filepath.Join(home, ".gitconfig"))
	}
	for name, text := range files {
		if err := root.WriteFile(filepath.Join(homeName, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("making HOME for commands: %w", err)
		}
	}
	return nil
}

func ownFolder(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !filepath.IsAbs(path) {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
