package move

import (
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/sqlite/pages"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Copy makes a new database of the one in a file, at one moment, while others go on
// writing to it. It copies a sound one page by page. Of a damaged one it takes every row
// that can be read. It refuses one that another program wrote code into, or a newer lcm.
func Copy(ctx context.Context, from, beside string, progress func(done, total int)) (*Built, error) {
	return copyFile(ctx, dbfile.Resolve(from), beside, false, progress)
}

// unopened returns the damage of a file that SQLite cannot open, or must not.
func unopened(ctx context.Context, path string) ([]store.Fault, error) {
	faults, err := check.File(ctx, path)
	return slices.DeleteFunc(faults, func(f store.Fault) bool {
		return !slices.Contains([]string{"file", "truncated", "appended", "empty", "wal-orphan", "wal-damaged"}, f.Code)
	}), err
}

// copyFile is Copy. alone says that nobody else has the file open, and that code in it is
// left behind.
func copyFile(ctx context.Context, from, beside string, alone bool, progress func(done, total int)) (*Built, error) {
	damage, err := unopened(ctx, from)
	if err == nil && len(damage) == 0 && !alone {
		err = dbfile.WithConn(ctx, from, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) error { return dbfile.CheckSchema(c, true) })
	}
	if err != nil {
		return nil, err
	}
	part, err := newPart(beside)
	if err != nil {
		return nil, err
	}
	b := &Built{path: part, Damage: damage}
	if err = b.copyPages(ctx, from, alone || len(damage) > 0, progress); err == nil && len(damage) == 0 {
		if b.Proof, b.Damage, err = prove(ctx, part, dbfile.Options{Relaxed: true}); err == nil && len(b.Damage) == 0 {
			err = cleaned(ctx, part)
		}
	}
	if err == nil && len(b.Damage) == 0 {
		return b, dbfile.SyncFile(part)
	}
	defer b.Remove()
	if err != nil {
		return nil, err
	}
	schema, err := dbfile.Schema()
	if err != nil {
		return nil, err
	}
	built, err := build(ctx, beside, pages.Rows(ctx, part, schema, tableNames()), b.Damage)
	if err != nil {
		return nil, err
	}
	if built.Proof.Messages == 0 {
		built.Remove()
		return nil, &hint.Error{Err: fmt.Errorf("no message can be read in %s: %s: %w", from, b.Damage[0].Detail, store.ErrDamaged), Hint: "restore a backup; nothing was written"}
	}
	return built, nil
}

// copyPages copies the pages of a file at one moment, or, with raw, the bytes of the file and
// of its log.
func (b *Built) copyPages(ctx context.Context, from string, raw bool, progress func(done, total int)) error {
	if raw {
		return dbfile.Explain(from, copyFiles(ctx, from, b.path))
	}
	return dbfile.Explain(from, dbfile.WithConn(ctx, from, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) error {
		return c.Read(func() error { return dbfile.CopyTo(ctx, c, b.path, progress) })
	}))
}

// prove checks a database, and returns its damage.
func prove(ctx context.Context, path string, o dbfile.Options) (verify.Proof, []store.Fault, error) {
	p, err := dbfile.WithFile(ctx, path, o, func(f *dbfile.File) (verify.Proof, error) { return check.Run(ctx, f, search.New(f.DB())) })
	if err != nil && ctx.Err() == nil && !dbfile.Full(err) {
		return p, []store.Fault{{Code: "file", Node: path, Detail: err.Error()}}, nil
	}
	return p, check.Damage(p.Faults), err
}

// cleaned removes what an unfinished erasure may have left in free pages of a copy.
func cleaned(ctx context.Context, path string) error {
	return dbfile.WithConn(ctx, path, dbfile.Options{}, func(c *dbfile.Conn) error {
		unclean, err := c.Has(`SELECT 1 FROM erasures WHERE NOT finished`)
		if err == nil && unclean {
			err = dbfile.Vacuum(c)
		}
		return err
	})
}

// Sound calls fn with a database that can be read whole: that of a file or, where that is
// damaged, a new one of everything that can be read of it. damage lists what is wrong with
// the file, and what is missing.
func Sound(ctx context.Context, path string, fn func(path string, damage []store.Fault) error) error {
	damage, err := unopened(ctx, path)
	if err == nil && len(damage) == 0 {
		_, damage, err = prove(ctx, path, dbfile.Options{ReadOnly: true})
	}
	if err != nil {
		return err
	}
	if len(damage) == 0 {
		return fn(path, nil)
	}
	b, err := Copy(ctx, path, path, nil)
	if err != nil {
		return err
	}
	defer b.Remove()
	return fn(b.path, b.Damage)
}

// Fix puts a new database of everything that can be read in the place of a damaged one,
// which it keeps under another name. finish may change the new one before. It fails while
// another process has the database open.
func Fix(ctx context.Context, path, kept string, finish func(path string) error) (*Built, error) {
	path = dbfile.Resolve(path)
	release, err := lockOut(path)
	if err != nil {
		return nil, err
	}
	defer release()
	b, err := copyFile(ctx, path, path, true, nil)
	if err != nil {
		return nil, err
	}
	defer b.Remove()
	if err := finish(b.path); err != nil {
		return nil, err
	}
	return b, b.place(ctx, path, kept)
}
