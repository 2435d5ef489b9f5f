//go:build outline && cgo

package outline

import (
	"errors"
	"strings"
	"testing"

	"nod/tools/confined"
)

// TestGrammarCrash: a file over which a grammar's code ends the process for real. Kotlin's scanner keeps no more than a
// kilobyte of open strings, and asserts it.
func TestGrammarCrash(t *testing.T) {
	pool := newPool()
	_, err := inChild(t.Context(), pool, "x.kt", []byte(strings.Repeat(`"${`, 20000)))
	broken, ok := errors.AsType[*confined.BrokenError](err)
	if !ok || !strings.Contains(err.Error(), "broke down") {
		t.Fatalf("got %v", err)
	}
	t.Log(broken.Detail)
	mustFind(t, pool, "x.kt", "fun main() {}\n", "fun main()")
}

// TestEveryGrammar: in this build every language but those with a parser of their own has a grammar.
func TestEveryGrammar(t *testing.T) {
	for ending, lang := range byEnding {
		_, has := grammars[lang]
		if want := lang != golang && lang != jsonText && lang != markdown; has != want {
			t.Errorf("%s has a grammar: %v", ending, has)
		}
	}
}

// TestWrappedModule: a file that is one call of a function has the definitions in that function.
func TestWrappedModule(t *testing.T) {
	mustFind(t, newPool(), "x.js", "(function (root) {\n  function first() {}\n  class A { b() {} }\n}(this));\n", "function first()")
	mustFind(t, newPool(), "y.js", "function outer() {}\nrun(function () {\n  function inner() {}\n});\n", "function outer()")
}
