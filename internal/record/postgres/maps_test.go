//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// halfMap opens a database with a half-done map, and changes it behind the store's back.
func halfMap(t *testing.T, url, change string) *postgres.DB {
	t.Helper()
	db := open(t, url, postgres.Options{})
	for _, key := range []string{"main", "other"} {
		if _, err := db.Open(t.Context(), store.NewConversation{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	if err := storetest.HalfMap(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	if err := db.SQL().Transact(t.Context(), func(c sqldb.Conn) error { return c.Script(change) }); err != nil {
		t.Fatal(err)
	}
	return db
}

// Every change of a half-done map is named, and a resume ends and gives no forged output.
func TestDamageOfMaps(t *testing.T) {
	db := halfMap(t, pgtest.URL(t), "")
	script := func(t *testing.T, sql string) {
		t.Helper()
		if err := db.SQL().Transact(t.Context(), func(c sqldb.Conn) error { return c.Script(sql) }); err != nil {
			t.Fatal(err)
		}
	}
	var keep, restore string
	for _, table := range []string{"map_items", "map_runs", "seals"} {
		keep += fmt.Sprintf("CREATE TABLE kept_%s AS TABLE %[1]s;", table)
		restore += fmt.Sprintf("DELETE FROM %s; INSERT INTO %[1]s TABLE kept_%[1]s;", table)
	}
	script(t, keep)
	for _, damage := range storetest.MapDamage {
		t.Run(damage, func(t *testing.T) {
			script(t, restore)
			if faults, err := db.Orphans(t.Context()); err != nil || len(faults) > 0 {
				t.Fatalf("before the damage verify names %v, %v", faults, err)
			}
			script(t, damage)
			faults, err := db.Orphans(t.Context())
			if err != nil || !slices.ContainsFunc(faults, func(f store.Fault) bool { return f.Code == "map" }) {
				t.Errorf("verify names %v, %v", faults, err)
			}
			outputs, err := storetest.ResumeMap(t.Context(), db, 1)
			if err != nil && err.Error() == "the map does not end" || slices.Contains([]string{outputs[0], outputs[1], outputs[4], outputs[6]}, `"forged"`) {
				t.Errorf("a resume gives %v, %v", outputs, err)
			}
		})
	}
}

// testdata/v7.sql is a dump of a database that the program of the version before wrote. Nothing of it is lost.
func TestAnInstalledDatabaseLosesNothing(t *testing.T) {
	dump, err := os.ReadFile("testdata/v7.sql")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.URL(t)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), string(dump))
	if err = errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	storetest.Installed(t, open(t, url, postgres.Options{}))
}
