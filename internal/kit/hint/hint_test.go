package hint_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

func TestSplit(t *testing.T) {
	inner := hint.New("upgrade lcm", "the schema is newer")
	for _, c := range []struct {
		name          string
		err           error
		message, hint string
	}{
		{"no hint", errors.New("it failed"), "it failed", ""},
		{"empty hint", hint.New("", "it failed"), "it failed", ""},
		{"hint", inner, "the schema is newer", "upgrade lcm"},
		{"wrapped", fmt.Errorf("open: %w", inner), "open: the schema is newer", "upgrade lcm"},
		{"text after the hint", fmt.Errorf("open: %w (twice)", inner), "open: the schema is newer (twice)", "upgrade lcm"},
		{"hint in a hint", hint.New("use --db", "open: %w", inner), "open: the schema is newer", "use --db"},
		{"outer hint empty", hint.New("", "open: %w", inner), "open: the schema is newer", "upgrade lcm"},
		{"joined", errors.Join(inner, errors.New("and more")), "the schema is newer\nand more", "upgrade lcm"},
	} {
		if message, h := hint.Split(c.err); message != c.message || h != c.hint {
			t.Errorf("%s: got %q and %q, want %q and %q", c.name, message, h, c.message, c.hint)
		}
	}
}

func TestKind(t *testing.T) {
	kind, cause := errors.New("refused"), errors.New("cause")
	err := fmt.Errorf("ask: %w", &hint.Error{Err: cause, Hint: "ask again", Kind: kind})
	if !errors.Is(err, kind) || !errors.Is(err, cause) {
		t.Errorf("%v is neither of its kind nor of its cause", err)
	}
	if errors.Is(hint.New("", "other"), kind) {
		t.Error("an error without a kind is of that kind")
	}
	if want := "ask: cause; ask again"; err.Error() != want {
		t.Errorf("the text is %q, want %q", err, want)
	}
}
