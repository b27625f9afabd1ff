package lookup

import (
	"errors"
	"sort"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

// lookup turns the absence of an id into advice.
func lookup(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return refuse("check the id, or find it with lcm_grep", "%s: %w", prose.Clip(id, 60), store.ErrNotFound)
	}
	return err
}

// harmless tells damage, which an answer marks, from errors, which end it.
func harmless(err error) (damaged bool, other error) {
	if errors.Is(err, store.ErrDamaged) {
		return true, nil
	}
	return false, err
}

// bytesPerToken is more than any tokenizer in use makes a token of, blanks
// aside.
const bytesPerToken = 32

// Fit returns how many bytes of a text cost at most so many tokens, in whole
// characters.
func Fit[T ~string | ~[]byte](count func(string) int, text T, tokens int) int {
	high := len(text)
	switch {
	case tokens >= high:
		return high
	case tokens <= 0:
		return 0
	case tokens < high/bytesPerToken:
		high = Boundary(text, tokens*bytesPerToken)
	}
	return Boundary(text, sort.Search(high, func(i int) bool { return count(string(text[:Boundary(text, i+1)])) > tokens }))
}

// Boundary moves a position back out of the inside of a character.
func Boundary[T ~string | ~[]byte](text T, at int) int {
	if at <= 0 || at >= len(text) {
		return max(0, min(at, len(text)))
	}
	for n := at; n >= 0 && n > at-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if _, size := utf8.DecodeRuneInString(string(text[n:min(n+utf8.UTFMax, len(text))])); n+size > at {
				return n
			}
			break
		}
	}
	return at
}
