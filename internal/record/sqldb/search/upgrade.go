package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/recall/search/segment"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// upgrade builds segments of an older format again, from the record. Older versions
// wrote no positions of words, and a phrase is then answered by reading texts.
//
// One segment may take longer than a minute. So that nobody waits for it, an upgrade
// holds the lease of the lane but not its mutex, seals the documents that arrive
// meanwhile, and ends when the index is closed.
type upgrade struct{ *lane }

// upgrade builds at most so many segments of each lane again that have an older
// format. One call at a time does it.
func (ix *Index) upgrade(ctx context.Context, most int) error {
	select {
	case <-ix.closing:
		return sqldb.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case ix.upgrading <- struct{}{}:
		defer func() { <-ix.upgrading }()
	}
	until, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ix.closing:
			cancel(sqldb.ErrClosed)
		case <-until.Done():
		}
	}()
	for _, l := range ix.lanes() {
		if err := (upgrade{l}).run(until, most); errors.Is(err, context.Canceled) {
			return context.Cause(until)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// run upgrades at most so many segments. It stops when another process is indexing.
func (u upgrade) run(ctx context.Context, most int) error {
	release, err := u.ix.file.Hold()
	if err != nil {
		return err
	}
	defer release()
	for built := 0; built < most; {
		after, old, err := u.oldSegment(ctx)
		if err != nil || old == nil {
			return err
		}
		t, err := u.takeTurnAlone(ctx)
		if err != nil || t == nil {
			return err
		}
		err = u.buildAgain(ctx, t, after, old)
		if failed := t.release(ctx); failed != nil {
			return errors.Join(err, failed)
		}
		switch {
		case err == nil:
			built++
		case errors.Is(err, segment.ErrCorrupt):
			u.mu.Lock()
			u.notUpgraded[old.ID()] = true // Check reports it
			u.mu.Unlock()
		case !errors.Is(err, errMerged): // another process has replaced the segment
			return err
		}
		if err := u.follow(ctx, due, false); err != nil {
			return err
		}
	}
	return nil
}

// takeTurnAlone takes the lease when nothing else in this process has it.
func (u upgrade) takeTurnAlone(ctx context.Context) (*turn, error) {
	u.sealing.Lock()
	defer u.sealing.Unlock()
	return u.takeTurn(ctx)
}

// oldSegment returns the newest segment of an older format, nil if there is none, and
// the last document before it. It skips segments that cannot be read or upgraded.
func (u upgrade) oldSegment(ctx context.Context) (after int64, old *segment.Segment, err error) {
	var ids []int64
	var infos []segment.Info
	err = u.ix.file.Reader(ctx, func(c sqldb.Conn) (err error) {
		ids, infos, err = u.infos(c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := len(ids) - 1; i >= 0; i-- {
		seg, err := u.segment(ctx, ids[i])
		switch {
		case errors.Is(err, errMerged) || errors.Is(err, segment.ErrCorrupt):
			continue
		case err != nil:
			return 0, nil, err
		case seg.HasPositions() || u.notUpgraded[ids[i]]:
			continue
		}
		if i > 0 {
			after = infos[i-1].LastID
		}
		return after, seg, nil
	}
	return 0, nil, nil
}

// buildAgain replaces a segment with one that is built from its documents, in
// parts that are then merged: to build 36,864 documents at once took 800 MB.
func (u upgrade) buildAgain(ctx context.Context, t *turn, after int64, old *segment.Segment) error {
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
		if err := u.keepUp(ctx, t); err != nil {
			return err
		}
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

// keepUp renews the lease and seals the documents that are due. Other processes leave
// them to the holder of the lease. It returns errMerged if another process has the lease.
func (u upgrade) keepUp(ctx context.Context, t *turn) error {
	if ok, err := t.renew(ctx); err != nil {
		return err
	} else if !ok {
		again, err := u.takeTurn(ctx)
		if err != nil {
			return err
		}
		if again == nil {
			return errMerged
		}
		*t = *again
	}
	docs, bytes, _, err := u.unindexed(ctx)
	if err != nil || docs < dueDocs && bytes < dueBytes {
		return err
	}
	_, err = u.seal(ctx, 1)
	return err
}
