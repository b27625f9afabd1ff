package summary

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/view/notes"
)

// ErrIncompressible says that the sources are so short that no summary is
// shorter than they are. They are best left as they stand.
var ErrIncompressible = errors.New("summary: the sources are too short to be summarised")

// MethodExtractive is the method that Extractive stores with its results.
const MethodExtractive = "extractive"

// Extractive summarises without a model: it writes the notes of each turn (package
// notes), in the words of the sources. How much of a turn it keeps depends on the depth
// of the summary alone, not on Request.Target: the same sources at the same depth give
// the same text.
//
// An Extractive holds no state and is safe for concurrent use.
type Extractive struct{}

// NewExtractive returns an extractive summariser.
func NewExtractive() *Extractive { return &Extractive{} }

var _ Summariser = (*Extractive)(nil)

// Summarise writes the notes of r.Sources as they are at r.Depth, or as they are at the
// first deeper one at which they cost at most three quarters of the sources: short turns are
// shortened earlier than long ones. Where none is that short, the shortest counts.
func (e *Extractive) Summarise(ctx context.Context, r Request) (Result, error) {
	c := counter(r)
	total := 0
	for _, s := range r.Sources {
		total += c.Count(s.Text)
	}
	lines := notes.Find(r.Sources)
	cues := cuesOf(r.Sources, lines)
	for depth := max(r.Depth, 0); ; depth++ {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("summarising %d sources: %w", len(r.Sources), err)
		}
		text := notes.Write(lines, depth)
		if 4*c.Count(text) <= 3*total || depth >= notes.Depths {
			if text += cues.footer(text); c.Count(text) < total {
				return Result{Text: text, Method: MethodExtractive}, nil
			}
		}
		if depth >= notes.Depths {
			return Result{}, fmt.Errorf("%w: %d tokens", ErrIncompressible, total)
		}
	}
}
