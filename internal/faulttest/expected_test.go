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

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
)

// Ledger is what a program was told is safe. It is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	acked map[string]bool // message ids
	// forgetting are ids that may be gone, forgotten those that must be.
	forgetting map[string]bool
	forgotten  map[string]bool
	next       map[string]int // of each session, past the last that was acknowledged
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{acked: map[string]bool{}, forgetting: map[string]bool{}, forgotten: map[string]bool{}, next: map[string]int{}}
}

// Read takes one line of what [Worker] writes: "ack ID…", "forget ID" or
// "forgot ID". Half a line, as a killed process leaves it, is not read.
func (l *Ledger) Read(line string) {
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

// Next returns the number of the first message of a session that was not
// acknowledged.
func (l *Ledger) Next(session string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next[session]
}

// Acknowledged returns how many messages were.
func (l *Ledger) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// Check proves a database against the ledger and says everything that is
// wrong.
func (l *Ledger) Check(ctx context.Context, path string) error {
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

// traces looks for what was forgotten in the bytes of the files.
func (l *Ledger) traces(path string) error {
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
			if at := bytes.Index(data, []byte(Word(id))); at >= 0 {
				errs = append(errs, fmt.Errorf("%s was forgotten but is in %s at %d", id, filepath.Base(name), at))
			}
		}
	}
	return errors.Join(errs...)
}

// CheckOpen is Check for a database that is open, without the integrity check
// of the file.
func (l *Ledger) CheckOpen(ctx context.Context, db *sqlite.DB) error {
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

// collect compares the records of a conversation with what they must be.
func (l *Ledger) collect(ctx context.Context, db *sqlite.DB, id store.ConversationID, seen map[string]store.MessageID) error {
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
			continue // there, or an empty place where it was
		}
		record, err := db.Record(ctx, m.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Native, err))
		} else if !bytes.Equal(record, Record(m.Native)) {
			errs = append(errs, fmt.Errorf("%s (%s) is not what was stored: %d bytes of %d", m.Native, m.ID, len(record), len(Record(m.Native))))
		}
	}
	return errors.Join(errs...)
}

// compare looks for what was acknowledged among what is there.
func (l *Ledger) compare(seen map[string]store.MessageID) error {
	lost := slices.DeleteFunc(slices.Sorted(maps.Keys(l.acked)), func(id string) bool {
		_, there := seen[id]
		return there || l.forgetting[id]
	})
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%d acknowledged messages are lost: %s", len(lost), strings.Join(lost[:min(8, len(lost))], ", "))
}

// search looks for a few messages by the word that only they say, and for what
// was forgotten.
func (l *Ledger) search(ctx context.Context, db *sqlite.DB, seen map[string]store.MessageID) error {
	ids := slices.Sorted(maps.Keys(seen))
	var errs []error
	find := func(id string) (int, error) {
		f, err := db.Search(ctx, store.Search{Mode: store.Regex, Pattern: Word(id), Sort: store.ByRecency, Limit: 10, CountTo: 10})
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

// integrity has SQLite check the file.
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
