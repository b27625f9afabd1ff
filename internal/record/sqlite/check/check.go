// Package check looks for damage, and changes nothing.
//
// [Verify] proves one conversation: every record against its hash, the hash
// chain, and that the view leads to every message once. [Run] checks everything
// else as well: pages, schema, payloads, search index, state. [File] looks at a
// file that may not open. Faults have codes; package doctor explains them, and
// package repair fixes those that can be derived from the messages.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Unchecked is the code of a fault that names a part that was not checked.
const Unchecked = "unchecked"

// Run checks the whole database: pages, schema, every conversation and its
// derived rows, payloads, search index and state. An unreadable part does not
// keep it from the others. At the deadline of ctx it ends, and names the parts
// that it has not checked ([Unchecked]).
func Run(ctx context.Context, f *dbfile.File, ix *search.Index) ([]store.Fault, error) {
	k := &checkup{file: f, search: ix}
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		k.Conn = c
		return k.all(ctx)
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		k.Fault(Unchecked, "the database", "there was no time for it")
		err = nil
	}
	return k.List, err
}

// checkup checks a database.
type checkup struct {
	*dbfile.Conn
	verify.Findings
	file   *dbfile.File
	search *search.Index
	left   string // of the part that the deadline ended
}

func (k *checkup) all(ctx context.Context) error {
	whole, err := k.schema()
	if err != nil {
		return err
	}
	parts := []struct {
		name string
		look func(context.Context) error
	}{
		{"the state", k.state}, // the quick ones first
		{"the list of conversations and the tombstones", func(context.Context) error { return k.Take(verify.SetFaults(k.Conn)) }},
		{"the conversations", k.conversations},
		{"the references", func(context.Context) error { return k.Take(verify.OrphanFaults(k.Conn)) }},
		{"the search index", func(ctx context.Context) error { return k.Take(k.search.Check(ctx, k.Conn)) }},
		{"the payloads", k.payloads},
		{"the pages of the file", k.pages},
	}
	for _, part := range parts {
		err := ctx.Err()
		if k.left = part.name; err == nil {
			err = part.look(ctx)
		}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil:
			k.Fault(Unchecked, k.left, "there was no time for it")
		case errors.Is(ctx.Err(), context.Canceled):
			return ctx.Err()
		case err != nil && whole:
			k.Fault("unreadable", part.name, "%s", sqldb.WithoutHint(err))
		}
	}
	return nil
}

// IndexTrouble matches the messages of SQLite about a damaged index, which can
// be built again from its table.
var IndexTrouble = lazyregexp.New(`^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index) ?(\S*)`)

// maxPageFaults is how many faults of pages are listed.
const maxPageFaults = 20

// pages runs SQLite's own integrity check.
func (k *checkup) pages(context.Context) error {
	broken, pages := map[string]bool{}, 0
	return k.Query(fmt.Sprintf("PRAGMA integrity_check(%d)", 10*maxPageFaults), func(s sqldb.Row) error {
		line := s.ColumnText(0)
		switch m := IndexTrouble().FindStringSubmatch(line); {
		case line == "ok":
		case m != nil && !broken[m[1]]:
			broken[m[1]] = true
			k.Fault("table-index", "index "+m[1], "%s", line)
		case m == nil && pages < maxPageFaults:
			pages++
			k.Fault("page", "the file", "%s", strings.TrimPrefix(line, "*** in database main ***\n"))
		}
		return nil
	})
}

// conversations verifies every conversation, with the derived rows that are
// not part of the proof.
func (k *checkup) conversations(ctx context.Context) error {
	ids, err := record.ConversationIDs(k.Conn)
	if err != nil {
		return err
	}
	for i, id := range slices.Backward(ids) { // the newest first
		v, err := verify.Conversation(ctx, k.file.DB(), id, true)
		if ctx.Err() != nil {
			k.left = fmt.Sprintf("%d of %d conversations", i+1, len(ids))
			return ctx.Err()
		}
		k.List = append(k.List, v.Faults...)
		if err != nil {
			k.Fault("unreadable", fmt.Sprintf("conversation %d", id), "%s", sqldb.WithoutHint(err))
		}
	}
	return nil
}
