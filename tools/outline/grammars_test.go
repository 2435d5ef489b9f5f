package outline

import "testing"

// TestGrammarsAreThereWhereItIsSaid: `nod version` tells what a build has.
func TestGrammarsAreThereWhereItIsSaid(t *testing.T) {
	if _, parsed, err := parse(python, []byte("def f(): pass\n")); err != nil || parsed != Grammars {
		t.Errorf("Grammars is %t, but a grammar was found: %t, %v", Grammars, parsed, err)
	}
}
