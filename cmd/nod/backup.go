package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"nod/store"
)

// backupCommand copies the database while the bot runs, for an age recipient where one is named.
func backupCommand(ctx context.Context, args []string, std stdio) error {
	var recipient string
	file, err := oneFile("backup", args, "encrypt", &recipient)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(std.env, false)
	if err != nil {
		return err
	}
	target, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("finding %s: %w", file, err)
	}
	seal, err := sealFor(recipient)
	if err != nil {
		return err
	}
	err = fetchBackup(ctx, cfg.Home, target, seal)
	if errors.Is(err, errNotRunning) {
		_, err = withExisting(cfg.Home, func(db *store.DB) (string, error) {
			return "", store.WriteNew(target, func(w io.Writer) error {
				return seal(w, func(w io.Writer) error {
					_, err := db.WriteTo(w)
					return err
				})
			})
		})
	}
	if err == nil {
		err = store.NoteBackup(filepath.Join(cfg.Home, databaseName), target)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "The database was copied to %s.\n", target)
	return err
}

// oneFile reads the arguments of a command that takes one file and one option with a value.
func oneFile(command string, args []string, option string, value *string) (file string, err error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(value, option, "", "")
	if err := flags.Parse(args); err != nil {
		return "", &usageError{fmt.Sprintf("nod %s: %v", command, err)}
	}
	if n := flags.NArg(); n != 1 {
		text := fmt.Sprintf("nod %s takes one file, not %d", command, n)
		if slices.ContainsFunc(flags.Args(), func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
			text += "; an option stands before it"
		}
		return "", &usageError{text}
	}
	return flags.Arg(0), nil
}

// sealing writes what write writes, encrypted or as it is.
type sealing func(w io.Writer, write func(io.Writer) error) error

// sealFor encrypts for an age recipient (age1…); "" leaves everything as it is.
func sealFor(recipient string) (sealing, error) {
	if recipient == "" {
		return func(w io.Writer, write func(io.Writer) error) error { return write(w) }, nil
	}
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("--encrypt takes a public key that begins with age1, as age-keygen prints it: %v", err)}
	}
	return func(w io.Writer, write func(io.Writer) error) error {
		sealed, err := age.Encrypt(w, to)
		if err != nil {
			return fmt.Errorf("encrypting: %w", err)
		}
		return errors.Join(write(sealed), sealed.Close())
	}, nil
}

// restoreCommand puts a backup in place of the database. An encrypted one needs the file of its identity.
func restoreCommand(_ context.Context, args []string, std stdio) error {
	var identity string
	file, err := oneFile("restore", args, "identity", &identity)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(std.env, false)
	if err != nil {
		return err
	}
	if identity != "" {
		plain, err := decrypt(file, identity, cfg.Home)
		if err != nil {
			return err
		}
		defer os.Remove(plain)
		file = plain
	} else if encrypted(file) {
		return fmt.Errorf("%s is encrypted; give the file with the key to it: nod restore --identity KEYFILE %s", file, file)
	}
	kept, err := store.Restore(filepath.Join(cfg.Home, databaseName), file)
	if err != nil {
		return err
	}
	if kept != "" {
		kept = " What stood there before is now " + kept + "."
	}
	_, err = fmt.Fprintf(std.out, "The backup is in place.%s Start nod again.\n", kept)
	return err
}

// encrypted says whether a file begins as age writes it.
func encrypted(file string) bool {
	const head = "age-encryption.org/"
	f, err := os.Open(file)
	if err != nil {
		return false // reading all of it says why
	}
	defer f.Close()
	begins := make([]byte, len(head))
	_, err = io.ReadFull(f, begins)
	return err == nil && string(begins) == head
}

// decrypt opens an encrypted backup into a file of the home, which only its owner reads. The caller removes it.
func decrypt(file, identity, home string) (plain string, err error) {
	keys, err := os.Open(identity)
	if err != nil {
		return "", fmt.Errorf("reading the identity: %w", err)
	}
	defer keys.Close()
	identities, err := age.ParseIdentities(keys)
	if err != nil {
		return "", fmt.Errorf("reading the identity %s: it must be a file that age-keygen wrote", identity)
	}
	sealed, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("reading the backup: %w", err)
	}
	defer sealed.Close()
	opened, err := age.Decrypt(sealed, identities...)
	if err != nil && !encrypted(file) {
		return "", fmt.Errorf("%s is not encrypted; restore it without --identity", file)
	}
	if err != nil {
		return "", fmt.Errorf("decrypting the backup %s: %w", file, err)
	}
	if err := store.MakeFolder(home); err != nil {
		return "", fmt.Errorf("making NOD_HOME: %w", err)
	}
	out, err := os.CreateTemp(home, ".decrypted-*")
	if err != nil {
		return "", fmt.Errorf("decrypting the backup: %w", err)
	}
	_, err = io.Copy(out, opened)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("decrypting the backup: %w", err), os.Remove(out.Name()))
	}
	return out.Name(), nil
}
