package hosts

import (
	"context"
	"errors"
	"fmt"
)

// ByPath finds the host and transcript of a file, wherever it lies.
func (f *Feed) ByPath(ctx context.Context, path string) (Transcript, error) {
	for _, h := range f.hosts {
		if t, err := one(ctx, h, path, ""); !errors.Is(err, ErrNoTranscript) {
			return t, err
		}
	}
	return Transcript{}, fmt.Errorf("%w: path %q", ErrNoTranscript, path)
}
