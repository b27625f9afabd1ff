//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// raw is a connection beside those of a store.
func raw(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func execute(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// waitFor returns when a query returns true. It fails the test after a minute.
func waitFor(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		var is bool
		if err := c.QueryRow(t.Context(), sql, args...).Scan(&is); err != nil {
			t.Fatal(err)
		}
		if is {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("it never came true: ", sql)
		}
	}
}

// waiters is a query: whether at least so many connections of a process wait for locks.
const waiters = `SELECT count(*) >= $2 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`

func hurried(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func appendOne(ctx context.Context, db *postgres.DB, id store.ConversationID, text string) error {
	return db.Update(ctx, id, func(w store.Writer) error {
		_, err := w.Append(ctx, message(text))
		return err
	})
}

// Another process holds a conversation. However many writers of this process wait for it,
// writers of other conversations go on.
func TestWritersOfOneConversationLeaveOthersAlone(t *testing.T) {
	url := pgtest.URL(t)
	name := t.Name()
	db := open(t, url+"&application_name="+name, postgres.Options{MaxWriters: 2})
	held, free := conversation(t, db, "held"), conversation(t, db, "free")
	other := raw(t, url)
	execute(t, other, "BEGIN")
	execute(t, other, "SELECT 1 FROM conversations WHERE id = $1 FOR UPDATE", int64(held))
	const writers = 9
	done := make(chan error, writers)
	for n := range writers {
		go func() { done <- appendOne(t.Context(), db, held, fmt.Sprint("late ", n)) }()
	}
	waitFor(t, raw(t, url), waiters, name, 1)
	for n := range 20 {
		if err := appendOne(hurried(t), db, free, fmt.Sprint("at once ", n)); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, other, "COMMIT")
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := len(texts(t, db, held)); n != writers {
		t.Errorf("%d messages are stored, want %d", n, writers)
	}
}

// A process that hangs in a transaction loses its locks: others write, and when it wakes up,
// it writes too.
func TestAHungProcessLosesItsLocks(t *testing.T) {
	url := pgtest.URL(t)
	postgres.SetHungAfter(t, "500ms")
	hung, db := open(t, url, postgres.Options{}), open(t, url, postgres.Options{MaxWriters: 1})
	id := conversation(t, db, "held")
	inside, wake, done := make(chan bool, 9), make(chan bool), make(chan error, 1)
	go func() {
		done <- hung.Update(t.Context(), id, func(w store.Writer) error {
			inside <- true
			<-wake
			_, err := w.Append(t.Context(), message("late"))
			return err
		})
	}()
	<-inside
	if err := appendOne(hurried(t), db, id, "at once"); err != nil {
		t.Fatal(err)
	}
	close(wake)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := texts(t, db, id); len(got) != 2 {
		t.Errorf("there are %v", got)
	}
}

// An erasure, a dry run of one and a mask wait for a payload that another process holds.
// Meanwhile other conversations are written, opened, forked and archived; the erased one
// waits.
func TestErasureStopsOnlyItsConversations(t *testing.T) {
	for _, what := range []string{"erase", "weigh", "mask"} {
		t.Run(what, func(t *testing.T) {
			url := pgtest.URL(t)
			name := "erasure-" + what
			db, eraser := open(t, url, postgres.Options{}), open(t, url+"&application_name="+name, postgres.Options{})
			erased, fork, free := conversation(t, db, "erased"), store.ConversationID(0), conversation(t, db, "free")
			content := store.NewPayload{Data: make([]byte, 1000), MIME: "text/plain", Kind: "text"}
			var ids []store.Appended
			err := db.Update(t.Context(), erased, func(w store.Writer) (err error) {
				id, err := w.PutPayload(t.Context(), content)
				if err != nil {
					return err
				}
				m := message("the secret of the vault")
				m.Payloads = []store.PayloadID{id}
				ids, err = w.Append(t.Context(), m, message("nothing else"))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := db.Fork(t.Context(), erased, ids[1].ID, store.NewConversation{Key: "fork"})
			if err != nil {
				t.Fatal(err)
			}
			fork = c.ID
			say(t, db, free, "before")
			other, look := raw(t, url), raw(t, url)
			execute(t, other, "BEGIN")
			execute(t, other, "SELECT 1 FROM payloads FOR KEY SHARE")
			var running sync.WaitGroup
			running.Go(func() {
				order := store.Erasure{Messages: []store.MessageID{ids[0].ID}, Cause: "test"}
				var err error
				switch what {
				case "erase":
					_, err = eraser.Erase(t.Context(), order)
				case "weigh":
					_, err = eraser.Weigh(t.Context(), order)
				case "mask":
					row := message("the secret of the vault")
					body := llms.Text(llms.RoleUser, "the ###### of the vault")
					row.Body = &body
					err = eraser.Mask(t.Context(), []store.Mask{{ID: ids[0].ID, Row: row}})
				}
				if err != nil {
					t.Error(err)
				}
			})
			waitFor(t, look, waiters, name, 1)
			ctx := hurried(t)
			if err := appendOne(ctx, db, free, "meanwhile"); err != nil {
				t.Fatal(err)
			}
			opened, err := db.Open(ctx, store.NewConversation{Key: "new", Project: store.Project{Root: "/new"}})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Archive(ctx, opened.ID, "test"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Fork(ctx, free, 3, store.NewConversation{Key: "another fork"}); err != nil {
				t.Fatal(err)
			}
			late := "lateness-" + what
			slow := open(t, url+"&application_name="+late, postgres.Options{})
			waiting := make(chan error, 2)
			for _, id := range []store.ConversationID{erased, fork} {
				go func() { waiting <- appendOne(t.Context(), slow, id, "later") }()
			}
			waitFor(t, look, waiters, late, 2)
			execute(t, other, "COMMIT")
			running.Wait()
			for range 2 {
				if err := <-waiting; err != nil {
					t.Error(err)
				}
			}
			for _, id := range []store.ConversationID{erased, fork, free, opened.ID} {
				if v, err := db.Verify(t.Context(), id); err != nil || len(v.Faults) > 0 {
					t.Errorf("conversation %d: %v, %v", id, v.Faults, err)
				}
			}
		})
	}
}

// A writer that waits for an erasure of its conversation sees the tombstones when its
// turn comes: it does not store the erased message again.
func TestWriterAfterErasureRefusesTheErased(t *testing.T) {
	url := pgtest.URL(t)
	name := t.Name()
	db, late := open(t, url, postgres.Options{}), open(t, url+"&application_name="+name, postgres.Options{})
	id := conversation(t, db, "erased")
	secret := message("the secret of the vault, which is long enough")
	secret.Native = "n1"
	appendSecret := func(db *postgres.DB) (done []store.Appended, err error) {
		err = db.Update(t.Context(), id, func(w store.Writer) (err error) {
			done, err = w.Append(t.Context(), secret)
			return err
		})
		return done, err
	}
	first, err := appendSecret(db)
	if err != nil {
		t.Fatal(err)
	}
	other := raw(t, url)
	execute(t, other, "BEGIN")
	execute(t, other, "SELECT 1 FROM lanes FOR UPDATE") // an erasure locks it after the tombstones
	erasing := make(chan error, 1)
	go func() {
		_, err := db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{first[0].ID}, Cause: "test"})
		erasing <- err
	}()
	look := raw(t, url)
	waitFor(t, look, waiters, "lcm", 1)
	type result struct {
		done []store.Appended
		err  error
	}
	appending := make(chan result, 1)
	go func() {
		done, err := appendSecret(late)
		appending <- result{done, err}
	}()
	waitFor(t, look, waiters, name, 1)
	execute(t, other, "COMMIT")
	if err := <-erasing; err != nil {
		t.Fatal(err)
	}
	if r := <-appending; r.err != nil || !r.done[0].Forgotten {
		t.Errorf("the erased message was stored again: %+v, %v", r.done, r.err)
	}
}

// Embeddings of a message are stored while an erasure of it is about to commit. They wait
// for the erasure and are not stored.
func TestVectorsOfAMessageThatIsBeingErased(t *testing.T) {
	url := pgtest.URL(t)
	name := t.Name()
	db, late := open(t, url+"&application_name=erasing-vectors", postgres.Options{DeferIndex: true}), open(t, url+"&application_name="+name, postgres.Options{DeferIndex: true})
	id := conversation(t, db, "erased")
	say(t, db, id, "the secret of the vault")
	other, look := raw(t, url), raw(t, url)
	execute(t, other, "BEGIN")
	execute(t, other, "SELECT 1 FROM lanes FOR UPDATE") // an erasure locks it after it has removed the vectors
	erasing := make(chan error, 1)
	go func() {
		_, err := db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{1}, Cause: "test"})
		erasing <- err
	}()
	waitFor(t, look, waiters, "erasing-vectors", 1)
	vector := []store.MessageVector{{Message: 1, Text: store.TextHash{1}, Vector: []byte{1, 2, 3, 4}}}
	storing := make(chan error, 2)
	go func() { storing <- late.PutVectors(t.Context(), "model", vector) }()
	go func() { storing <- late.PutBlock(t.Context(), "model", store.VectorBlock{Through: 1}, vector) }()
	waitFor(t, look, waiters, name, 2)
	execute(t, other, "COMMIT")
	for _, done := range []chan error{erasing, storing, storing} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	found, err := db.Vectors(t.Context(), "model", []store.TextHash{{1}})
	if err != nil || len(found) > 0 {
		t.Errorf("%d vectors of the erased message are stored: %v", len(found), err)
	}
	if st, err := db.VectorStatus(t.Context(), "model"); err != nil || st.Messages > 0 {
		t.Errorf("a block has %d vectors of the erased message: %v", st.Messages, err)
	}
}

// A conversation is opened in a project whose last conversation is being erased. The
// project stays or comes back: the new conversation is listed.
func TestOpenBesideErasureOfItsProject(t *testing.T) {
	url := pgtest.URL(t)
	db := open(t, url, postgres.Options{})
	for n := range 20 {
		p := store.Project{Root: fmt.Sprint("/project/", n)}
		old, err := db.Open(t.Context(), store.NewConversation{Key: fmt.Sprint("old ", n), Project: p})
		if err != nil {
			t.Fatal(err)
		}
		say(t, db, old.ID, "gone soon")
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{old.ID}, Cause: "test"}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if _, err := db.Open(t.Context(), store.NewConversation{Key: fmt.Sprint("new ", n), Project: p}); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		found, err := db.Conversations(t.Context(), store.ConversationQuery{Project: &p})
		if err != nil || len(found) != 1 {
			t.Fatalf("%d conversations, want 1: %v", len(found), err)
		}
	}
}
