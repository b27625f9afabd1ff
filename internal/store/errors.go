package store

import "fmt"

// Missing reports that nothing has the given id.
func Missing(id string) error { return fmt.Errorf("%s: %w", id, ErrNotFound) }
