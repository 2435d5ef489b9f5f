package outline

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// language is a kind of file that has an outline. The words are those that grammars are filed under.
type language string

const (
	golang     language = "go"
	jsonText   language = "json"
	python     language = "python"
	javascript language = "javascript"
	typescript language = "typescript"
	tsx        language = "tsx"
	java       language = "java"
	c          language = "c"
	cpp        language = "cpp"
	swift      language = "swift"
	kotlin     language = "kotlin"
	rust       language = "rust"
	lua        language = "lua"
	ruby       language = "ruby"
	shell      language = "shell"
	elixir     language = "elixir"
	yaml       language = "yaml"
	toml       language = "toml"
	html       language = "html"
	css        language = "css"
	markdown   language = "markdown"
	sql        language = "sql"
)

var byEnding = map[string]language{
	".py": python, ".js": javascript, ".mjs": javascript, ".ts": typescript, ".tsx": tsx, ".go": golang, ".java": java, ".c": c, ".h": c,
	".cpp": cpp, ".cc": cpp, ".hpp": cpp, ".swift": swift, ".lua": lua, ".rb": ruby, ".sh": shell, ".ex": elixir, ".exs": elixir,
	".json": jsonText, ".yaml": yaml, ".yml": yaml, ".html": html, ".css": css, ".rs": rust, ".kt": kotlin, ".toml": toml, ".md": markdown,
	".sql": sql,
}

// endings are those that are known, in order.
func endings() []string { return slices.Sorted(maps.Keys(byEnding)) }

func languageOf(path string) (language, bool) {
	lang, known := byEnding[strings.ToLower(filepath.Ext(path))]
	return lang, known
}

// cppOnly is how lines begin that only C++ has.
var cppOnly = formOf(`(?m)^\s*(?:class\s+\w+[^;]*$|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)`)

// outline finds the definitions in a file.
func outline(name string, content []byte) (found, error) {
	lang, known := languageOf(name)
	if !known {
		return found{}, checkEnding(name)
	}
	if lang == c && strings.EqualFold(filepath.Ext(name), ".h") && cppOnly.Match(content) {
		lang = cpp
	}
	switch lang {
	case golang:
		return outlineGo(name, content)
	case jsonText:
		return outlineJSON(content), nil
	}
	if f, ok, err := parse(lang, content); ok {
		return f, err
	}
	return scan(lang, string(content)), nil
}

// scan finds definitions without a parser.
func scan(lang language, src string) found {
	f := found{Note: "found without a parser"}
	switch lang {
	case markdown:
		scanMarkdown(&f, src)
	case yaml:
		scanYAML(&f, src)
	case html:
		scanHTML(&f, src)
	case css:
		scanCSS(&f, src)
	default:
		scanLines(&f, src, lang)
	}
	return f
}
