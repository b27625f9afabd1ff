package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
)

// version is the version of the schema, in the table lcm_schema.
const version = 4

//go:embed schema.sql
var schemaSQL string

// prepare makes the tables of an empty database, and refuses one of another version.
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
	case have == 0 && p.opts.ReadOnly:
		advice = "open it for writing once: its tables are made then"
	case have == 0:
		return p.Transact(ctx, createTables)
	case have < version:
		advice = "it was written before lcm 0.1.0: open it once with the last lcm before that, or import its transcripts into a new database"
	}
	return &hint.Error{Err: fmt.Errorf("database %s has schema version %d, this lcm reads version %d", p.name, have, version), Hint: advice}
}

func createTables(c sqldb.Conn) error {
	if err := sqldb.LockName(c, "lcm/schema"); err != nil {
		return err
	}
	if have, err := schemaVersion(c); err != nil || have > 0 { // another process was faster
		return err
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
