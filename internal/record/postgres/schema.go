package postgres

import (
	"context"
	"embed"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
)

//go:embed migrations/*.sql
var migrations embed.FS

// sealedVersion is the first schema version with seals (package seal).
const sealedVersion = 4

// migrate brings the schema up to date. Several processes may do so at once: each waits
// for the one before it.
func (p *pool) migrate(ctx context.Context) error {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	version := 0
	err = p.Reader(ctx, func(c sqldb.Conn) (err error) {
		version, err = schemaVersion(c)
		return err
	})
	switch {
	case err != nil:
		return err
	case version > len(files):
		return &hint.Error{Err: fmt.Errorf("database %s has schema version %d, and this program knows %d", p.name, version, len(files)),
			Hint: "use the version of lcm that wrote it, or a newer one"}
	case version == len(files):
		return nil
	case p.opts.ReadOnly:
		return &hint.Error{Err: fmt.Errorf("database %s has schema version %d of %d", p.name, version, len(files)),
			Hint: "open it for writing once: it is then brought up to date"}
	}
	return p.Transact(ctx, func(c sqldb.Conn) error {
		if err := sqldb.LockName(c, "lcm/migrate"); err != nil {
			return err
		}
		if err := c.Exec(`CREATE TABLE IF NOT EXISTS lcm_schema (version integer PRIMARY KEY)`); err != nil {
			return err
		}
		version, err := schemaVersion(c)
		if err != nil {
			return err
		}
		for i := version; i < len(files); i++ {
			sql, err := migrations.ReadFile("migrations/" + files[i].Name())
			if err != nil {
				return err
			}
			if err := c.Script(string(sql)); err != nil {
				return fmt.Errorf("migration %s: %w", files[i].Name(), err)
			}
			if err := c.Exec(`INSERT INTO lcm_schema VALUES (?)`, i+1); err != nil {
				return err
			}
		}
		if err := tombstone.EnsureSalt(c); err != nil || version >= sealedVersion {
			return err
		}
		return seal.Fill(c)
	})
}

// schemaVersion returns the version of the schema, 0 for an empty database.
func schemaVersion(c sqldb.Conn) (version int, err error) {
	exists, err := c.Has(`SELECT 1 WHERE to_regclass('lcm_schema') IS NOT NULL`)
	if err != nil || !exists {
		return 0, err
	}
	return sqldb.Value[int](c, `SELECT max(version) FROM lcm_schema`)
}
