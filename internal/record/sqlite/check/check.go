// Package check looks for damage, and changes nothing.
//
// [Verify] proves one conversation: every record against its hash, the hash
// chain, and that the view leads to every message once. [Run] checks everything
// else as well: pages, schema, payloads, search index. [File] looks at a
// file that may not open. Faults have codes; package doctor explains them, and
// package move builds a database without those that can be derived.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Unchecked is the code of a fault that names a part that was not checked.
const Unchecked = "unchecked"

// due are the codes of faults that are not damage: work that is due, and what others put
// beside the record.
var due = []string{Unchecked, "search-behind", "summary-broken", "summary-fallback", "schema-foreign", "erasure-unfinished"}

// Damage returns the faults that are damage.
func Damage(faults []store.Fault) []store.Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f store.Fault) bool { return slices.Contains(due, f.Code) })
}

// Run checks the whole database: pages, schema, every conversation and its
// derived rows, payloads and search index (unless ix is nil). An unreadable part
// does not keep it from the others. At the deadline of ctx it ends, and names the parts
// that it has not checked ([Unchecked]).
func Run(ctx context.Context, f *dbfile.File, ix *search.Index) (verify.Proof, error) {
	k := &checkup{file: f, search: ix}
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		k.Conn = c
		return k.all(ctx)
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		k.Fault(Unchecked, "the database", "there was no time for it")
		err = nil
	}
	k.proof.Faults = k.List
	return k.proof, err
}

// checkup checks a database.
type checkup struct {
	*dbfile.Conn
	verify.Findings
	proof  verify.Proof
	file   *dbfile.File
	search *search.Index
	left   string // of the part that the deadline ended
}

func (k *checkup) all(ctx context.Context) error {
	whole, err := schema(k.Conn, &k.Findings)
	if err != nil {
		return err
	}
	parts := []struct {
		name string
		look func(context.Context) error
	}{
		{"the list of conversations and the tombstones", func(context.Context) error { return errors.Join(k.Take(verify.SetFaults(k.Conn)), k.erasures()) }},
		{"the conversations", k.conversations},
		{"the references", func(context.Context) error { return k.Take(verify.OrphanFaults(k.Conn)) }},
		{"the search index", func(ctx context.Context) error {
			if k.search == nil {
				return nil
			}
			return k.Take(k.search.Check(ctx, k.Conn))
		}},
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

// erasures finds interrupted erasures: free space and the log may still hold content.
func (k *checkup) erasures() error {
	return k.Query(`SELECT id FROM erasures WHERE NOT finished ORDER BY id`, func(s sqldb.Row) error {
		k.Fault("erasure-unfinished", fmt.Sprintf("tombstone %d", s.ColumnInt64(0)), "what was erased is gone from every table, but parts of it may be left in free space of the file")
		return nil
	})
}

// maxPageFaults is how many faults of pages are listed.
const maxPageFaults = 20

// pages runs SQLite's own integrity check.
func (k *checkup) pages(context.Context) error {
	return k.Query(fmt.Sprintf("PRAGMA integrity_check(%d)", maxPageFaults), func(s sqldb.Row) error {
		if line := s.ColumnText(0); line != "ok" {
			k.Fault("page", "the file", "%s", strings.TrimPrefix(line, "*** in database main ***\n"))
		}
		return nil
	})
}

// conversations verifies every conversation, with the derived rows that are
// not part of the proof.
func (k *checkup) conversations(ctx context.Context) (err error) {
	proof, left, err := verify.Conversations(ctx, k.file.DB(), true)
	k.proof, k.left = proof, cmp.Or(left, k.left)
	k.List = append(k.List, proof.Faults...) // also those that were found before the time was over
	if err != nil {
		return err
	}
	k.proof.Messages, err = sqldb.Value[int64](k.Conn, `SELECT count(*) FROM messages WHERE `+rows.NotErased)
	return err
}
