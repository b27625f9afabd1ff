//go:build unix

package postgres_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func message(text string) store.NewMessage {
	return store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)),
		SHA256: sha256.Sum256([]byte(text)), Tokens: 1}
}

func conversation(t *testing.T, db *postgres.DB, key string) store.ConversationID {
	t.Helper()
	c, err := db.Open(t.Context(), store.NewConversation{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func say(t *testing.T, db *postgres.DB, id store.ConversationID, texts ...string) {
	t.Helper()
	err := db.Update(t.Context(), id, func(w store.Writer) error {
		for _, text := range texts {
			if _, err := w.Append(t.Context(), message(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// finds fails unless a search by words and one by pattern find exactly one message.
func finds(t *testing.T, db *postgres.DB, word string) {
	t.Helper()
	for _, mode := range []store.Mode{store.FullText, store.Regex} {
		found, err := db.Search(t.Context(), store.Search{Mode: mode, Pattern: word, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		matched := 0
		for _, h := range found.Hits {
			if !h.Beside {
				matched++
			}
		}
		if matched != 1 {
			t.Errorf("%s %q finds %d messages, want 1", mode, word, matched)
		}
	}
}

// A slow transaction takes its number first and commits last, after its successors were
// searched, sealed and merged. Its message is found by every process, also by those that
// searched before.
func TestSlowTransactionIsFound(t *testing.T) {
	url := pgtest.URL(t)
	db, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	slow, quick := conversation(t, db, "slow"), conversation(t, db, "quick")
	appended, commit, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- db.Update(t.Context(), slow, func(w store.Writer) error {
			if _, err := w.Append(t.Context(), message("the slowpoke arrives")); err != nil {
				return err
			}
			close(appended)
			<-commit
			return nil
		})
	}()
	<-appended
	for i := range 30 {
		texts := make([]string, 100)
		for j := range texts {
			texts[j] = fmt.Sprintf("quick message quick%dx%d", i, j)
		}
		say(t, other, quick, texts...)
	}
	for _, s := range []*postgres.DB{db, other} {
		finds(t, s, "quick7x42")
		if err := s.Reindex(t.Context()); err != nil {
			t.Fatal(err)
		}
		finds(t, s, "quick29x99")
	}
	if n := sealed(t, db); n != 0 {
		t.Errorf("segments cover numbers up to %d, while number 1 is not committed", n)
	}
	close(commit)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	third := open(t, url, postgres.Options{})
	for _, s := range []*postgres.DB{db, other, third} {
		finds(t, s, "slowpoke")
	}
	if err := db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := sealed(t, db); n < 3001 {
		t.Errorf("segments cover numbers up to %d, want 3001", n)
	}
	for _, s := range []*postgres.DB{db, other, third} {
		finds(t, s, "slowpoke")
		finds(t, s, "quick0x0")
	}
}

// sealed returns the highest number of a message in a segment.
func sealed(t *testing.T, db *postgres.DB) (last int64) {
	t.Helper()
	err := db.SQL().Reader(t.Context(), func(c sqldb.Conn) (err error) {
		last, err = sqldb.Value[int64](c, `SELECT max(last_id) FROM segments WHERE lane = 1`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// Writers of random speed, with rollbacks among them, append while others search and
// seal. Every acknowledged message is found at once, and at the end all of them.
func TestInterleavedWritersAreFound(t *testing.T) {
	url := pgtest.URL(t)
	const writers, each = 8, 25
	stores := []*postgres.DB{open(t, url, postgres.Options{}), open(t, url, postgres.Options{})}
	ctx, stop := context.WithCancel(t.Context())
	var sealing sync.WaitGroup
	for _, db := range stores {
		sealing.Go(func() {
			for ctx.Err() == nil {
				if err := db.Reindex(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var writing sync.WaitGroup
	for n := range writers {
		id := conversation(t, stores[0], fmt.Sprint("writer ", n))
		writing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for i := range each {
				word := fmt.Sprintf("w%dm%dz", n, i)
				db := stores[r.IntN(len(stores))]
				fails := r.IntN(6) == 0
				for try := 0; ; try++ {
					err := db.Update(t.Context(), id, func(w store.Writer) error {
						if _, err := w.Append(t.Context(), message("it is "+word+" indeed")); err != nil {
							return err
						}
						time.Sleep(time.Duration(r.IntN(4)) * time.Millisecond)
						if fails && try == 0 {
							return context.Canceled
						}
						return nil
					})
					if err == nil {
						break
					}
					if !fails || try > 0 {
						t.Error(err)
						return
					}
				}
				finds(t, stores[r.IntN(len(stores))], word)
			}
		})
	}
	writing.Wait()
	stop()
	sealing.Wait()
	last := open(t, url, postgres.Options{})
	for n := range writers {
		for i := range each {
			finds(t, last, fmt.Sprintf("w%dm%dz", n, i))
		}
	}
}
