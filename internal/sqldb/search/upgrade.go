package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/sqldb"
)

// upgrade builds segments of an older format again, from the record. Older versions
// wrote no positions of words, and a phrase is then answered by reading texts.
type upgrade struct{ *lane }

// run upgrades at most so many segments. It stops when another process is
// indexing.
func (u upgrade) run(ctx context.Context, most int) error {
	release, err := u.ix.file.Hold()
	if err != nil {
		return err
	}
	defer release()
	u.sealing.Lock()
	defer u.sealing.Unlock()
	for ; most > 0; most-- {
		if done, err := u.one(ctx); done || err != nil {
			return err
		}
	}
	return nil
}

// one builds one segment again. It reports true if none is left to this
// process.
func (u upgrade) one(ctx context.Context) (done bool, err error) {
	after, old, err := u.oldSegment(ctx)
	if err != nil || old == nil {
		return true, settled(err)
	}
	t, err := u.takeTurn(ctx)
	if err != nil || t == nil {
		return true, err
	}
	err = u.buildAgain(ctx, after, old)
	return err != nil, errors.Join(settled(err), t.release(ctx))
}

// settled drops the error of a segment that another process has replaced, or that
// the next search builds again.
func settled(err error) error {
	if errors.Is(err, errMerged) || errors.Is(err, segment.ErrCorrupt) {
		return nil
	}
	return err
}

// oldSegment returns the newest segment of an older format, nil if there is none, and
// the last document before it.
func (u upgrade) oldSegment(ctx context.Context) (after int64, old *segment.Segment, err error) {
	var ids []int64
	var infos []segment.Info
	err = u.ix.file.Reader(ctx, func(c sqldb.Conn) (err error) {
		ids, infos, err = u.infos(c)
		return err
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := len(ids) - 1; err == nil && i >= 0; i-- {
		var seg *segment.Segment
		if seg, err = u.segment(ctx, ids[i]); err != nil || seg.HasPositions() {
			continue
		}
		if i > 0 {
			after = infos[i-1].LastID
		}
		return after, seg, nil
	}
	return 0, nil, err
}

// buildAgain replaces a segment with one that is built from its documents, in
// parts that are then merged: to build 36,864 documents at once took 800 MB.
func (u upgrade) buildAgain(ctx context.Context, after int64, old *segment.Segment) error {
	info := old.Info()
	var parts []*segment.Segment
	built := 0
	for more := true; more; {
		var docs []segment.Doc
		err := u.ix.file.Reader(ctx, func(c sqldb.Conn) (err error) {
			docs, more, err = u.read(c, after, info.LastID, segment.SealDocs)
			return err
		})
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			break
		}
		sealed, err := segment.Build(ctx, docs, segment.Options{})
		if err != nil {
			return err
		}
		part, err := sealed.Segment(ctx)
		if err != nil {
			return err
		}
		parts, built, after = append(parts, part), built+len(docs), docs[len(docs)-1].ID
	}
	if built != info.Docs {
		return fmt.Errorf("%w: segment %d has %d documents, the record %d", segment.ErrCorrupt, old.ID(), info.Docs, built)
	}
	merged, err := segment.Merge(ctx, parts)
	if err != nil {
		return err
	}
	return u.replace(ctx, []int64{old.ID()}, merged)
}
