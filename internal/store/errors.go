package store

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/hint"
)

// Problem is an error with a hint.
type Problem = hint.Error

// Missing reports that nothing has the given id.
func Missing(id string) error { return fmt.Errorf("%s: %w", id, ErrNotFound) }
