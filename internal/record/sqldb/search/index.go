// Package search keeps the search index of a database and answers searches.
//
// The index has two lanes: messages and summaries. Documents are indexed in
// memory first and are then sealed into segments, which are rows of the
// database; neighbouring segments are merged as they add up. A search covers
// every document, sealed or not. Of the processes that share a database one at a
// time seals and merges: it holds a lease. The index is derived: where it is
// damaged it is built again from the record.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Index is the search index of an open database file: the stored segments of
// messages and of summaries, and in memory the documents that are not in a
// segment yet.
type Index struct {
	file      sqldb.DB
	messages  *lane
	summaries *lane
	sections  sectionCache
	hosts     bookkeeping

	mu       sync.Mutex
	indexing bool      // the background indexer is running
	indexed  time.Time // when it last ended
	wrote    bool      // this process has written
}

// New returns the index of a database.
func New(f sqldb.DB) *Index {
	ix := &Index{file: f, sections: sectionCache{size: cmp.Or(f.Settings().IndexCache, cacheBytes)}}
	ix.messages, ix.summaries = newLane(ix, rows.LaneMessages), newLane(ix, rows.LaneSummaries)
	return ix
}

func (ix *Index) lanes() [2]*lane { return [2]*lane{ix.messages, ix.summaries} }

// Load reads how far the lanes are indexed, so that the first write does not
// have to find out.
func (ix *Index) Load(ctx context.Context) error {
	if ix.file.Settings().ReadOnly {
		return nil
	}
	return ix.file.Writer(ctx, func(c sqldb.Conn) (err error) {
		for _, l := range ix.lanes() {
			if l.sealed, err = l.watermark(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Written runs after a write. It starts the background indexer when enough is
// unindexed, and indexes in the foreground when too much is.
func (ix *Index) Written(ctx context.Context, w rows.Written) {
	if ix.file.Settings().DeferIndex {
		return
	}
	ix.mu.Lock()
	ix.wrote = true
	behind := []backlog{ix.messages.grown(int64(w.Last), w.Bytes), ix.summaries.grown(w.LastSummary, w.SummaryBytes)}
	behind = slices.DeleteFunc(behind, func(b backlog) bool { return b.docs < b.least })
	outrun := slices.ContainsFunc(behind, func(b backlog) bool { return b.docs >= outrunDocs })
	start := len(behind) > 0 && !outrun && !ix.indexing
	if start {
		ix.indexing = true
		for _, b := range behind {
			b.lane.unsealed = 0
		}
	}
	rest := time.Until(ix.indexed.Add(indexerRest))
	ix.mu.Unlock()
	follow := func(ctx context.Context, wait bool) {
		for _, b := range behind {
			ix.warn(b.lane.follow(ctx, b.least, wait))
		}
	}
	switch {
	case start:
		started := ix.file.Background(func(ctx context.Context) {
			if store.Wait(ctx, rest) == nil {
				follow(ctx, false)
			}
			ix.indexerDone()
		})
		if !started {
			ix.indexerDone()
		}
	case outrun:
		follow(ctx, true)
	}
}

// backlog is how many documents of a lane may be unindexed, and how many are
// worth a segment: any, if they are large.
type backlog struct {
	lane        *lane
	docs, least int64
}

// grown notes that this process wrote documents up to an id, 0 if none. The
// caller holds the mutex of the index.
func (l *lane) grown(last, bytes int64) backlog {
	l.unsealed += bytes
	b, much := backlog{l, last - l.sealed, due}, int64(heavy)
	if l.kind == rows.LaneSummaries {
		much = dueBytes // they are long and few, and searches beside a fold index the rest
	}
	if l.unsealed >= much {
		b.least = 1
	}
	return b
}

func (ix *Index) indexerDone() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.indexing, ix.indexed = false, time.Now()
}

// warn logs an error that no caller receives. A late index loses nothing:
// searches read the documents that are not indexed, and the next write tries
// again.
func (ix *Index) warn(err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, sqldb.ErrClosed) {
		ix.file.Settings().Log.Warn("the search index could not follow the data; searches stay complete but are slower", "err", err)
	}
}

// Reindex brings the search index up to the last document. Searches do not need it; it
// makes the next ones faster.
func (ix *Index) Reindex(ctx context.Context) error {
	for _, l := range ix.lanes() {
		if err := l.follow(ctx, 1, true); err != nil {
			return err
		}
	}
	return nil
}

// closeTime bounds the work of Close, except for the release of the lease. A seal of
// the documents that may be unindexed takes less than half of it. A merge that it ends
// is left to the next process that seals.
const closeTime = 750 * time.Millisecond

// Close seals the documents that this process wrote; the caller
// then closes the database. Otherwise every later process would index them in memory before its
// first search: after an import of 900 messages that took more than half of the
// time of `lcm grep`.
func (ix *Index) Close() {
	ix.mu.Lock()
	wrote := ix.wrote
	ix.mu.Unlock()
	if !wrote || ix.file.Settings().DeferIndex {
		return
	}
	done := make(chan struct{})
	started := ix.file.Background(func(ctx context.Context) {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		defer cancel()
		for _, l := range ix.lanes() {
			if err := l.sealDue(ctx); !errors.Is(err, context.DeadlineExceeded) {
				ix.warn(err)
			}
		}
	})
	if started {
		<-done
	}
}

// Due reports whether so many messages are unindexed that the first search of a
// new process is slow, and no process is indexing them. A program with
// [Options.DeferIndex] then calls [Index.Reindex], or has another do it.
func (ix *Index) Due(ctx context.Context) (bool, error) {
	docs, bytes, _, err := ix.messages.unindexed(ctx)
	if err != nil || docs < dueDocs && bytes < dueBytes {
		return false, err
	}
	_, taken, err := ix.messages.lease(ctx)
	return !taken, err
}

// Forget drops the part of the index that this process holds in memory, after
// documents were changed or erased. Other processes notice by the epochs of the
// lanes.
func (ix *Index) Forget() {
	for _, l := range ix.lanes() {
		l.closeSegments()
	}
	ix.sections.clear()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, l := range ix.lanes() {
		l.sealed = 0
	}
}

// ReleaseMemory drops the sections that were read.
func (ix *Index) ReleaseMemory() { ix.sections.clear() }

// Repair drops the parts of the index that are not sound. Reindex builds them
// again.
func (ix *Index) Repair(ctx context.Context) error {
	errs := []error{ix.file.Transact(ctx, func(c sqldb.Conn) error {
		faults, err := seal.IndexFaults(c)
		if err != nil || len(faults) == 0 {
			return err
		}
		err = c.ExecAll([]string{"DELETE FROM sections", "DELETE FROM segments", "DELETE FROM lanes WHERE lane NOT IN (1, 2)", "UPDATE lanes SET epoch = epoch + 1"})
		return errors.Join(err, seal.Lanes.Again(c, "TRUE"))
	})}
	for _, l := range ix.lanes() {
		l.dropped()
		errs = append(errs, l.repair(ctx))
	}
	return errors.Join(errs...)
}

// Check reports unsound segments, and an index that is far behind.
func (ix *Index) Check(ctx context.Context, c sqldb.Conn) (faults []store.Fault, err error) {
	for _, l := range ix.lanes() {
		name := "search index of " + map[int]string{rows.LaneMessages: "messages", rows.LaneSummaries: "summaries"}[l.kind]
		at, why, err := l.unsound(ctx, c)
		if err != nil {
			return faults, err
		}
		if at > 0 {
			faults = append(faults, store.Fault{Code: "search-index", Node: name, Detail: why})
			continue
		}
		last, err := l.lastID(c)
		if err != nil {
			return faults, err
		}
		if end, err := l.watermark(c); err != nil {
			return faults, err
		} else if last-end > 2*late {
			faults = append(faults, store.Fault{Code: "search-behind", Node: name,
				Detail: fmt.Sprintf("%d documents are not indexed yet: searches are complete, but slow", last-end)})
		}
	}
	return faults, nil
}
