package search

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/llms"
)

func openStore(t *testing.T, path string, o dbfile.Options) *Index {
	t.Helper()
	f, err := dbfile.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	ix := New(f.DB())
	if err := ix.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix
}

// say stores messages of about a size each.
func say(t *testing.T, ix *Index, n, size int) {
	t.Helper()
	records := &rows.Records{DB: ix.file}
	c, err := records.Open(t.Context(), store.NewConversation{Key: "many"})
	if err != nil {
		t.Fatal(err)
	}
	done, err := records.Update(t.Context(), c.ID, func(w store.Writer) error {
		for i := range n {
			text := fmt.Sprintf("message %d of many %s", i, strings.Repeat("word ", size/5))
			m := store.NewMessage{
				Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 1,
			}
			if _, err := w.Append(t.Context(), m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ix.Written(t.Context(), done)
}

// A process that indexes for longer than a lease lasts keeps its turn. It used
// to lose it after 15 seconds: a search then indexed beside an import, and one
// of the two found "the segment was merged away".
func TestTurnIsRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.ix")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := dbfile.Options{Clock: func() time.Time { return now }}
	a, b := openStore(t, path, o), openStore(t, path, o)
	mine, err := a.messages.takeTurn(t.Context())
	if err != nil || mine == nil {
		t.Fatalf("the turn was not taken: %v", err)
	}
	for range 5 {
		now = now.Add(sealLease * 2 / 3)
		if ok, err := mine.renew(t.Context()); err != nil || !ok {
			t.Fatalf("the turn was not renewed: %v", err)
		}
		if other, err := b.messages.takeTurn(t.Context()); err != nil || other != nil {
			t.Fatalf("another process took the turn: %v", err)
		}
	}
	now = now.Add(sealLease + time.Second)
	if other, err := b.messages.takeTurn(t.Context()); err != nil || other == nil {
		t.Fatalf("a lease that ran out was not taken over: %v", err)
	}
	if ok, err := mine.renew(t.Context()); err != nil || ok {
		t.Fatalf("a lost turn was renewed: %v", err)
	}
}

// Indexing renews the turn as it goes, and stops when the turn is lost.
func TestIndexingRenewsItsTurn(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ix := openStore(t, filepath.Join(t.TempDir(), "lcm.ix"), dbfile.Options{DeferIndex: true, Clock: func() time.Time { return now }})
	say(t, ix, 3*segment.SealDocs, 10)
	mine, err := ix.messages.takeTurn(t.Context())
	if err != nil || mine == nil {
		t.Fatal(err)
	}
	first := mine.version
	now = now.Add(sealLease * 2 / 3)
	if _, err := ix.messages.catchUpAlone(t.Context(), mine, 2*segment.SealDocs, 1); err != nil {
		t.Fatal(err)
	}
	if mine.version == first {
		t.Error("the turn was not renewed")
	}
	// The end was given, and nothing after it was sealed.
	if st, err := ReadStats(t.Context(), ix.file); err != nil || st.Segments != 2 {
		t.Errorf("%d segments, %v", st.Segments, err)
	}
}

// Segments are joined into one, unless another process was faster or documents have changed.
func TestMergeYields(t *testing.T) {
	ix := openStore(t, filepath.Join(t.TempDir(), "lcm.ix"), dbfile.Options{DeferIndex: true})
	l := ix.messages
	for range 12 {
		say(t, ix, segment.SealDocs, 10)
		if _, err := l.seal(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := l.takeTurn(t.Context())
	if err != nil || mine == nil {
		t.Fatal(err)
	}
	var ids []int64
	var epoch int64
	err = ix.file.Reader(t.Context(), func(c sqldb.Conn) (err error) {
		if ids, _, err = l.infos(c); err == nil {
			epoch, err = l.epochOf(c)
		}
		return err
	})
	if err != nil || len(ids) != 12 {
		t.Fatalf("%d segments, %v", len(ids), err)
	}
	built, err := l.build(t.Context(), 0, 12*segment.SealDocs)
	if err != nil || built.Info.Docs != 12*segment.SealDocs {
		t.Fatalf("%d documents, %v", built.Info.Docs, err)
	}
	if err := l.merge(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := l.replace(t.Context(), ids, epoch, built); !errors.Is(err, errMerged) {
		t.Errorf("segments that are gone were replaced: %v", err)
	}
	if st, err := ReadStats(t.Context(), ix.file); err != nil || st.Segments != 1 || st.Docs != 12*segment.SealDocs {
		t.Errorf("%+v, %v", st, err)
	}
	if err := l.replace(t.Context(), nil, epoch+1, built); !errors.Is(err, errMerged) {
		t.Errorf("segments of another epoch were replaced: %v", err)
	}
}

// A step that takes longer than the lease lasts does not end the indexing: an
// import on a busy machine left most of its messages unindexed.
func TestIndexingGoesOnAfterALostLease(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	slow := false
	ix := openStore(t, filepath.Join(t.TempDir(), "lcm.db"), dbfile.Options{DeferIndex: true, Clock: func() time.Time {
		if slow {
			now = now.Add(2 * sealLease)
		}
		return now
	}})
	say(t, ix, 2*segment.SealDocs+10, 10)
	slow = true
	if err := ix.messages.follow(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	if docs, _, _, err := ix.messages.unindexed(t.Context()); err != nil || docs != 0 {
		t.Errorf("%d messages are not indexed: %v", docs, err)
	}
}

// TestIndexDue: indexing is due after many short messages, or a few long ones.
func TestIndexDue(t *testing.T) {
	for name, test := range map[string]struct{ before, size int }{"short": {127, 10}, "long": {1, 150 << 10}} {
		t.Run(name, func(t *testing.T) {
			ix := openStore(t, filepath.Join(t.TempDir(), "lcm.db"), dbfile.Options{DeferIndex: true})
			say(t, ix, test.before, test.size)
			if due, err := ix.Due(t.Context()); err != nil || due {
				t.Errorf("due after %d messages: %v", test.before, err)
			}
			say(t, ix, 1, test.size)
			if due, err := ix.Due(t.Context()); err != nil || !due {
				t.Errorf("not due after %d messages: %v", test.before+1, err)
			}
		})
	}
}

// A search does not seal or merge what writers may leave unindexed. Where it finds
// more, because the index was dropped or a writer was killed, the background indexer
// seals it once.
func TestSearchDoesNotSeal(t *testing.T) {
	for _, c := range []struct {
		name       string
		docs, size int
		sealed     bool
	}{
		{"many", late - 1, 10, false},
		{"large", 20, (lateBytes - heavy) / 20, false},
		{"too many", late, 10, true},
		{"too large", 21, lateBytes / 20, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lcm.db")
			say(t, openStore(t, path, dbfile.Options{DeferIndex: true}), c.docs, c.size)
			ix := openStore(t, path, dbfile.Options{})
			found, err := ix.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: "message 7 of", Limit: 5})
			if err != nil || len(found.Hits) != 1 {
				t.Errorf("%d hits, %v", len(found.Hits), err)
			}
			if st, err := ReadStats(t.Context(), ix.file); err != nil || (st.Docs > 0) != c.sealed {
				t.Errorf("%d documents are sealed after a search: %v", st.Docs, err)
			}
		})
	}
}

// A process that folds seals its summaries as it goes: searches of other
// processes otherwise index all of them in memory.
func TestSummariesAreSealed(t *testing.T) {
	ix := openStore(t, filepath.Join(t.TempDir(), "lcm.db"), dbfile.Options{})
	say(t, ix, 40, 10)
	records := &rows.Records{DB: ix.file}
	for i := range 20 {
		v, err := records.View(t.Context(), 1, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		done, err := records.Update(t.Context(), 1, func(w store.Writer) error {
			body := fmt.Sprintf("summary %d %s", i, strings.Repeat("word ", heavy/50))
			_, err := w.Fold(t.Context(), store.NewSummary{Over: v.Items[i : i+2], Wording: store.Wording{Body: body, Tokens: 1}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		ix.Written(t.Context(), done)
	}
	for end := time.Now().Add(time.Minute); sealedUpTo(ix.summaries) == 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("no summary is sealed")
		}
	}
}

// A search does not wait for another process that is indexing.
func TestSearchDoesNotWaitForAnIndexer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.ix")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	importer, searcher := openStore(t, path, dbfile.Options{DeferIndex: true, Clock: clock}), openStore(t, path, dbfile.Options{Clock: clock})
	say(t, importer, 100, heavy/50)
	if due, err := searcher.Due(t.Context()); err != nil || !due {
		t.Errorf("nothing is due before the turn is taken: %v", err)
	}
	if mine, err := importer.messages.takeTurn(t.Context()); err != nil || mine == nil {
		t.Fatal(err)
	}
	if due, err := searcher.Due(t.Context()); err != nil || due {
		t.Errorf("indexing is due although a process is at it: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	found, err := searcher.Search(ctx, store.Search{Mode: store.Regex, Pattern: "message 7 of", Limit: 5})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("%d hits, %v", len(found.Hits), err)
	}
}

// A search that waits for the indexer when the database is closed ends, and so does
// Close. The search used to wait for ever for the connection that Close had taken.
func TestCloseDuringASearchThatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.ix")
	say(t, openStore(t, path, dbfile.Options{DeferIndex: true}), late, 10)
	var ix *Index
	var once sync.Once
	closed := make(chan error, 1)
	clock := func() time.Time {
		// Past the first segment the clock is asked whether the lease is to be
		// renewed, outside of any call that Close waits for.
		if ix != nil && sealedUpTo(ix.messages) > 0 {
			once.Do(func() {
				go func() { closed <- ix.file.(io.Closer).Close() }()
				for !isClosed(ix) {
					runtime.Gosched()
				}
				select { // give Close the time to take the writer, if it would
				case err := <-closed:
					closed <- err
				case <-time.After(100 * time.Millisecond):
				}
			})
		}
		return time.Now()
	}
	ix = openStore(t, path, dbfile.Options{Clock: clock})
	searched := make(chan error, 1)
	go func() {
		_, err := ix.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: "message 7 of", Limit: 5})
		searched <- err
	}()
	for name, ended := range map[string]chan error{"the search": searched, "Close": closed} {
		select {
		case err := <-ended:
			if name == "the search" && !errors.Is(err, sqldb.ErrClosed) || name == "Close" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s does not end", name)
		}
	}
	// The lease was given back.
	if next, err := openStore(t, path, dbfile.Options{}).messages.takeTurn(t.Context()); err != nil || next == nil {
		t.Errorf("the turn was not released: %v", err)
	}
}

// Close ends within a second beside a process that writes for longer: a lease
// that cannot be given back expires.
func TestCloseIsBounded(t *testing.T) {
	if closeTime+releaseTime > time.Second {
		t.Errorf("Close may take %v", closeTime+releaseTime)
	}
	path := filepath.Join(t.TempDir(), "lcm.db")
	ix, other := openStore(t, path, dbfile.Options{BusyTimeout: 2 * time.Second}), openStore(t, path, dbfile.Options{})
	mine, err := ix.messages.takeTurn(t.Context())
	if err != nil || mine == nil {
		t.Fatal(err)
	}
	release, err := ix.file.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	err = other.file.Transact(t.Context(), func(sqldb.Conn) error {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		return mine.release(ended)
	})
	if err != nil {
		t.Errorf("a release beside a writer: %v", err)
	}
}

func sealedUpTo(l *lane) int64 {
	l.ix.mu.Lock()
	defer l.ix.mu.Unlock()
	return l.sealed
}

func isClosed(ix *Index) bool {
	release, err := ix.file.Hold()
	if err == nil {
		release()
	}
	return err != nil
}
