package ui

import (
	"strings"
	"testing"
)

// A long text is cut after so many characters, and the rest is counted in characters.
func TestCut(t *testing.T) {
	for _, c := range []struct{ characters, shown, left int }{
		{shownCharacters - 1, shownCharacters - 1, 0}, {shownCharacters, shownCharacters, 0}, {shownCharacters + 1, shownCharacters, 1}, {shownCharacters + 500, shownCharacters, 500},
	} {
		for _, letter := range []string{"x", "ö", "字"} {
			text, left := cut(strings.Repeat(letter, c.characters), false)
			if text != strings.Repeat(letter, c.shown) || left != c.left {
				t.Errorf("%d of %s: %d bytes and %d left", c.characters, letter, len(text), left)
			}
			if text, left := cut(strings.Repeat(letter, c.characters), true); len(text) != c.characters*len(letter) || left != 0 {
				t.Errorf("the whole of %d %s: %d bytes, %d left", c.characters, letter, len(text), left)
			}
		}
	}
}
