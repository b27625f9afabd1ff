//go:build unix

package postgres_test

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// secret is a word in everything that is erased.
const secret = "zanzibarquixotic"

// noise returns bytes that do not compress, with the secret every few hundred bytes.
func noise(size int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var all []byte
	for len(all) < size {
		for range 300 {
			all = append(all, byte(r.IntN(256)))
		}
		all = append(all, " "+secret+" "...)
	}
	return all
}

// noiseText is noise of characters.
func noiseText(size int) string {
	r := rand.New(rand.NewPCG(2, 2))
	var all strings.Builder
	for all.Len() < size {
		for range 100 {
			all.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
		}
		all.WriteString(" " + secret + " ")
	}
	return all.String()
}

// sections returns bytes of each section of the search index.
func sections(t *testing.T, db *postgres.DB) (parts []string) {
	t.Helper()
	err := db.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
		return c.Query(`SELECT data FROM sections WHERE length(data) > 300`, func(r sqldb.Row) error {
			part := r.ColumnRawBlob(0)[200:260]
			distinct := map[byte]bool{}
			for _, b := range part {
				distinct[b] = true
			}
			if len(distinct) > 20 { // a run of zeros is in every file
				parts = append(parts, string(part))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// The secret is in messages, a payload, a summary and its revision, a title, a project,
// a state row and the search index, in TOAST tables too, and ANALYZE has seen it. After
// the erasure no file of a table or index has it.
func TestErasedTextLeavesThePages(t *testing.T) {
	server, err := pgtest.Start(t.Context())
	pgtest.Require(t, err)
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	url := server.Schema(t)
	db := open(t, url, postgres.Options{})
	ctx := t.Context()
	kept := conversation(t, db, "kept")
	say(t, db, kept, "the first message that stays", "the second message that stays")
	c, err := db.Open(ctx, store.NewConversation{Key: "gone", Title: "About " + secret, Project: store.Project{Root: "/home/" + secret}})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i := range 400 {
		words = append(words, strings.Repeat("filler ", 10)+secret+string(rune('a'+i%26)))
	}
	say(t, db, c.ID, append(words, string(noise(9000)))...)
	err = db.Update(ctx, c.ID, func(w store.Writer) error {
		content := noise(300 << 10)
		id, err := w.PutPayload(ctx, store.NewPayload{Data: content, Name: secret + ".bin", Path: "/tmp/" + secret + ".bin", Kind: "binary"})
		if err != nil {
			return err
		}
		_, err = w.Append(ctx, store.NewMessage{Role: llms.RoleTool, Format: llms.FormatText, Cuts: []store.Cut{{Payload: id}}, Size: int64(len(content)),
			SHA256: sha256.Sum256(content), Tokens: 1, Payloads: []store.PayloadID{id}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := db.View(ctx, c.ID, store.Window{Oldest: 4})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, c.ID, func(w store.Writer) error {
		s, err := w.Fold(ctx, store.NewSummary{Over: v.Items, Wording: store.Wording{Body: "It was " + secret, Tokens: 5, Level: "normal", Method: "test"}})
		if err == nil {
			_, err = w.Reword(ctx, s.ID, store.Wording{Body: noiseText(9000), Tokens: 5, Level: "normal", Method: "test"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Put(ctx, store.HookShownSpace, "gone", []byte("shown: "+secret), 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Reindex(ctx); err != nil {
		t.Fatal(err)
	}
	analyze := func() {
		t.Helper()
		if err := db.SQL().Writer(ctx, func(c sqldb.Conn) error { return c.Script("ANALYZE") }); err != nil {
			t.Fatal(err)
		}
	}
	analyze()
	planted := pgtest.Traces(t, url, secret)
	for _, table := range []string{"messages", "messages (TOAST)", "payloads", "chunks (TOAST)", "summaries", "summaries (TOAST)", "revisions", "conversations", "projects", "state"} {
		if !slices.Contains(planted, table) {
			t.Errorf("the secret is not in %s, so that its erasure proves nothing; it is in %v", table, planted)
		}
	}

	segments := sections(t, db)
	if in := pgtest.Traces(t, url, segments...); !slices.Contains(in, "sections") && !slices.Contains(in, "sections (TOAST)") {
		t.Errorf("the search index is not in its table but in %v", in)
	}

	quotes := func(text string) bool { return strings.Contains(text, secret) }
	if _, err := db.Erase(ctx, store.Erasure{Conversations: []store.ConversationID{c.ID}, Cause: "forget", Quotes: quotes}); err != nil {
		t.Fatal(err)
	}
	if err := db.Reindex(ctx); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(ctx); err != nil {
		t.Fatal(err)
	}
	analyze()
	if left := pgtest.Traces(t, url, append(segments, secret)...); left != nil {
		t.Errorf("the secret is still in %v", left)
	}
	finds(t, db, "first")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	base, files := server.Halt(t), 0
	err = filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the secret is still in %s", path)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were searched: %v", files, err)
	}
}

// A transaction that began before the erasure keeps the dead rows. Scrub waits for its
// end and does not say that the erasure is finished before.
func TestScrubWaitsForOlderTransactions(t *testing.T) {
	url := pgtest.URL(t)
	db, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	c := conversation(t, db, "gone")
	say(t, db, c, "the word is "+secret)
	reading, finish, read := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		read <- other.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
			return c.Read(func() error {
				if _, err := c.Has(`SELECT 1 FROM lanes`); err != nil {
					return err
				}
				close(reading)
				<-finish
				return nil
			})
		})
	}()
	<-reading
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{c}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	scrubbed := make(chan error, 1)
	go func() { scrubbed <- db.Scrub(t.Context()) }()
	select {
	case err := <-scrubbed:
		t.Errorf("Scrub has not waited: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(finish)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if err := <-scrubbed; err != nil {
		t.Fatal(err)
	}
	if left := pgtest.Traces(t, url, secret); left != nil {
		t.Errorf("the secret is still in %v", left)
	}
}

// So does a prepared transaction, which no connection has.
func TestScrubWaitsForPreparedTransactions(t *testing.T) {
	url := pgtest.URL(t)
	db, other := open(t, url, postgres.Options{}), raw(t, url)
	var most string
	if err := other.QueryRow(t.Context(), "SHOW max_prepared_transactions").Scan(&most); err != nil || most == "0" {
		t.Skip("the server prepares no transactions: ", err)
	}
	c := conversation(t, db, "gone")
	say(t, db, c, "the word is "+secret)
	for _, sql := range []string{"BEGIN", "SELECT pg_current_xact_id()", "PREPARE TRANSACTION 'old'"} {
		execute(t, other, sql)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{c}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	scrubbed := make(chan error, 1)
	go func() { scrubbed <- db.Scrub(t.Context()) }()
	select {
	case err := <-scrubbed:
		t.Errorf("Scrub has not waited: %v", err)
		scrubbed <- nil
	case <-time.After(500 * time.Millisecond):
	}
	execute(t, other, "COMMIT PREPARED 'old'")
	if err := <-scrubbed; err != nil {
		t.Fatal(err)
	}
	if left := pgtest.Traces(t, url, secret); left != nil {
		t.Errorf("the secret is still in %v", left)
	}
}

// A role that does not own the tables may erase, but the server does not let it rewrite
// them. Scrub says so, and does not finish the erasure; the owner does.
func TestScrubNeedsTheOwner(t *testing.T) {
	url := pgtest.URL(t)
	name, guest := newRole(t, url, "")
	owner := open(t, url, postgres.Options{})
	admin := raw(t, url)
	schema := admin.Config().RuntimeParams["search_path"]
	execute(t, admin, "GRANT USAGE ON SCHEMA "+schema+" TO "+name)
	execute(t, admin, "GRANT ALL ON ALL TABLES IN SCHEMA "+schema+" TO "+name)
	execute(t, admin, "GRANT ALL ON ALL SEQUENCES IN SCHEMA "+schema+" TO "+name)
	db := open(t, guest, postgres.Options{})
	c := conversation(t, db, "gone")
	say(t, db, c, "the word is "+secret)
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{c}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is not taken to be finished
		if err := db.Scrub(t.Context()); err == nil || !strings.Contains(err.Error(), "may not rewrite the table") {
			t.Errorf("the error is %v", err)
		}
	}
	if err := owner.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := pgtest.Traces(t, url, secret); left != nil {
		t.Errorf("the secret is still in %v", left)
	}
}

// ANALYZE makes no statistics of texts and hashes, where an erasure would not reach them.
func TestTextsHaveNoStatistics(t *testing.T) {
	url := pgtest.URL(t)
	db := open(t, url, postgres.Options{})
	say(t, db, conversation(t, db, "c"), "a message", "another", "and another")
	c := raw(t, url)
	count := func() (n int) {
		t.Helper()
		execute(t, c, "ANALYZE messages")
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stats WHERE schemaname = current_schema() AND attname IN ('record', 'sha256')`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d columns with texts and hashes have statistics", n)
	}
	execute(t, c, "ALTER TABLE messages ALTER COLUMN record SET STATISTICS -1, ALTER COLUMN sha256 SET STATISTICS -1")
	if n := count(); n != 2 {
		t.Errorf("%d columns have statistics when they may, so that their absence proves nothing", n)
	}
}
