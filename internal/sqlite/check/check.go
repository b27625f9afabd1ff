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
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/sqldb"
	"github.com/lossless-context/lcm/internal/sqldb/record"
	"github.com/lossless-context/lcm/internal/sqldb/search"
	"github.com/lossless-context/lcm/internal/sqldb/verify"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// Run checks the whole database: pages, schema, every conversation and its
// derived rows, payloads, search index and state. An unreadable part does not
// keep it from the others.
func Run(ctx context.Context, f *dbfile.File, ix *search.Index) ([]store.Fault, error) {
	k := &checkup{file: f, search: ix}
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		k.Conn = c
		return k.all(ctx)
	})
	return k.List, err
}

// checkup checks a database.
type checkup struct {
	*dbfile.Conn
	verify.Findings
	file   *dbfile.File
	search *search.Index
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
		{"the pages of the file", k.pages},
		{"the conversations", k.conversations},
		{"the references", func(context.Context) error { return k.Take(verify.OrphanFaults(k.Conn)) }},
		{"the payloads", k.payloads},
		{"the search index", func(ctx context.Context) error { return k.Take(k.search.Check(ctx, k.Conn)) }},
		{"the state", k.state},
		{"the tombstones", k.tombstones},
	}
	for _, part := range parts {
		err := part.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && whole {
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
	broken := map[string]bool{}
	return k.Query(fmt.Sprintf("PRAGMA integrity_check(%d)", 10*maxPageFaults), func(s sqldb.Row) error {
		line := s.ColumnText(0)
		switch m := IndexTrouble().FindStringSubmatch(line); {
		case line == "ok":
		case m != nil && !broken[m[1]]:
			broken[m[1]] = true
			k.Fault("table-index", "index "+m[1], "%s", line)
		case m == nil && len(k.List) < maxPageFaults:
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
	for _, id := range ids {
		v, err := verify.Conversation(ctx, k.file.DB(), id, true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.List = append(k.List, v.Faults...)
		if err != nil {
			k.Fault("unreadable", fmt.Sprintf("conversation %d", id), "%s", sqldb.WithoutHint(err))
		}
	}
	return nil
}
