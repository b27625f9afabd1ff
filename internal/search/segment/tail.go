package segment

import (
	"context"
	"slices"
)

// Tail indexes in memory the documents that no stored segment holds yet, so
// that a search covers them by the same code. It grows by small segments which
// it joins as they add up: adding one document and searching stays cheap
// however long the tail is. It is not safe for concurrent use; the segments it
// returns are.
type Tail struct {
	opts  Options
	parts []tailPart
}

// tailPart is a segment and the documents that it was built of.
type tailPart struct {
	docs []Doc
	*Segment
}

// NewTail returns an empty tail.
func NewTail(opts Options) *Tail { return &Tail{opts: opts} }

// Add indexes documents with ids above all that were added before. The tail keeps them.
func (t *Tail) Add(ctx context.Context, docs ...Doc) error {
	if len(docs) == 0 {
		return nil
	}
	// Like a binary counter: documents are built together with the segment before
	// them as long as that one is not larger.
	n := len(t.parts)
	for ; n > 0 && len(t.parts[n-1].docs) <= len(docs); n-- {
		docs = slices.Concat(t.parts[n-1].docs, docs)
	}
	sealed, err := Build(ctx, docs, t.opts)
	if err != nil {
		return err
	}
	seg, err := sealed.Segment(ctx)
	if err == nil {
		t.parts = append(t.parts[:n], tailPart{docs, seg})
	}
	return err
}

// LastID is the highest id in the tail, or zero.
func (t *Tail) LastID() int64 {
	if len(t.parts) == 0 {
		return 0
	}
	return t.parts[len(t.parts)-1].info.LastID
}

// Forget drops the documents up to id, which a stored segment now holds. It
// drops whole segments, so call it with the last id of a sealed run; when id
// falls inside a segment the tail is emptied and true is returned: add the
// documents past id again.
func (t *Tail) Forget(id int64) (emptied bool) {
	keep := slices.IndexFunc(t.parts, func(p tailPart) bool { return p.info.LastID > id })
	emptied = keep >= 0 && t.parts[keep].info.FirstID <= id
	if keep < 0 || emptied {
		keep = len(t.parts)
	}
	t.parts = t.parts[keep:]
	return emptied
}

// Segments returns the tail's segments in order of ids, to append to the stored
// ones in an Index.
func (t *Tail) Segments() []*Segment {
	segments := make([]*Segment, len(t.parts))
	for i, p := range t.parts {
		segments[i] = p.Segment
	}
	return segments
}
