package sqlite

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as ours ("LCM1" in the file's header).
const applicationID = 0x4c434d31

// steps returns the migrations in order: step n brings a database from
// version n to n+1.
func steps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []string
	for _, name := range names {
		sql, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(sql))
	}
	return all, nil
}

// SchemaVersion returns the schema version of the file and checks that it is ours;
// an empty file has version 0.
func SchemaVersion(c *conn) (version int, err error) {
	if !c.raw.GetAutocommit() {
		return readVersion(c)
	}
	// In one transaction: another process may be making the tables right now.
	err = c.read(func() (err error) {
		version, err = readVersion(c)
		return err
	})
	return version, err
}

func readVersion(c *conn) (int, error) {
	var version, app, tables int
	for pragma, to := range map[string]*int{"user_version": &version, "application_id": &app} {
		if _, err := c.one("PRAGMA "+pragma, integer(to)); err != nil {
			return 0, err
		}
	}
	if _, err := c.one("SELECT count(*) FROM sqlite_schema", integer(&tables)); err != nil {
		return 0, err
	}
	if app != applicationID && (app != 0 || version != 0 || tables > 0) {
		return 0, &store.Problem{
			Err:  errors.New("the file is a SQLite database of another program"),
			Hint: "point LCM_DATABASE_PATH at another file",
		}
	}
	return version, nil
}

// checkSchema refuses a database from a newer version, or with code in its
// schema, before anything else is done to it.
func checkSchema(c *conn) error {
	all, err := steps()
	if err != nil {
		return err
	}
	v, err := SchemaVersion(c)
	if err != nil {
		return err
	}
	if v > len(all) {
		return &store.Problem{
			Err:  fmt.Errorf("the database has schema version %d, this lcm knows versions up to %d", v, len(all)),
			Hint: "upgrade lcm; the database was not touched",
		}
	}
	return refuseForeignCode(c)
}

// migrate brings the schema up to date, all steps in one transaction.
func migrate(c *conn) error {
	all, err := steps()
	if err != nil {
		return err
	}
	if v, err := SchemaVersion(c); err != nil || v == len(all) {
		return err
	}
	return c.write(func() error {
		v, err := SchemaVersion(c) // another process may have been faster
		if err != nil {
			return err
		}
		for ; v < len(all); v++ {
			if err := c.script(all[v]); err != nil {
				return fmt.Errorf("migrate to schema version %d: %w", v+1, err)
			}
		}
		for _, pragma := range []string{
			fmt.Sprintf("PRAGMA user_version=%d", len(all)),
			fmt.Sprintf("PRAGMA application_id=%d", applicationID),
		} {
			if err := c.script(pragma); err != nil {
				return err
			}
		}
		return nil
	})
}

// emulateNewSchema lets a connection that may not write read a database of an older
// version: what later versions have added to the schema is made in the
// connection's own temporary database, which names are looked up in first.
// Tables are empty there, as they would be after a migration, and columns have
// their defaults.
func emulateNewSchema(c *conn) error {
	version, app, err := readStamps(c)
	if Full(err) {
		return err
	}
	if err != nil || app != applicationID {
		return nil // whoever asks for the version says what is wrong
	}
	all, err := steps()
	if err != nil || version >= len(all) || version < 1 {
		return err
	}
	have, err := schemaAt(version)
	if err != nil {
		return err
	}
	want, err := schemaAt(len(all))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if want[name].kind != "table" {
			continue
		}
		sql := ""
		if old, found := have[name]; !found {
			sql = strings.Replace(want[name].sql, "CREATE TABLE", "CREATE TEMP TABLE", 1)
		} else if added := missingColumns(old, want[name]); len(added) > 0 {
			sql = "CREATE TEMP VIEW " + name + " AS SELECT *"
			for _, col := range added {
				sql += fmt.Sprintf(", %s AS %s", cmp.Or(col.value, "NULL"), col.name)
			}
			sql += " FROM main." + name
		}
		if err := c.script(sql); err != nil {
			return fmt.Errorf("read schema version %d as %d: %w", version, len(all), err)
		}
	}
	if _, found := have["lanes"]; !found {
		return c.script("INSERT INTO temp.lanes VALUES (1, 0), (2, 0)")
	}
	return nil
}

// readStamps reads what the file says it is.
func readStamps(c *conn) (version, app int, err error) {
	for pragma, to := range map[string]*int{"user_version": &version, "application_id": &app} {
		if _, err := c.one("PRAGMA "+pragma, integer(to)); err != nil {
			return 0, 0, err
		}
	}
	return version, app, nil
}
