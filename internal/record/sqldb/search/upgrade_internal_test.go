package search

import (
	"errors"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/search/segment"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// openOld opens an index whose messages are in so many segments of the format
// without positions.
func openOld(t *testing.T, path string, segments int, o dbfile.Options) *Index {
	t.Helper()
	writer := openStore(t, path, dbfile.Options{DeferIndex: true})
	l := writer.messages
	for range segments {
		say(t, writer, segment.SealDocs+10, 10)
		_, before, err := segmentsOf(t, l)
		if err != nil {
			t.Fatal(err)
		}
		after := int64(0)
		if len(before) > 0 {
			after = before[len(before)-1].LastID
		}
		var docs []segment.Doc
		err = l.ix.file.Reader(t.Context(), func(c sqldb.Conn) (err error) {
			docs, _, err = l.read(c, after, math.MaxInt64, math.MaxInt)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		old, err := segment.Build(t.Context(), docs, segment.Options{NoPositions: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.replace(t.Context(), nil, old); err != nil {
			t.Fatal(err)
		}
	}
	return openStore(t, path, o)
}

func segmentsOf(t *testing.T, l *lane) (ids []int64, infos []segment.Info, err error) {
	t.Helper()
	err = l.ix.file.Reader(t.Context(), func(c sqldb.Conn) (err error) {
		ids, infos, err = l.infos(c)
		return err
	})
	return ids, infos, err
}

// upgraded tells of each segment, in order of ids of documents, whether it has positions.
func upgraded(t *testing.T, l *lane) (out []bool) {
	t.Helper()
	ids, _, err := segmentsOf(t, l)
	for _, id := range ids {
		seg, e := segment.Open(t.Context(), sections{l.ix}, id)
		if err = errors.Join(err, e); err != nil {
			break
		}
		out = append(out, seg.HasPositions())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// meanwhile returns a clock that runs do once, when a process with this clock has taken
// the lease of the messages and is building.
func meanwhile(t *testing.T, path string, do func()) func() time.Time {
	t.Helper()
	other := openStore(t, path, dbfile.Options{DeferIndex: true})
	var begun atomic.Bool
	return func() time.Time {
		if begun.Load() {
			return time.Now()
		}
		if _, taken, err := other.messages.lease(t.Context()); err == nil && taken && begun.CompareAndSwap(false, true) {
			do()
		}
		return time.Now()
	}
}

// wantUnindexed checks how many messages are not in a segment.
func wantUnindexed(t *testing.T, ix *Index, want int64) {
	t.Helper()
	if docs, _, _, err := ix.messages.unindexed(t.Context()); err != nil || docs != want {
		t.Errorf("%d messages are not indexed, want %d: %v", docs, want, err)
	}
}

// While segments are upgraded no other process seals, so that the upgrade does it. It
// also keeps its lease.
func TestUpgradeSealsNewDocuments(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ix := openOld(t, filepath.Join(t.TempDir(), "lcm.db"), 2, dbfile.Options{DeferIndex: true, Clock: func() time.Time { return now }})
	u := upgrade{ix.messages}
	after, old, err := u.oldSegment(t.Context())
	if err != nil || old == nil {
		t.Fatal(old, err)
	}
	mine, err := u.takeTurn(t.Context())
	if err != nil || mine == nil {
		t.Fatal(err)
	}
	say(t, ix, dueDocs, 10)
	first := mine.version
	now = now.Add(sealLease * 2 / 3)
	if err := u.buildAgain(t.Context(), mine, after, old); err != nil {
		t.Fatal(err)
	}
	wantUnindexed(t, ix, 0)
	if mine.version == first {
		t.Error("the lease was not renewed")
	}
	// A lease that ran out and was taken by nobody is taken again.
	now = now.Add(2 * sealLease)
	if err := u.keepUp(t.Context(), mine); err != nil {
		t.Error(err)
	}
	// One that another process has taken ends the upgrade.
	now = now.Add(2 * sealLease)
	if other, err := u.takeTurn(t.Context()); err != nil || other == nil {
		t.Fatal(err)
	}
	if err := u.keepUp(t.Context(), mine); !errors.Is(err, errMerged) {
		t.Errorf("with the lease of another process: %v", err)
	}
}

// An upgrade goes on with the next segment when another process was faster with one.
func TestUpgradeGoesOnAfterAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	faster := openOld(t, path, 3, dbfile.Options{DeferIndex: true})
	replaced := false
	ix := openStore(t, path, dbfile.Options{DeferIndex: true, Clock: meanwhile(t, path, func() {
		u := upgrade{faster.messages}
		after, old, err := u.oldSegment(t.Context())
		if err == nil {
			err = u.buildAgain(t.Context(), &turn{file: u.ix.file, taken: time.Now()}, after, old)
		}
		if err != nil {
			t.Error(err)
		}
		replaced = true
	})})
	if err := ix.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, ok := range upgraded(t, ix.messages) {
		if !ok || !replaced {
			t.Errorf("segment %d was not upgraded", i)
		}
	}
}

// A segment that does not agree with the record is left as it is, and older ones are
// upgraded.
func TestUpgradeSkipsADamagedSegment(t *testing.T) {
	ix := openOld(t, filepath.Join(t.TempDir(), "lcm.db"), 3, dbfile.Options{DeferIndex: true})
	_, infos, err := segmentsOf(t, ix.messages)
	if err != nil {
		t.Fatal(err)
	}
	err = ix.file.Transact(t.Context(), func(c sqldb.Conn) error {
		return c.Exec(`UPDATE messages SET flags = flags | 128 WHERE id = ?`, infos[2].LastID-1)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ix.upgrade(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := upgraded(t, ix.messages); len(got) != 3 || !got[0] || !got[1] || got[2] {
		t.Errorf("upgraded: %v, want the first two of three", got)
	}
}

// Indexing in the same process does not wait for an upgrade, Close ends the upgrade,
// and the documents are still sealed.
func TestCloseEndsAnUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	openOld(t, path, 2, dbfile.Options{DeferIndex: true})
	var ix *Index
	closed := make(chan struct{})
	ix = openStore(t, path, dbfile.Options{Clock: meanwhile(t, path, func() {
		followed := make(chan error, 1)
		go func() { followed <- ix.messages.follow(t.Context(), 1, false) }()
		select {
		case err := <-followed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("indexing waits for the upgrade")
		}
		say(t, ix, dueDocs, 10)
		go func() {
			ix.Close()
			close(closed)
		}()
		<-ix.closing
	})})
	if err := ix.Reindex(t.Context()); !errors.Is(err, sqldb.ErrClosed) {
		t.Errorf("an upgrade that Close ended returns %v", err)
	}
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("Close does not end")
	}
	wantUnindexed(t, ix, 0)
	if err := ix.Reindex(t.Context()); !errors.Is(err, sqldb.ErrClosed) {
		t.Errorf("an upgrade after Close returns %v", err)
	}
	if next, err := ix.messages.takeTurn(t.Context()); err != nil || next == nil {
		t.Errorf("the lease was not released: %v", err)
	}
}

// Seal leaves segments of an older format to Reindex.
func TestSealDoesNotUpgrade(t *testing.T) {
	ix := openOld(t, filepath.Join(t.TempDir(), "lcm.db"), 1, dbfile.Options{DeferIndex: true})
	say(t, ix, 10, 10)
	if err := ix.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantUnindexed(t, ix, 0)
	if got := upgraded(t, ix.messages); len(got) != 2 || got[0] || !got[1] {
		t.Errorf("upgraded: %v, want only the new one of two", got)
	}
	if err := ix.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := upgraded(t, ix.messages); len(got) != 2 || !got[0] {
		t.Errorf("upgraded after Reindex: %v", got)
	}
}
