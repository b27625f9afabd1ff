package move

import (
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
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

// unopened are the codes of a file that SQLite cannot open, or must not.
var unopened = []string{"file", "truncated", "appended", "empty", "wal-orphan", "wal-damaged"}

// copyFile is Copy. alone says that nobody else has the file open, and that code in it is
// left behind.
func copyFile(ctx context.Context, from, beside string, alone bool, progress func(done, total int)) (*Built, error) {
	damage, err := check.File(ctx, from)
	if err != nil {
		return nil, err
	}
	damage = slices.DeleteFunc(damage, func(f store.Fault) bool { return !slices.Contains(unopened, f.Code) })
	if len(damage) == 0 && !alone {
		err := dbfile.WithConn(ctx, from, dbfile.Options{ReadOnly: true}, refuse)
		if err != nil && !check.Unopenable(err) {
			return nil, err
		}
	}
	part, err := newPart(beside)
	if err != nil {
		return nil, err
	}
	b := &Built{path: part}
	if err := b.copyPages(ctx, from, alone || len(damage) > 0, progress); err != nil {
		b.Remove()
		return nil, err
	}
	if b.found(damage); len(damage) == 0 {
		if err := b.prove(ctx); err != nil {
			b.Remove()
			return nil, err
		}
	}
	if len(b.Damage) == 0 {
		return b, dbfile.SyncFile(part)
	}
	defer b.Remove()
	schema, err := dbfile.Schema()
	if err != nil {
		return nil, err
	}
	built, err := build(ctx, beside, pages.Rows(ctx, part, schema, tableNames()), true)
	if err != nil {
		return nil, err
	}
	left := built.Damage
	built.Damage = b.Damage
	built.found(left)
	if built.Proof.Messages == 0 {
		built.Remove()
		return nil, &hint.Error{Err: fmt.Errorf("no message can be read in %s: %s: %w", from, b.Damage[0].Detail, store.ErrDamaged), Hint: "restore a backup; nothing was written"}
	}
	return built, nil
}

// refuse returns an error for a database with code of another program, or of a version that
// cannot be converted.
func refuse(c *dbfile.Conn) error {
	v, err := dbfile.SchemaVersion(c)
	if err == nil {
		err = dbfile.CheckVersion(v, true)
	}
	if err != nil {
		return err
	}
	code, err := dbfile.ForeignCode(c)
	if err == nil && len(code) > 0 {
		err = &hint.Error{Err: fmt.Errorf("the database has the %s %q, which lcm did not make and which would run when it is used", code[0].Kind, code[0].Table),
			Hint: "find out who put it there; `lcm doctor --fix` makes a database without it; nothing was changed"}
	}
	return err
}

// copyPages copies the pages of a file at one moment. With raw, or where SQLite cannot, it
// copies the bytes of the file and of its log.
func (b *Built) copyPages(ctx context.Context, from string, raw bool, progress func(done, total int)) error {
	err := error(nil)
	if !raw {
		err = dbfile.WithConn(ctx, from, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) error {
			return c.Read(func() error { return dbfile.CopyTo(ctx, c, b.path, progress) })
		})
	}
	if raw || check.Unopenable(err) {
		err = copyFiles(ctx, from, b.path)
	}
	return dbfile.Explain(from, err)
}

// prove checks the copy of a database. It removes what an unfinished erasure may have left
// in free pages.
func (b *Built) prove(ctx context.Context) error {
	var err error
	b.Proof, err = dbfile.WithFile(ctx, b.path, dbfile.Options{Relaxed: true}, func(f *dbfile.File) (verify.Proof, error) {
		return check.Run(ctx, f, search.New(f.DB()))
	})
	if err == nil {
		b.found(check.Damage(b.Proof.Faults))
	} else if ctx.Err() != nil || dbfile.Full(err) {
		return err
	} else {
		b.found([]store.Fault{{Code: "file", Node: b.path, Detail: err.Error()}})
	}
	if len(b.Damage) > 0 {
		return nil
	}
	return dbfile.WithConn(ctx, b.path, dbfile.Options{}, func(c *dbfile.Conn) error {
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
	faults, err := check.File(ctx, path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(faults, func(f store.Fault) bool { return slices.Contains(unopened, f.Code) }) {
		proof, err := dbfile.WithFile(ctx, path, dbfile.Options{ReadOnly: true}, func(f *dbfile.File) (verify.Proof, error) { return check.Run(ctx, f, search.New(f.DB())) })
		if err != nil && !check.Unopenable(err) {
			return err
		}
		if err == nil && len(check.Damage(proof.Faults)) == 0 {
			return fn(path, nil)
		}
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
