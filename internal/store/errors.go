package store

import "fmt"

// Problem is an error with a hint of what to do about it.
type Problem struct {
	Err  error
	Hint string
}

// Error returns what went wrong and, after a semicolon, what to do about it.
func (p *Problem) Error() string { return fmt.Sprintf("%v; %s", p.Err, p.Hint) }

// Unwrap returns the error without its hint.
func (p *Problem) Unwrap() error { return p.Err }

// Missing reports that nothing has the given id.
func Missing(id string) error { return fmt.Errorf("%s: %w", id, ErrNotFound) }
