package store

import (
	"fmt"
	"iter"
)

// Missing reports that nothing has the given id.
func Missing(id string) error { return fmt.Errorf("%s: %w", id, ErrNotFound) }

// Collect returns the values of a sequence, up to its first error.
func Collect[T any](all iter.Seq2[T, error]) (found []T, err error) {
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
}

// First returns the first value of a sequence, such as the messages with one id. It
// fails with ErrNotFound if there is none.
func First[T any](all iter.Seq2[T, error]) (T, error) {
	for v, err := range all {
		return v, err
	}
	return *new(T), ErrNotFound
}
