package search

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// How far the index may be behind, in documents and in bytes of records. Past
// due or heavy the background indexer of the writer starts, at most every indexerRest: of a
// bulk import it then builds large segments at once, which were a tenth of its time when they were joined of
// small ones. Past outrunDocs the writer indexes before it continues, so that it cannot outrun the indexer.
// Past late the first search of a process has the index built.
// A search indexes the rest in memory, at about 70 µs a document and 80 µs a
// KiB.
const (
	due   = segment.SealDocs
	late  = 3 * segment.SealDocs
	heavy = 1 << 20

	outrunDocs  = bulk
	indexerRest = 2 * time.Second
)

// lateBytes is the size of a tail that no writer leaves to searches.
const lateBytes = 4 * heavy

// How much a process that ends may leave to be indexed in memory, in documents
// and in bytes of records. More is sealed when it closes the database, or by the
// process in the background that a hook starts. 256 KiB take about 20 ms to
// index.
const (
	dueDocs  = 128
	dueBytes = 256 << 10
)

// unindexed returns the number of documents that are not in segments, their
// bytes, and the last of them.
func (l *lane) unindexed(ctx context.Context) (docs, bytes, last int64, err error) {
	err = l.ix.file.Reader(ctx, func(c sqldb.Conn) error {
		after, err := l.watermark(c)
		if err != nil {
			return err
		}
		_, err = c.One(l.sql.size, func(s sqldb.Row) error {
			docs, bytes, last = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)
			return nil
		}, after)
		return err
	})
	return docs, bytes, last, err
}

// sealDue seals the documents that are unindexed now, if they are too many to
// be indexed in memory by every process. It does not wait for another process
// that is indexing, and does not seal documents that arrive meanwhile.
func (l *lane) sealDue(ctx context.Context) error {
	docs, bytes, last, err := l.unindexed(ctx)
	if err != nil || docs < dueDocs && bytes < dueBytes {
		return err
	}
	return l.followTo(ctx, last, 1, false)
}

// settle bounds what the first search of a process indexes in memory. A search
// does not seal or merge: beside a fold of 200,000 messages that took up to 21 s.
// Writers keep the tail below late. A longer one was left by a writer that was
// killed or by an index that was dropped, and nobody may be about to seal it:
// the background indexer does, and the search waits for it. It waits for no
// other process, and with DeferIndex for nothing: a hook that was ended by its
// deadline before it had indexed 7 MB started again with every prompt, and
// answered none.
func (l *lane) settle(ctx context.Context) error {
	l.mu.Lock()
	cold := l.tail.LastID() == 0
	l.mu.Unlock()
	if !cold || l.ix.file.Settings().ReadOnly || l.ix.file.Settings().DeferIndex {
		return nil
	}
	docs, bytes, last, err := l.unindexed(ctx)
	if err != nil || docs < late && bytes < lateBytes {
		return err
	}
	sealed := make(chan struct{})
	started := l.ix.file.Background(func(ctx context.Context) {
		defer close(sealed)
		l.ix.warn(l.followTo(ctx, last, 1, false))
	})
	if !started {
		return sqldb.ErrClosed
	}
	select {
	case <-sealed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backlogged is how many documents are built into few large segments, on all
// cores, and bulk how many such a segment holds at most: as many as a first
// merge would join.
const (
	backlogged = 4 * segment.SealDocs
	bulk       = 12 * segment.SealDocs
)

// backlogBytes limits the text that is held at a time.
const backlogBytes = 8 << 20

// seal builds segments of unindexed documents, those of a long backlog on all
// cores. last is the last sealed document, 0 if none was due.
func (l *lane) seal(ctx context.Context, least int64) (last int64, err error) {
	after, epoch, runs, err := l.backlog(ctx, least)
	l.noteSealed(after)
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	sealed := make([]segment.Sealed, len(runs))
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	for i, docs := range runs {
		wg.Go(func() { sealed[i], errs[i] = segment.Build(ctx, docs, segment.Options{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	err = l.ix.file.Transact(ctx, func(c sqldb.Conn) error {
		if now, err := lockLane(c, l); err != nil || now != epoch {
			return err // some documents have changed
		}
		if now, err := l.watermark(c); err != nil || now != after {
			return err // another process was faster
		}
		for _, s := range sealed {
			if err := putSegment(c, l.kind, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	last = sealed[len(sealed)-1].Info.LastID
	l.noteSealed(last)
	return last, nil
}

// backlog reads the documents that are due, one run per segment, with the
// watermark before them and the epoch of the lane.
func (l *lane) backlog(ctx context.Context, least int64) (after, epoch int64, runs [][]segment.Doc, err error) {
	err = l.ix.file.Snapshot(ctx, func(c sqldb.Conn, settled sqldb.Settled) (err error) {
		if after, err = l.watermark(c); err != nil {
			return err
		}
		if epoch, err = l.epochOf(c); err != nil {
			return err
		}
		last, err := l.lastID(c)
		if err != nil {
			return err
		}
		last = min(last, settledOf(l, settled))
		size, most := segment.SealDocs, 1
		if last-after >= backlogged {
			most = runtime.GOMAXPROCS(0)
			size = int(min(bulk, max(backlogged, (last-after+int64(most)-1)/int64(most))))
		}
		bytes := 0
		for from := after; len(runs) < most && last-from >= least && bytes < backlogBytes; {
			docs, _, err := l.read(c, from, last, size)
			if err != nil || len(docs) == 0 {
				return err
			}
			for _, d := range docs {
				bytes += len(d.Text)
			}
			runs = append(runs, docs)
			from = docs[len(docs)-1].ID
		}
		return nil
	})
	return after, epoch, runs, err
}

// noteSealed remembers how far the lane is sealed.
func (l *lane) noteSealed(id int64) {
	l.ix.mu.Lock()
	defer l.ix.mu.Unlock()
	l.sealed = max(l.sealed, id)
}

func putSegment(c sqldb.Conn, kind int, s segment.Sealed) error {
	i := s.Info
	id, err := c.Insert("id", seal.Segments.Insert(), seal.Segments.Row(kind, i.Docs, i.FirstID, i.LastID, i.TextBytes, i.WordBytes, i.GramBytes, i.DocBytes)...)
	if err != nil {
		return err
	}
	for n, data := range s.Sections {
		if err := c.Exec(`INSERT INTO sections (segment, n, data) VALUES (?, ?, ?)`, id, n, data); err != nil {
			return err
		}
	}
	return nil
}

// merge joins neighbouring segments as long as some are due: it builds one of all their
// documents. If another process has changed one of them, it does the rest.
func (l *lane) merge(ctx context.Context, t *turn) error {
	for {
		var ids []int64
		var after, last, epoch int64
		err := l.ix.file.Reader(ctx, func(c sqldb.Conn) error {
			all, infos, err := l.infos(c)
			if err != nil {
				return err
			}
			if from, to, ok := segment.PlanMerge(infos); ok {
				ids, last = all[from:to], infos[to-1].LastID
				if from > 0 {
					after = infos[from-1].LastID
				}
			}
			epoch, err = l.epochOf(c)
			return err
		})
		if err != nil || ids == nil {
			return err
		}
		merged, err := l.build(ctx, after, last)
		if err == nil {
			err = l.replace(ctx, ids, epoch, merged)
		}
		if errors.Is(err, errMerged) {
			return nil
		}
		if err != nil {
			return err
		}
		if ok, err := t.renew(ctx); err != nil || !ok {
			return err
		}
	}
}

// build makes a segment of the documents after an id up to another.
func (l *lane) build(ctx context.Context, after, last int64) (segment.Sealed, error) {
	b := segment.NewBuilder(segment.Options{})
	some := false
	for more := true; more; {
		var docs []segment.Doc
		err := l.ix.file.Reader(ctx, func(c sqldb.Conn) (err error) {
			docs, more, err = l.read(c, after, last, segment.SealDocs)
			return err
		})
		if err != nil {
			return segment.Sealed{}, err
		}
		for _, d := range docs {
			if err := b.Add(d); err != nil {
				return segment.Sealed{}, err
			}
			some, after = true, d.ID
		}
	}
	if !some {
		return segment.Sealed{}, errMerged // all of them were erased
	}
	return b.Seal()
}

// replace replaces segments with the merged one, unless another process was
// faster or documents have changed.
func (l *lane) replace(ctx context.Context, ids []int64, epoch int64, merged segment.Sealed) error {
	return l.ix.file.Transact(ctx, func(c sqldb.Conn) error {
		if now, err := lockLane(c, l); err != nil {
			return err
		} else if now != epoch {
			return errMerged
		}
		for _, id := range ids {
			if gone, err := c.Update(`DELETE FROM segments WHERE id = ?`, id); err != nil {
				return err
			} else if gone == 0 {
				return errMerged
			}
			if err := c.Exec(`DELETE FROM sections WHERE segment = ?`, id); err != nil {
				return err
			}
		}
		return putSegment(c, l.kind, merged)
	})
}
