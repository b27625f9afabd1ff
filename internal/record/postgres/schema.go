package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
)

// version is the version of the schema, in the table lcm_schema. A database of the version
// before is converted when it is opened to be written.
const (
	version = 8
	before  = 7
)

//go:embed schema.sql
var schemaSQL string

//go:embed convert.sql
var convertSQL string

// prepare makes the tables of an empty database, converts one of the version before, and
// refuses others.
// Several processes may do so at once: each waits for the one before it.
func (p *pool) prepare(ctx context.Context) error {
	have := 0
	err := p.Reader(ctx, func(c sqldb.Conn) (err error) {
		have, err = schemaVersion(c)
		return err
	})
	advice := "use the version of lcm that wrote it, or a newer one"
	switch {
	case err != nil || have == version:
		return err
	case (have == 0 || have == before) && p.opts.ReadOnly:
		advice = "open it once to be written: its tables are made or converted then"
	case have == 0 || have == before:
		return p.Transact(ctx, prepareTables)
	case have < before:
		advice = "it was written before lcm 0.1.0: open it once with the last lcm before that, or import its transcripts into a new database"
	}
	return &hint.Error{Err: fmt.Errorf("database %s has schema version %d, this lcm reads version %d", p.name, have, version), Hint: advice}
}

func prepareTables(c sqldb.Conn) error {
	if err := sqldb.LockName(c, "lcm/schema"); err != nil {
		return err
	}
	switch have, err := schemaVersion(c); {
	case err != nil || have == version: // another process was faster
		return err
	case have == before:
		return sqldb.Steps(func() error { return c.Script(convertSQL) }, func() error { return seal.Convert(c) })
	}
	return sqldb.Steps(
		func() error { return c.Script(schemaSQL) },
		func() error { return tombstone.EnsureSalt(c) },
		func() error { return seal.Fill(c) })
}

// schemaVersion returns the version of the schema, 0 for an empty database.
func schemaVersion(c sqldb.Conn) (version int, err error) {
	exists, err := c.Has(`SELECT 1 WHERE to_regclass('lcm_schema') IS NOT NULL`)
	if err != nil || !exists {
		return 0, err
	}
	return sqldb.Value[int](c, `SELECT max(version) FROM lcm_schema`)
}
