package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/sqlite/rebuild"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Built is a finished database that has no name yet.
type Built struct {
	path string
	// Proof is that of the new database.
	Proof verify.Proof
	// Damage is what was wrong with the source, and what is wrong with the new database:
	// what could not be read, and what could not be derived. Without any, both are whole.
	Damage []store.Fault
}

// Path is where the database is until it gets its name.
func (b *Built) Path() string { return b.path }

// Remove throws the database away, if it has got no name.
func (b *Built) Remove() { dbfile.RemoveDatabase(b.path) }

// found adds faults that are not listed yet.
func (b *Built) found(faults []store.Fault) {
	for _, f := range faults {
		if !slices.ContainsFunc(b.Damage, func(g store.Fault) bool { return f.Code == g.Code && f.Node == g.Node }) {
			b.Damage = append(b.Damage, f)
		}
	}
}

// Build makes a new database of a source, beside the path that it is for.
func Build(ctx context.Context, beside string, from Source) (*Built, error) {
	return build(ctx, beside, from, nil)
}

// build is Build. With damage the source is a file that has it: values of the state that are
// missing there stay missing.
func build(ctx context.Context, beside string, from Source, damage []store.Fault) (*Built, error) {
	tmp, err := newPart(beside)
	if err == nil {
		err = os.Remove(tmp) // an empty file is not a new database
	}
	if err != nil {
		return nil, err
	}
	b := &Built{path: tmp, Damage: damage}
	_, err = dbfile.WithFile(ctx, tmp, dbfile.Options{Relaxed: true, DeferIndex: true, CacheKiB: 64 << 10}, func(f *dbfile.File) (bool, error) {
		return true, sqldb.Steps(func() error { return b.load(ctx, f, from, damage == nil) }, func() error { return b.settle(ctx, f) })
	})
	if err == nil {
		err = dbfile.SyncFile(tmp)
	}
	if err != nil {
		b.Remove()
		return nil, dbfile.Explain(beside, err)
	}
	return b, nil
}

const (
	batch   = 20000 // rows of one transaction: a crash leaves a file without a name
	maxLost = 1000  // parts that cannot be read are listed
)

// load adds the rows of the source, and the rows that every database has.
func (b *Built) load(ctx context.Context, f *dbfile.File, from Source, partly bool) error {
	return f.Writer(ctx, func(c *dbfile.Conn) error {
		if err := c.Script("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		l, err := newLoader(c)
		if err != nil {
			return err
		}
		rows := 0
		for item, err := range from {
			if rows++; err == nil {
				err = l.add(item)
			} else if !errors.Is(err, archive.ErrDamaged) {
				return err
			}
			switch {
			case dbfile.Full(err) || ctx.Err() != nil:
				return errors.Join(err, ctx.Err())
			case err != nil && item.Damaged == "" && len(b.Damage) < maxLost: // else the proof names it
				b.Damage = append(b.Damage, store.Fault{Code: "lost", Node: "row " + fmt.Sprint(rows), Detail: sqldb.WithoutHint(err)})
			}
			if rows%batch == 0 {
				if err := c.Script("COMMIT; BEGIN IMMEDIATE"); err != nil {
					return err
				}
			}
		}
		if err := tombstone.EnsureSalt(c); err != nil {
			return err
		}
		if err := sealLoaded(c, partly); err != nil {
			return err
		}
		return c.Script("COMMIT")
	})
}

// sealLoaded seals the sets of rows that were loaded: of some conversations of an archive, of
// all that is left of a file, and of the state, of which only what lasts is moved, and of the maps, which no archive has.
func sealLoaded(c *dbfile.Conn, partly bool) error {
	sealed, err := c.Has(`SELECT 1 FROM seals`)
	if err != nil {
		return err
	}
	switch {
	case !sealed:
		return seal.Fill(c)
	case partly:
		return sqldb.Steps(func() error { return seal.Set(c, seal.Values) }, func() error { return seal.Set(c, seal.Maps) })
	}
	return nil
}

// settle proves the rows, and derives again what does not prove.
func (b *Built) settle(ctx context.Context, f *dbfile.File) (err error) {
	if b.Proof, err = check.Run(ctx, f, nil); err != nil {
		return err
	}
	if b.found(check.Damage(b.Proof.Faults)); len(b.Damage) > 0 {
		if err = rebuild.Run(ctx, f); err != nil {
			if ctx.Err() != nil || dbfile.Full(err) {
				return err
			}
			b.found([]store.Fault{{Code: "unreadable", Node: "the derived rows", Detail: sqldb.WithoutHint(err)}}) // the rest is whole
		}
		if b.Proof, err = check.Run(ctx, f, nil); err != nil {
			return err
		}
	}
	b.found(check.Damage(b.Proof.Faults))
	return search.New(f.DB()).Reindex(ctx)
}

// Fill copies a source into an empty database on a server, in one transaction. The source
// must be whole.
func Fill(ctx context.Context, to sqldb.DB, from Source, progress func(messages int64)) error {
	return to.Transact(ctx, func(c sqldb.Conn) error {
		used, err := c.Has(anything)
		if err != nil {
			return err
		}
		if used {
			return &hint.Error{Err: errors.New("the target is not empty"), Hint: "name an empty database, or a file that does not exist yet"}
		}
		l, err := newLoader(c)
		if err != nil {
			return err
		}
		messages := int64(0)
		for item, err := range from {
			if err == nil {
				err = l.add(item)
			}
			if err != nil {
				return err
			}
			if item.Table == "messages" {
				messages++
				progress(messages)
			}
		}
		if err := seal.Set(c, seal.Values); err != nil {
			return err
		}
		return c.ExecAll(c.Dialect().AfterCopy)
	})
}
