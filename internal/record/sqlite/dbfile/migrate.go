package dbfile

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// ApplicationID marks a SQLite file as ours ("LCM1" in the file's header).
const ApplicationID = 0x4c434d31

// sealedVersion is the first schema version with seals (package seal).
const sealedVersion = 7

// Migrations returns the migrations in order: step n brings a database from
// version n to n+1.
func Migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		sql, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(sql))
	}
	return all, nil
}

// SchemaVersion returns the schema version of the file and checks that it is ours;
// an empty file has version 0.
func SchemaVersion(c *Conn) (version int, err error) {
	// In one transaction: another process may be making the tables right now.
	err = c.Read(func() error {
		var app, tables int
		if version, app, err = ReadStamps(c); err == nil {
			tables, err = sqldb.Value[int](c, "SELECT count(*) FROM sqlite_schema")
		}
		if err == nil && app != ApplicationID && (app != 0 || version != 0 || tables > 0) {
			err = &hint.Error{
				Err:  errors.New("the file is a SQLite database of another program"),
				Hint: "point LCM_DATABASE_PATH at another file",
			}
		}
		return err
	})
	return version, err
}

// checkSchema refuses a database of a newer version or with foreign code,
// before it is changed.
func checkSchema(c *Conn) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	v, err := SchemaVersion(c)
	if err != nil {
		return err
	}
	if v > len(all) {
		return &hint.Error{
			Err:  fmt.Errorf("the database has schema version %d, this lcm knows versions up to %d", v, len(all)),
			Hint: "upgrade lcm; the database was not touched",
		}
	}
	return refuseForeignCode(c)
}

// migrate brings the schema up to date, all steps in one transaction.
func migrate(c *Conn) error {
	all, err := Migrations()
	if err != nil {
		return err
	}
	if v, err := SchemaVersion(c); err != nil || v == len(all) {
		return err
	}
	return c.Write(func() error {
		v, err := SchemaVersion(c) // another process may have been faster
		if err != nil {
			return err
		}
		for was := v; v < len(all); v++ {
			err := c.Script(all[v])
			if err == nil && v+1 == len(all) && was < sealedVersion {
				err = seal.Fill(c)
			}
			if err != nil {
				return fmt.Errorf("migrate to schema version %d: %w", v+1, err)
			}
		}
		return WriteStamps(c, len(all))
	})
}

// addMissingTables lets a read-only connection read a database of an older
// version. Tables and columns that later versions added are made in the
// temporary database of the connection, where names are looked up first. The
// tables are empty, as after a migration, and the columns have their defaults.
func addMissingTables(c *Conn) error {
	version, app, err := ReadStamps(c)
	if Full(err) {
		return err
	}
	if err != nil || app != ApplicationID {
		return nil // SchemaVersion reports the error
	}
	all, err := Migrations()
	if err != nil || version >= len(all) || version < 1 {
		return err
	}
	have, err := SchemaAt(version)
	if err != nil {
		return err
	}
	want, err := SchemaAt(len(all))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if want[name].Kind != "table" {
			continue
		}
		sql := ""
		if old, found := have[name]; !found {
			sql = strings.Replace(want[name].Sql, "CREATE TABLE", "CREATE TEMP TABLE", 1)
		} else if added := MissingColumns(old, want[name]); len(added) > 0 {
			sql = "CREATE TEMP VIEW " + name + " AS SELECT *"
			for _, col := range added {
				sql += fmt.Sprintf(", %s AS %s", cmp.Or(col.Value, "NULL"), col.Name)
			}
			sql += " FROM main." + name
		}
		if err := c.Script(sql); err != nil {
			return fmt.Errorf("read schema version %d as %d: %w", version, len(all), err)
		}
	}
	if _, found := have["lanes"]; !found {
		if err := c.Script("INSERT INTO temp.lanes VALUES (1, 0), (2, 0)"); err != nil {
			return err
		}
	}
	if version < sealedVersion {
		return c.Script(seal.Unsealed)
	}
	return nil
}

// ReadStamps reads the version and the application id in the header.
func ReadStamps(c *Conn) (version, app int, err error) {
	_, err = c.One("SELECT user_version, application_id FROM pragma_user_version, pragma_application_id", sqldb.Into(&version, &app))
	return version, app, err
}

// WriteStamps writes a version and the application id into the header.
func WriteStamps(c *Conn, version int) error {
	return c.Script(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA application_id=%d", version, ApplicationID))
}
