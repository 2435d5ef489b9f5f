package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"nod/approvals"
	"nod/tools"
)

// literalWords reads a line as one simple command of literal words: words that stand for themselves, whatever the folder,
// the environment and the shell. Anything else (lists, pipes, redirections, assignments, expansions, patterns, escapes,
// comments) is not ok. What this refuses only has to be asked about, so it takes no more than it must.
func literalWords(line string) (words []string, ok bool) {
	for i, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		read, ok := literalIn(line, dialect)
		if !ok || i > 0 && !slices.Equal(words, read) {
			return nil, false
		}
		words = read
	}
	return words, approvals.ProgramName.MatchString(words[0])
}

func literalIn(line string, dialect syntax.LangVariant) (words []string, ok bool) {
	file, err := syntax.NewParser(syntax.Variant(dialect), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return nil, false
	}
	end := 0 // of the words so far
	for _, word := range call.Args {
		at := int(word.Pos().Offset())
		if strings.Trim(line[end:at], " ") != "" {
			return nil, false
		}
		end = int(word.End().Offset())
		text, ok := literal(word, line[at:end])
		if !ok {
			return nil, false
		}
		words = append(words, text)
	}
	return words, strings.Trim(line[end:], " ") == "" // between and after the words are blanks and nothing else
}

// literal is the text of a word, whose source is given too: plain characters and quotes of either kind, in which nothing is
// expanded.
func literal(word *syntax.Word, source string) (text string, ok bool) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsFunc(part.Value, notPlain) {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar || len(part.Parts) > 1 {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit || strings.ContainsAny(lit.Value, "\\$`") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	// A parser drops some characters, such as a joined line's end and a carriage return: then the text is not all there is.
	kept := strings.NewReplacer("'", "", `"`, "")
	return b.String(), kept.Replace(b.String()) == kept.Replace(source)
}

// notPlain says whether a character may mean something to a shell where it stands without quotes.
func notPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./,:=@%+", r)
}

// program is the command as one program, for the rules; nil where it takes a shell, or the program is not to be found.
func (r *Runner) program(scope tools.Scope, in executeArgs, dir string) *approvals.Program {
	words, ok := literalWords(in.Command)
	if !ok || in.Access == accessHost {
		return nil
	}
	if _, err := r.find(words[0], scope.Workspace.Dir()); err != nil {
		return nil
	}
	p := &approvals.Program{Words: words}
	for _, word := range words[1:] {
		if insideOperand(scope.Workspace, dir, word) {
			p.Operands = append(p.Operands, word)
		}
	}
	scripts, _ := scriptFacts(in.Command, dir)
	p.Scripts = scripts
	return p
}

// insideOperand says whether a word is a plain path in the workspace that no tool is kept from.
func insideOperand(w *tools.Workspace, dir, word string) bool {
	plain := func(r rune) bool { return notPlain(r) || strings.ContainsRune(",:=@%+", r) }
	if word == "" || word[0] == '-' || strings.ContainsFunc(word, plain) {
		return false
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	place, err := w.Resolve(path, tools.ForReading)
	return err == nil && place.Inside && !place.Private && !place.Denied
}

var errNoProgram = errors.New("there is no such program in nod's PATH")

// find is the path of a program that a rule lets run: the first of that name in the PATH that nod was started with, in a
// folder that no command can write to.
func (r *Runner) find(name, workspace string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath()) {
		if !filepath.IsAbs(dir) {
			continue // would depend on the working folder
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		// The first one is what the name means: where that can be written to, no other is taken for it.
		if r.writable(path, workspace) {
			return "", errNoProgram
		}
		return path, nil
	}
	return "", errNoProgram
}

// writable says whether a command could have written the file: it, or what its links lead to, lies in a writable folder.
func (r *Runner) writable(path, workspace string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	for _, folder := range append([]string{workspace}, r.Writable...) {
		for _, p := range []string{path, real} {
			if strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/") {
				return true
			}
		}
	}
	return false
}
