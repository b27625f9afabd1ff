package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// expected is the required content of a record. It is safe for concurrent use.
type expected struct {
	mu    sync.Mutex
	acked map[string]bool // ids of acknowledged messages
	// forgetting are ids that may be gone, forgotten those that must be.
	forgetting map[string]bool
	forgotten  map[string]bool
	next       map[string]int // by session: the number after the last acknowledged one
}

// newExpected returns an empty want.
func newExpected() *expected {
	return &expected{acked: map[string]bool{}, forgetting: map[string]bool{}, forgotten: map[string]bool{}, next: map[string]int{}}
}

// Read reads one line of a worker's output: "ack ID…", "forget ID" or "forgot ID". An
// incomplete line of a killed process is not read.
func (l *expected) Read(line string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range strings.Fields(rest) {
		switch verb {
		case "ack":
			l.acked[id] = true
			var n int
			session, number, _ := strings.Cut(id, "#")
			if _, err := fmt.Sscan(number, &n); err == nil {
				l.next[session] = max(l.next[session], n+1)
			}
		case "forget":
			l.forgetting[id] = true
		case "forgot":
			l.forgotten[id] = true
		}
	}
}

// Next returns the number of the first message of a session that is not acknowledged.
func (l *expected) Next(session string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next[session]
}

// Acknowledged counts the acknowledged messages.
func (l *expected) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// Check checks a database and returns everything that is wrong.
func (l *expected) Check(ctx context.Context, path string) error {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return fmt.Errorf("opening what is left: %w", err)
	}
	err = l.CheckOpen(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return errors.Join(integrity(path), l.traces(path))
}

// traces searches the bytes of the files for erased messages.
func (l *expected) traces(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.forgotten) == 0 {
		return nil
	}
	var errs []error
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for id := range l.forgotten {
			if at := bytes.Index(data, []byte(word(id))); at >= 0 {
				errs = append(errs, fmt.Errorf("%s was forgotten but is in %s at %d", id, filepath.Base(name), at))
			}
		}
	}
	return errors.Join(errs...)
}

// CheckOpen is Check for an open database, without the integrity check of the file.
func (l *expected) CheckOpen(ctx context.Context, db *sqlite.DB) error {
	all, err := db.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]store.MessageID{}
	var errs []error
	for _, c := range all {
		v, err := db.Verify(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		for _, f := range v.Faults {
			errs = append(errs, fmt.Errorf("verify conversation %d: %s %s: %s", c.ID, f.Code, f.Node, f.Detail))
		}
		errs = append(errs, l.collect(ctx, db, c.ID, seen))
	}
	errs = append(errs, l.compare(seen), l.search(ctx, db, seen))
	return errors.Join(errs...)
}

// collect checks the records of a conversation.
func (l *expected) collect(ctx context.Context, db *sqlite.DB, id store.ConversationID, seen map[string]store.MessageID) error {
	var errs []error
	for m, err := range db.Messages(ctx, store.MessageQuery{Conversation: id}) {
		if err != nil {
			return fmt.Errorf("reading conversation %d: %w", id, err)
		}
		if m.Native == "" {
			continue
		}
		if other, twice := seen[m.Native]; twice {
			errs = append(errs, fmt.Errorf("%s is there twice: %s and %s", m.Native, other, m.ID))
		}
		seen[m.Native] = m.ID
		if l.forgetting[m.Native] {
			continue // it may be erased
		}
		got, err := db.Record(ctx, m.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Native, err))
		} else if !bytes.Equal(got, record(m.Native)) {
			errs = append(errs, fmt.Errorf("%s (%s) is not what was stored: %d bytes of %d", m.Native, m.ID, len(got), len(record(m.Native))))
		}
	}
	return errors.Join(errs...)
}

// compare checks that every acknowledged message is there.
func (l *expected) compare(seen map[string]store.MessageID) error {
	lost := slices.DeleteFunc(slices.Sorted(maps.Keys(l.acked)), func(id string) bool {
		_, there := seen[id]
		return there || l.forgetting[id]
	})
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%d acknowledged messages are lost: %s", len(lost), strings.Join(lost[:min(8, len(lost))], ", "))
}

// search searches for a few messages by the word that only they contain, and for erased
// ones.
func (l *expected) search(ctx context.Context, db *sqlite.DB, seen map[string]store.MessageID) error {
	ids := slices.Sorted(maps.Keys(seen))
	var errs []error
	find := func(id string) (int, error) {
		f, err := db.Search(ctx, store.Search{Mode: store.Regex, Pattern: word(id), Sort: store.ByRecency, Limit: 10, CountTo: 10})
		return len(f.Hits), err
	}
	for i := 0; i < len(ids); i += 1 + len(ids)/5 {
		n, err := find(ids[i])
		if err == nil && n != 1 && !l.forgetting[ids[i]] {
			err = fmt.Errorf("%s is found %d times", ids[i], n)
		}
		errs = append(errs, err)
	}
	for id := range l.forgotten {
		n, err := find(id)
		if err == nil && n > 0 {
			err = fmt.Errorf("%s was forgotten but is found", id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// integrity runs SQLite's integrity check.
func integrity(path string) (err error) {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, _, err := c.Prepare("PRAGMA integrity_check(5)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for s.Step() {
		if text := s.ColumnText(0); text != "ok" {
			err = errors.Join(err, fmt.Errorf("integrity check: %s", text))
		}
	}
	return errors.Join(err, s.Err())
}
