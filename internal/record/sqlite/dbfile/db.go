package dbfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// DB returns the file as the database of the packages that both backends use.
func (f *File) DB() sqldb.DB { return database{f} }

type database struct{ *File }

var _ sqldb.Conn = (*Conn)(nil)

// Reader implements [sqldb.DB].
func (d database) Reader(ctx context.Context, fn func(sqldb.Conn) error) error {
	return d.File.Reader(ctx, func(c *Conn) error { return fn(c) })
}

// Writer implements [sqldb.DB].
func (d database) Writer(ctx context.Context, fn func(sqldb.Conn) error) error {
	return d.File.Writer(ctx, func(c *Conn) error { return fn(c) })
}

// Snapshot implements [sqldb.DB]. Transactions commit in the order in which they take
// numbers, because there is one writer at a time.
func (d database) Snapshot(ctx context.Context, fn func(sqldb.Conn, sqldb.Settled) error) error {
	return d.File.Reader(ctx, func(c *Conn) error {
		return c.Read(func() error { return fn(c, sqldb.Settled{Messages: math.MaxInt64, Summaries: math.MaxInt64}) })
	})
}

// Transact implements [sqldb.DB].
func (d database) Transact(ctx context.Context, fn func(sqldb.Conn) error) error {
	return d.File.Transact(ctx, func(c *Conn) error { return fn(c) })
}

// TransactOn implements [sqldb.DB]. There is one writer at a time.
func (d database) TransactOn(ctx context.Context, _ string, fn func(sqldb.Conn) error) error {
	return d.Transact(ctx, fn)
}

// TransactHeld implements [sqldb.DB].
func (d database) TransactHeld(ctx context.Context, fn func(sqldb.Conn) error) error {
	return d.File.TransactHeld(ctx, func(c *Conn) error { return fn(c) })
}

// Erase implements [sqldb.DB]. Freed space is overwritten at once, so that Scrub finds
// little left if it runs late or never.
func (d database) Erase(ctx context.Context, fn func(sqldb.Conn) error) error {
	return d.File.Writer(ctx, func(c *Conn) (err error) {
		if err := c.Script("PRAGMA secure_delete=ON"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Script("PRAGMA secure_delete=OFF")) }()
		return c.Write(func() error { return fn(c) })
	})
}

// Scrub implements [sqldb.DB]. Rows that were moved within the file leave copies in
// other pages, so that only rebuilding the file removes all of them. Scrub then empties
// the log.
func (d database) Scrub(ctx context.Context) error {
	return d.File.Writer(ctx, func(c *Conn) error {
		if err := Vacuum(c); err != nil {
			return &hint.Error{
				Err:  fmt.Errorf("the erased messages are gone from every table, but the file could not be rebuilt: %w", err),
				Hint: "make room for a copy of the database, then run `lcm forget --finish`: until then parts of them may be left in free space of the file",
			}
		}
		return TruncateLog(ctx, c, d.opts.BusyTimeout)
	})
}

// Size implements [sqldb.DB].
func (d database) Size(ctx context.Context) (s sqldb.Size, err error) {
	err = d.File.Reader(ctx, func(c *Conn) error {
		var pages, size, free int64
		_, err := c.One(`SELECT page_count, page_size, freelist_count, user_version
			FROM pragma_page_count, pragma_page_size, pragma_freelist_count, pragma_user_version`, sqldb.Into(&pages, &size, &free, &s.Schema))
		s.Used, s.Free = pages*size, free*size
		return err
	})
	for suffix, to := range map[string]*int64{"": &s.Stored, "-wal": &s.Log} {
		if info, statErr := os.Stat(d.path + suffix); statErr == nil {
			*to = info.Size()
		}
	}
	return s, err
}

// Settings implements [sqldb.DB].
func (d database) Settings() sqldb.Settings {
	return sqldb.Settings{ReadOnly: d.opts.ReadOnly, DeferIndex: d.opts.DeferIndex, Log: d.opts.Log}
}
