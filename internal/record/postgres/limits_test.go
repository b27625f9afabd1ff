//go:build unix

package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// newRole makes a role without privileges and returns the address of the same schema for it.
func newRole(t *testing.T, address, options string) (name, own string) {
	t.Helper()
	if os.Getenv("LCM_TEST_POSTGRES") != "" {
		t.Skip("a new role may not connect to the server at LCM_TEST_POSTGRES")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("role_%s", u.Query().Get("search_path"))
	execute(t, raw(t, address), "CREATE ROLE "+name+" LOGIN "+options)
	u.User = url.User(name)
	return name, u.String()
}

// The server has no connection left. A database is opened and a message appended as soon
// as there is one.
func TestWaitsForAFreeConnection(t *testing.T) {
	address := pgtest.URL(t)
	name, own := newRole(t, address, "CONNECTION LIMIT 1")
	admin := raw(t, address)
	execute(t, admin, "GRANT ALL ON SCHEMA "+admin.Config().RuntimeParams["search_path"]+" TO "+name)
	only, err := pgx.Connect(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	waits := func(what string, done chan error, free func() error) {
		t.Helper()
		select {
		case err := <-done:
			t.Fatalf("%s: it has not waited: %v", what, err)
		case <-time.After(400 * time.Millisecond):
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	opened := make(chan error, 1)
	var db *postgres.DB
	go func() {
		var err error
		db, err = postgres.Open(t.Context(), own, postgres.Options{})
		opened <- err
	}()
	waits("open", opened, func() error { return only.Close(t.Context()) })
	if t.Failed() {
		return
	}
	defer db.Close()
	id := conversation(t, db, "c")
	reading, finish, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		read <- db.SQL().Reader(t.Context(), func(sqldb.Conn) error {
			close(reading)
			<-finish
			return nil
		})
	}()
	<-reading
	appended := make(chan error, 1)
	go func() { appended <- appendOne(t.Context(), db, id, "late") }()
	waits("append", appended, func() error { close(finish); return <-read })
}

// A table is locked. However many readers wait for it, they take a limited number of
// connections, and all read in the end.
func TestWaitingReadersAreLimited(t *testing.T) {
	address := pgtest.URL(t)
	name := t.Name()
	db := open(t, address+"&application_name="+name, postgres.Options{MaxReaders: 2})
	other, look := raw(t, address), raw(t, address)
	execute(t, other, "BEGIN")
	execute(t, other, "LOCK TABLE lanes")
	const readers, most = 30, 2 + 4*2
	done := make(chan error, readers)
	for range readers {
		go func() {
			done <- db.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
				_, err := c.Has(`SELECT 1 FROM lanes`)
				return err
			})
		}()
	}
	waitFor(t, look, waiters, name, most)
	time.Sleep(300 * time.Millisecond) // for others, if there were any
	var n int
	if err := look.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`, name).Scan(&n); err != nil || n > most {
		t.Errorf("%d connections wait, want at most %d: %v", n, most, err)
	}
	execute(t, other, "COMMIT")
	for range readers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
