package teamsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/recall"
)

// limit bounds the answer to a request.
type limit struct {
	bytes int64
	time  time.Duration // from the request's last byte on
}

// limits are the bounds by path. An erasure rewrites the server's database, and a question
// may wait for a model.
var limits = map[string]limit{
	StatusPath:   {1 << 20, 2 * time.Minute},
	PushPath:     {1 << 20, 10 * time.Minute},
	ErasePath:    {1 << 20, time.Hour},
	VerifyPath:   {16 << 20, 10 * time.Minute},
	TurnPath:     {1 << 10, time.Minute},
	DonePath:     {1 << 10, time.Minute},
	GrepPath:     {16 << 20, 10 * time.Minute},
	DescribePath: {16 << 20, 10 * time.Minute},
	AskPath:      {16 << 20, 10 * time.Minute},
}

// errAnswer says that an answer cannot be right.
var errAnswer = errors.New("the server's answer is not about what it was asked")

// status asks for the rights of the token and the status of sources.
func (c Client) status(ctx context.Context, sources ...Source) (a StatusAnswer, err error) {
	if err := c.Post(ctx, StatusPath, StatusRequest{sources}, &a); err != nil {
		return a, err
	}
	if len(a.Statuses) != len(sources) {
		return a, fmt.Errorf("%w: it has the status of %d conversations of %d", errAnswer, len(a.Statuses), len(sources))
	}
	for _, s := range a.Statuses {
		if s.Through < 0 {
			return a, fmt.Errorf("%w: it has messages up to %d", errAnswer, s.Through)
		}
	}
	a.User = prose.Clip(a.User, 64)
	return a, nil
}

// push sends a batch.
func (c Client) push(ctx context.Context, b Batch) (r Receipt, err error) {
	if err := c.Post(ctx, PushPath, b, &r); err != nil {
		return r, err
	}
	sent := map[int64]bool{}
	for _, m := range b.Messages {
		sent[m.Seq] = true
	}
	for _, seq := range slices.Concat(r.Forgotten, r.Held) {
		if !sent[seq] {
			return r, fmt.Errorf("%w: message %d was not sent, or is refused twice", errAnswer, seq)
		}
		delete(sent, seq)
	}
	if r.Through != b.Through {
		return r, fmt.Errorf("%w: it has messages up to %d, and the batch ends with %d", errAnswer, r.Through, b.Through)
	}
	return r, nil
}

// erase asks for an erasure of up to most messages.
func (c Client) erase(ctx context.Context, q EraseRequest, most int64) (int64, error) {
	var a EraseAnswer
	err := c.Post(ctx, ErasePath, q, &a)
	if err == nil && (a.Messages < 0 || a.Messages > most) {
		err = fmt.Errorf("%w: it erased %d messages of %d", errAnswer, a.Messages, most)
	}
	return a.Messages, err
}

// compare asks for the digest of the messages of a source up to a number.
func (c Client) compare(ctx context.Context, q VerifyRequest, through int64) (a VerifyAnswer, err error) {
	if err := c.Post(ctx, VerifyPath, q, &a); err != nil {
		return a, err
	}
	seen := map[int64]bool{}
	for _, seq := range a.Erased {
		if seq < 1 || seq > through || seen[seq] {
			return a, fmt.Errorf("%w: message %d was not pushed, or is named twice", errAnswer, seq)
		}
		seen[seq] = true
	}
	return a, nil
}

// ValidMachine reports whether a text has the form of the id of a machine.
func ValidMachine(id string) bool { return machine().MatchString(id) }

var machine = lazyregexp.New(`^[0-9a-f]{16,64}$`)

// maxMatches is more than a server answers at a time.
const maxMatches = 1000

// word is the form of ids and cursors, which are shown as they are.
var word = lazyregexp.New(`^[A-Za-z0-9_.:=+/-]*$`)

// checkFound refuses an answer to a search that would not be shown as what it is.
func checkFound(a recall.GrepAnswer) error {
	if len(a.Matches) > maxMatches || a.Total < 0 {
		return fmt.Errorf("%w: it has %d matches of %d", errAnswer, len(a.Matches), a.Total)
	}
	words := []string{a.NextCursor}
	for _, m := range a.Matches {
		words = append(words, m.ID.String(), string(m.SummaryID), string(m.CoveredBy), string(m.Role), string(m.Kind))
		words = append(words, prose.Join(m.AlsoIn, "/", 0), prose.Join(m.FileIDs, "/", 0))
		if m.Context != nil {
			for _, n := range append(m.Context.Before, m.Context.After...) {
				words = append(words, string(n.Role))
			}
		}
	}
	for _, w := range words {
		if !word().MatchString(w) {
			return fmt.Errorf("%w: %q is no id", errAnswer, prose.Clip(w, 80))
		}
	}
	return nil
}
