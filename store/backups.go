package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// backupSuffix names the file that says where the last backup was written to. It stands beside the database, since a
// backup is looked for when the database can't be read.
const backupSuffix = ".last-backup"

// NoteBackup remembers that the database at path was copied to target, an absolute path.
func NoteBackup(path, target string) error {
	if err := os.WriteFile(path+backupSuffix, []byte(target+"\n"), 0o600); err != nil {
		return fmt.Errorf("noting where the backup is: %w", err)
	}
	return nil
}

// LastBackup is the newest backup of the database at path that is known and still there, and when it was made: one that
// NoteBackup was told of, or one in the folder "backups" beside it. It is "" when there is none.
func LastBackup(path string) (file string, at time.Time) {
	// The only error of Glob is a bad pattern, which a folder's name can be: nothing is found then.
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), backupsDir, "*.db"))
	if noted, err := os.ReadFile(path + backupSuffix); err == nil {
		names = slices.Insert(names, 0, strings.TrimSpace(string(noted))) // of two equally old it is the one: times of files are coarse
	}
	names = slices.DeleteFunc(names, func(name string) bool { return modTime(name).IsZero() })
	if len(names) == 0 {
		return "", time.Time{}
	}
	file = slices.MaxFunc(names, func(a, b string) int { return modTime(a).Compare(modTime(b)) })
	return file, modTime(file)
}

func modTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}
	}
	return info.ModTime()
}
