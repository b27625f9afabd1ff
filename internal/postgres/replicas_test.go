//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/sqldb/verify"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
)

// replicaVariable tells a process of the test binary to be a replica.
const replicaVariable = "LCM_TEST_REPLICA"

// replica is the order for one: the sessions that it serves.
type replica struct {
	URL      string
	Sessions []string
	Seed     uint64
}

func TestMain(m *testing.M) {
	given := os.Getenv(replicaVariable)
	if given == "" {
		pgtest.Main(m)
	}
	var r replica
	err := json.Unmarshal([]byte(given), &r)
	if err == nil {
		err = r.serve(context.Background())
	}
	fmt.Fprintln(os.Stderr, "replica:", err)
	os.Exit(1)
}

func numbered(session string, n int) string {
	return fmt.Sprintf("%s says number %d of many. %s", session, n, strings.Repeat("The tariff of the parcel matters. ", 30))
}

// serve appends to its sessions, searches and folds until it is killed. It prints each
// message that was acknowledged.
func (r replica) serve(ctx context.Context) error {
	var db *postgres.DB
	var err error
	for range 100 { // the server may be starting
		if db, err = postgres.Open(ctx, r.URL, postgres.Options{Log: slog.New(slog.DiscardHandler)}); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	var printing sync.Mutex
	var all sync.WaitGroup
	for i, key := range r.Sessions {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(r.Seed, uint64(i)))
			next := -1
			for {
				c, err := db.Open(ctx, store.NewConversation{Key: key})
				if err != nil {
					continue
				}
				if next < 0 || rng.IntN(50) == 0 { // as a process that takes the session over
					next = int(c.Messages)
				}
				text := numbered(key, next)
				err = db.Update(ctx, c.ID, func(w store.Writer) error {
					if w.Conversation().Messages != int64(next) {
						return store.ErrStale // an append without an answer was stored after all
					}
					_, err := w.Append(ctx, message(text))
					return err
				})
				if err != nil {
					next = -1
					continue
				}
				printing.Lock()
				fmt.Println(mustJSON(acknowledged{key, next}))
				printing.Unlock()
				next++
				switch rng.IntN(20) {
				case 0:
					_, _ = db.Search(ctx, store.Search{Mode: store.FullText, Pattern: fmt.Sprint("number ", next-1), Limit: 5, Conversations: []store.ConversationID{c.ID}})
				case 1:
					_ = fold(ctx, db, c.ID, next)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// fold folds the oldest items of a view.
func fold(ctx context.Context, db store.Store, id store.ConversationID, n int) error {
	v, err := db.View(ctx, id, store.Window{Oldest: 4})
	if err != nil || len(v.Items) < 4 {
		return err
	}
	return db.Update(ctx, id, func(w store.Writer) error {
		_, err := w.Fold(ctx, store.NewSummary{Over: v.Items, Wording: store.Wording{Body: fmt.Sprint("folded at ", n), Tokens: 5, Level: "normal", Method: "test"}})
		return err
	})
}

type acknowledged struct {
	Session string
	N       int
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Four replicas serve 64 sessions. They are killed, the server is stopped at once, and
// connections are ended in the middle of transactions: with LCM_TORTURE 100 times, else
// ten times. No acknowledged message is lost, none is doubled, everything verifies, and
// the digest is that of a serial replay.
func TestTortureReplicas(t *testing.T) {
	server, err := pgtest.Start(t.Context())
	pgtest.Require(t, err)
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	url := server.Schema(t)
	faults := 10
	if os.Getenv("LCM_TORTURE") != "" {
		faults = 100
	}
	open(t, url, postgres.Options{}).Close()
	var mu sync.Mutex
	ledger := map[string]int{} // the highest acknowledged number of each session
	const replicas, each = 4, 16
	running := make([]*exec.Cmd, replicas)
	var readers sync.WaitGroup
	begin := func(n int, seed uint64) {
		r := replica{URL: url, Seed: seed}
		for s := range each {
			r.Sessions = append(r.Sessions, fmt.Sprintf("replica %d session %d", n, s))
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), replicaVariable+"="+mustJSON(r))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running[n] = cmd
		readers.Go(func() {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var a acknowledged
				if json.Unmarshal(lines.Bytes(), &a) == nil {
					mu.Lock()
					ledger[a.Session] = max(ledger[a.Session], a.N+1)
					mu.Unlock()
				}
			}
		})
	}
	end := func(n int) {
		_ = running[n].Process.Kill()
		_ = running[n].Wait()
	}
	rng := rand.New(rand.NewPCG(4, 2))
	for n := range replicas {
		begin(n, uint64(n))
	}
	for f := range faults {
		time.Sleep(time.Duration(200+rng.IntN(600)) * time.Millisecond)
		switch f % 3 {
		case 0:
			n := rng.IntN(replicas)
			end(n)
			begin(n, uint64(100+f))
		case 1:
			if err := server.Crash(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := endBackends(t.Context(), server.Address()); err != nil {
				t.Log("end connections:", err)
			}
		}
	}
	time.Sleep(time.Second)
	for n := range replicas {
		end(n)
	}
	readers.Wait()
	checkReplicas(t, url, ledger, replicas*each)
}

// endBackends ends half of the connections to the server.
func endBackends(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lcm' AND pid % 2 = 0`)
	return err
}

func checkReplicas(t *testing.T, url string, ledger map[string]int, sessions int) {
	t.Helper()
	db := open(t, url, postgres.Options{})
	replay, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "replay.db"), sqlite.Options{Relaxed: true, DeferIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	defer replay.Close()
	all, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range all {
		stored := texts(t, db, c.ID)
		if len(stored) < ledger[c.Key] {
			t.Errorf("%s: %d messages were acknowledged, %d are stored", c.Key, ledger[c.Key], len(stored))
		}
		again, err := replay.Open(t.Context(), store.NewConversation{Key: c.Key})
		if err != nil {
			t.Fatal(err)
		}
		err = replay.Update(t.Context(), again.ID, func(w store.Writer) error {
			for n, text := range stored {
				if text != numbered(c.Key, n) {
					t.Errorf("%s: message %d is %q", c.Key, n, text)
				}
				if _, err := w.Append(t.Context(), message(numbered(c.Key, n))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		total += len(stored)
	}
	proof, err := verify.Prove(t.Context(), db.SQL())
	if err != nil || len(proof.Faults) > 0 {
		t.Fatalf("%v, %v", proof.Faults, err)
	}
	serial, err := verify.Prove(t.Context(), replay.SQL())
	if err != nil {
		t.Fatal(err)
	}
	if proof.Digest != serial.Digest {
		t.Error("the digest is not that of a serial replay")
	}
	if len(all) != sessions || total < 10*sessions || proof.Summaries == 0 {
		t.Errorf("%d sessions with %d messages and %d summaries are too few to prove anything", len(all), total, proof.Summaries)
	}
	t.Logf("%d messages in %d sessions, %d summaries: none lost, none doubled", total, len(all), proof.Summaries)
}
