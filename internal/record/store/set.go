package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Set sets a value as JSON, whatever its version is. If two processes set it at once, the
// last one wins.
func Set(ctx context.Context, s State, space, key string, value any, expires time.Time) error {
	data, err := json.Marshal(value)
	for try := 0; err == nil && try < 4; try++ {
		v, problem := s.Get(ctx, space, key) // the version of a missing value is 0
		if problem != nil && !errors.Is(problem, ErrNotFound) {
			return problem
		}
		if _, problem = s.Put(ctx, space, key, data, v.Version, expires); !errors.Is(problem, ErrConflict) {
			return problem
		}
	}
	if err == nil {
		err = fmt.Errorf("%s/%s: %w", space, key, ErrConflict)
	}
	return err
}
