package plugins

import (
	"errors"
	"fmt"
	"strings"
)

// Words splits a command line into the words that a program is given, as a shell would: at blanks, with quotes of either
// kind around what belongs together. Nothing is expanded, and what a shell would do more with is refused, so that nobody
// takes the line for a script.
func Words(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for rest := line; rest != ""; {
		switch c := rest[0]; {
		case c == ' ' || c == '\t':
			end()
			rest = rest[1:]
		case c == '\'' || c == '"':
			quoted, after, err := quotedPart(rest)
			if err != nil {
				return nil, err
			}
			word.WriteString(quoted)
			inWord, rest = true, after
		case strings.IndexByte("|&;<>()$`\\*?[]#~!\n\r", c) >= 0:
			return nil, fmt.Errorf("%q has no meaning here, since no shell reads the command; put it in quotes, or run sh -c '…' sh {in}", string(c))
		default:
			word.WriteByte(c)
			inWord, rest = true, rest[1:]
		}
	}
	end()
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("there is no program to run")
	}
	return words, nil
}

// quotedPart reads what begins with a quote. Between double quotes, a backslash keeps a quote or another backslash.
func quotedPart(s string) (text, rest string, err error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String(), s[i+1:], nil
		case quote == '"' && (c == '$' || c == '`'):
			return "", "", fmt.Errorf("%q is not expanded here; use single quotes where it is meant as it stands", string(c))
		case quote == '"' && c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("a quote is not closed")
}
