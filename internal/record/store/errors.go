package store

import (
	"fmt"
	"iter"
)

// Missing reports that nothing has the given id.
func Missing(id string) error { return fmt.Errorf("%s: %w", id, ErrNotFound) }

// First returns the first value of a sequence, such as the messages with one id. It
// fails with ErrNotFound if there is none.
func First[T any](all iter.Seq2[T, error]) (T, error) {
	for v, err := range all {
		return v, err
	}
	return *new(T), ErrNotFound
}
