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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// replicaVariable tells a process of the test binary to be a replica.
const replicaVariable = "LCM_TEST_REPLICA"

// replica is the order for one: its name and the sessions that it serves.
type replica struct {
	URL      string
	Name     string
	Sessions []string
}

// event is a line that a replica prints.
type event struct {
	Kind    eventKind
	Session string
	Text    string `json:",omitempty"` // of a message
	Seq     int64  `json:",omitempty"` // of an acknowledged message
	Summary store.SummaryID
}

type eventKind string

const (
	tried    eventKind = "tried"    // the append of Text begins
	appended eventKind = "appended" // Text was acknowledged as message Seq
	folded   eventKind = "folded"   // Summary was acknowledged
	searched eventKind = "searched" // a search found Text
	missed   eventKind = "missed"   // a search did not find Text, which was acknowledged
)

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

// serve appends to its sessions, searches and folds until it is killed. It prints an
// event for each message before it is sent and after it was acknowledged.
func (r replica) serve(ctx context.Context) error {
	var db *postgres.DB
	var err error
	for range 1000 { // the server may be starting
		if db, err = postgres.Open(ctx, r.URL, postgres.Options{Log: slog.New(slog.DiscardHandler)}); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	var printing sync.Mutex
	tell := func(e event) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Println(mustJSON(e))
	}
	var all sync.WaitGroup
	for i, key := range r.Sessions {
		all.Go(func() {
			for n := 0; ; n++ {
				r.turn(ctx, db, key, fmt.Sprintf("%ss%dn%d", r.Name, i, n), rand.IntN(20), tell)
			}
		})
	}
	all.Wait()
	return nil
}

// turn appends a message with a word of its own to a session. Then it may search for
// the word, or fold.
func (r replica) turn(ctx context.Context, db *postgres.DB, key, word string, then int, tell func(event)) {
	c, err := db.Open(ctx, store.NewConversation{Key: key})
	if err != nil {
		return
	}
	said := event{Kind: tried, Session: key, Text: fmt.Sprintf("%s says %s. %s", key, word, strings.Repeat("The tariff of the parcel matters. ", 30))}
	tell(said)
	err = db.Update(ctx, c.ID, func(w store.Writer) error {
		done, err := w.Append(ctx, message(said.Text))
		if err == nil {
			said.Seq = done[0].Seq
		}
		return err
	})
	if err != nil {
		return
	}
	said.Kind = appended
	tell(said)
	switch then {
	case 0:
		q := store.Search{Mode: store.FullText, Pattern: word, Limit: 5, Conversations: []store.ConversationID{c.ID}}
		found, err := db.Search(ctx, q)
		for ; err != nil; found, err = db.Search(ctx, q) {
			time.Sleep(10 * time.Millisecond)
		}
		said.Kind = searched
		if !slices.ContainsFunc(found.Hits, func(h store.Hit) bool { return !h.Beside }) {
			said.Kind = missed
		}
		tell(said)
	case 1:
		if s, err := fold(ctx, db, c.ID, word); err == nil && s != "" {
			tell(event{Kind: folded, Session: key, Summary: s})
		}
	}
}

// fold folds the oldest items of a view.
func fold(ctx context.Context, db store.Store, id store.ConversationID, word string) (made store.SummaryID, err error) {
	v, err := db.View(ctx, id, store.Window{Oldest: 4})
	if err != nil || len(v.Items) < 4 {
		return "", err
	}
	err = db.Update(ctx, id, func(w store.Writer) error {
		s, err := w.Fold(ctx, store.NewSummary{Over: v.Items, Wording: store.Wording{Body: "folded after " + word, Tokens: 5, Level: "normal", Method: "test"}})
		made = s.ID
		return err
	})
	return made, err
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// ledger holds the events of all replicas.
type ledger struct {
	mu       sync.Mutex
	tried    map[string]bool             // texts
	appended map[string]map[int64]string // texts by session and number
	twice    []string                    // texts and numbers that were acknowledged twice
	folded   map[store.SummaryID]bool
	missed   []string
	appends  int
	searches int
	cuts     int
	last     time.Time // of the last acknowledged message
}

func (l *ledger) add(e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case tried:
		l.tried[e.Text] = true
	case appended:
		session := l.appended[e.Session]
		if other, known := session[e.Seq]; known {
			l.twice = append(l.twice, fmt.Sprintf("%s %d: %.60q and %.60q", e.Session, e.Seq, other, e.Text))
		}
		session[e.Seq] = e.Text
		l.appends++
		l.last = time.Now()
	case folded:
		l.folded[e.Summary] = true
	case searched:
		l.searches++
	case missed:
		l.missed = append(l.missed, e.Text)
	}
}

// stalled is how long no replica has to acknowledge a message until the test gives up.
const stalled = 5 * time.Minute

// wait waits until enough reports true, as long as messages are acknowledged.
func (l *ledger) wait(t *testing.T, enough func() bool) {
	t.Helper()
	for {
		l.mu.Lock()
		done, last := enough(), l.last
		l.mu.Unlock()
		if done {
			return
		}
		if time.Since(last) > stalled {
			t.Fatalf("no message was acknowledged for %v", stalled)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// more waits until n more messages were acknowledged.
func (l *ledger) more(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	want := l.appends + n
	l.mu.Unlock()
	l.wait(t, func() bool { return l.appends >= want })
}

// Four replicas append to 32 sessions, 64 with LCM_TORTURE, search and fold. Every fourth
// session is served by two of them. Replicas are killed and the server is stopped at once:
// three times, 100 with LCM_TORTURE. Beside that, connections are ended in the middle of
// transactions. No acknowledged message is lost or doubled, everything verifies, and
// the digest is that of a serial replay in SQLite and in PostgreSQL.
//
// A fault comes after a number of acknowledged messages, so that a slow machine takes
// longer and proves the same.
func TestTortureReplicas(t *testing.T) {
	server := pgtest.Crashable(t)
	url := server.Schema(t)
	const replicas = 4
	faults, each, length := 3, 8, 6 // sessions of each replica, and messages of each session at least
	if os.Getenv("LCM_TORTURE") != "" {
		faults, each, length = 100, 16, 10
	}
	open(t, url, postgres.Options{}).Close()
	l := &ledger{tried: map[string]bool{}, appended: map[string]map[int64]string{}, folded: map[store.SummaryID]bool{}, last: time.Now()}
	served := make([][]string, replicas)
	for n := range replicas {
		for s := range each {
			key := fmt.Sprintf("session %d", n*each+s)
			l.appended[key] = map[int64]string{}
			served[n] = append(served[n], key)
			if s%4 == 0 {
				served[(n+1)%replicas] = append(served[(n+1)%replicas], key)
			}
		}
	}
	running := make([]func(), replicas) // each kills its replica and waits until all its events are in the ledger
	begin := func(n int, name string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), replicaVariable+"="+mustJSON(replica{URL: url, Name: name, Sessions: served[n]}))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var e event
				if json.Unmarshal(lines.Bytes(), &e) == nil { // the last line of a killed replica may be cut
					l.add(e)
				}
			}
		}()
		running[n] = sync.OnceFunc(func() {
			_ = cmd.Process.Kill()
			<-read
			_ = cmd.Wait()
		})
		t.Cleanup(running[n])
	}
	for n := range replicas {
		begin(n, fmt.Sprintf("r%df", n))
	}
	ctx, stop := context.WithCancel(t.Context())
	var cutter sync.WaitGroup
	cutter.Go(func() { l.cutConnections(ctx, server.Address()) })
	rng := rand.New(rand.NewPCG(4, 2))
	kills := 0
	for f := range faults {
		l.more(t, replicas*each)
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		if f%2 == 1 {
			if err := server.Crash(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		n := rng.IntN(replicas)
		running[n]()
		begin(n, fmt.Sprintf("r%df%d", n, f))
		kills++
	}
	l.wait(t, func() bool {
		for _, session := range l.appended {
			if len(session) < length {
				return false
			}
		}
		return len(l.folded) > 0 && l.searches > 0 && l.cuts > 0
	})
	stop()
	cutter.Wait()
	for n := range replicas {
		running[n]()
	}
	// The server may still commit what a killed replica has sent.
	waitFor(t, raw(t, server.Address()), `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'lcm')`)
	t.Logf("%d replicas killed, %d stops of the server, %d transactions cut", kills, faults-kills, l.cuts)
	l.check(t, url, server.Schema(t))
}

// cutConnections ends connections that are in a transaction, after every few messages.
func (l *ledger) cutConnections(ctx context.Context, url string) {
	rng := rand.New(rand.NewPCG(7, 7))
	next := 0
	for ctx.Err() == nil {
		time.Sleep(time.Duration(1+rng.IntN(40)) * time.Millisecond)
		l.mu.Lock()
		appends := l.appends
		l.mu.Unlock()
		if appends < next {
			continue
		}
		next = appends + rng.IntN(64)
		ended, err := endTransactions(ctx, url)
		if err != nil {
			continue // the server is stopped
		}
		l.mu.Lock()
		l.cuts += ended
		l.mu.Unlock()
	}
}

// endTransactions ends about a fifth of the connections that are in a transaction.
func endTransactions(ctx context.Context, url string) (ended int, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'lcm' AND xact_start IS NOT NULL AND random() < 0.2`).Scan(&ended)
	return ended, err
}

// check compares the record with the ledger, and its digest with those of two replays.
func (l *ledger) check(t *testing.T, url, empty string) {
	t.Helper()
	for _, twice := range l.twice {
		t.Error("a number was acknowledged twice: ", twice)
	}
	for _, text := range l.missed {
		t.Errorf("a search did not find the acknowledged message %.60q", text)
	}
	db := open(t, url, postgres.Options{})
	all, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(l.appended) {
		t.Errorf("%d sessions are stored, want %d", len(all), len(l.appended))
	}
	replay := map[string][]string{}
	seen := map[string]bool{}
	total := 0
	for _, c := range all {
		stored := texts(t, db, c.ID)
		for i, text := range stored {
			if seen[text] {
				t.Errorf("%.60q is stored twice", text)
			}
			seen[text] = true
			switch said, acknowledged := l.appended[c.Key][int64(i+1)]; {
			case acknowledged: // the ledger says which message this is
				replay[c.Key] = append(replay[c.Key], said)
			case l.tried[text]: // its answer did not arrive
				replay[c.Key] = append(replay[c.Key], text)
			default:
				t.Errorf("%s: nobody has sent message %d, %.60q", c.Key, i+1, text)
			}
		}
		for seq, text := range l.appended[c.Key] {
			if seq > int64(len(stored)) || stored[seq-1] != text {
				t.Errorf("%s: message %d was acknowledged and is lost: %.60q", c.Key, seq, text)
			}
		}
		total += len(stored)
		for s, err := range db.Summaries(t.Context(), store.SummaryQuery{Conversation: c.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			delete(l.folded, s.ID)
		}
	}
	for id := range l.folded {
		t.Errorf("%s was acknowledged and is lost", id)
	}
	proof, err := verify.Prove(t.Context(), db.SQL())
	if err != nil || len(proof.Faults) > 0 {
		t.Fatalf("%v, %v", proof.Faults, err)
	}
	lite, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "replay.db"), sqlite.Options{Relaxed: true, DeferIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	again := open(t, empty, postgres.Options{DeferIndex: true})
	for name, other := range map[string]interface {
		store.Store
		SQL() sqldb.DB
	}{"SQLite": lite, "PostgreSQL": again} {
		serially(t, other, replay)
		serial, err := verify.Prove(t.Context(), other.SQL())
		if err != nil || len(serial.Faults) > 0 {
			t.Fatalf("%s: %v, %v", name, serial.Faults, err)
		}
		if proof.Digest != serial.Digest || proof.Messages != serial.Messages {
			t.Errorf("the digest of %d messages is not that of a serial replay of %d in %s", proof.Messages, serial.Messages, name)
		}
	}
	t.Logf("%d messages in %d sessions, %d of them without an answer, %d summaries, %d searches, digest %x",
		total, len(all), total-l.appends, proof.Summaries, l.searches, proof.Digest[:8])
}

// serially appends the messages of each session, one after the other.
func serially(t *testing.T, db store.Store, sessions map[string][]string) {
	t.Helper()
	for key, texts := range sessions {
		c, err := db.Open(t.Context(), store.NewConversation{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
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
}
