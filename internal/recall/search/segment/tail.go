package segment

import (
	"context"
	"slices"
)

// Tail indexes in memory the documents that no stored segment holds yet, so
// that a search covers them by the same code. It grows by small segments which
// it merges as they add up: adding one document and searching stays cheap
// however long the tail is. It is not safe for concurrent use; the segments it
// returns are.
type Tail struct {
	opts     Options
	segments []*Segment
}

// NewTail returns an empty tail.
func NewTail(opts Options) *Tail { return &Tail{opts: opts} }

// Add indexes documents with ids above all that were added before.
func (t *Tail) Add(ctx context.Context, docs ...Doc) error {
	if len(docs) == 0 {
		return nil
	}
	sealed, err := Build(ctx, docs, t.opts)
	if err != nil {
		return err
	}
	seg, err := sealed.Segment(ctx)
	if err != nil {
		return err
	}
	segments := append(slices.Clone(t.segments), seg)
	// Like a binary counter: a segment is merged with the one before it as long
	// as that one is not larger.
	for n := len(segments); n > 1 && segments[n-2].info.Docs <= segments[n-1].info.Docs; n = len(segments) {
		sealed, err := Merge(ctx, segments[n-2:])
		if err != nil {
			return err
		}
		merged, err := sealed.Segment(ctx)
		if err != nil {
			return err
		}
		segments = append(segments[:n-2], merged)
	}
	t.segments = segments
	return nil
}

// LastID is the highest id in the tail, or zero.
func (t *Tail) LastID() int64 {
	if len(t.segments) == 0 {
		return 0
	}
	return t.segments[len(t.segments)-1].info.LastID
}

// Forget drops the documents up to id, which a stored segment now holds. It
// drops whole segments, so call it with the last id of a sealed run; when id
// falls inside a segment the tail is emptied and true is returned: add the
// documents past id again.
func (t *Tail) Forget(id int64) (emptied bool) {
	keep := slices.IndexFunc(t.segments, func(s *Segment) bool { return s.info.LastID > id })
	switch {
	case keep < 0:
		t.segments = nil
	case t.segments[keep].info.FirstID > id:
		t.segments = t.segments[keep:]
	default:
		t.segments = nil
		return true
	}
	return false
}

// Segments returns the tail's segments in order of ids, to append to the stored
// ones in an Index.
func (t *Tail) Segments() []*Segment { return slices.Clone(t.segments) }
