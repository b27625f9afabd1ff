package lookup

import (
	"context"
	"errors"
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

// original returns the text of a message, and whether it is damaged; see
// [Original].
func (s *Service) original(ctx context.Context, m store.Message) (text []byte, damaged bool, err error) {
	said, err := Original(ctx, s.store, m)
	damaged, err = harmless(err)
	return []byte(said), damaged, err
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

// fit returns how many bytes of a text cost at most so many tokens: whole
// characters, and at least one.
func (s *Service) fit(text []byte, tokens int) int {
	high := len(text)
	if tokens >= high {
		return high
	}
	if tokens < high/bytesPerToken {
		high = boundary(text, tokens*bytesPerToken)
	}
	if s.cost(text[:high]) <= tokens {
		return high
	}
	low := 0 // fits
	for high-low > 1 {
		mid := low + (high-low)/2
		if s.cost(text[:boundary(text, mid)]) <= tokens {
			low = mid
		} else {
			high = mid
		}
	}
	if n := boundary(text, low); n > 0 {
		return n
	}
	_, size := utf8.DecodeRune(text)
	return size
}

func (s *Service) cost(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return s.counter.Count(string(text))
}

// boundary moves a position back out of the inside of a character.
func boundary(text []byte, at int) int {
	if at <= 0 || at >= len(text) {
		return max(0, min(at, len(text)))
	}
	for n := at; n >= 0 && n > at-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if _, size := utf8.DecodeRune(text[n:]); n+size > at {
				return n
			}
			break
		}
	}
	return at
}
