package doctor_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	sqlrows "github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

var now = time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// text is a message that is long enough to be summarised.
func text(i int) string {
	return fmt.Sprintf("Step %d. The service in pkg/worker%d.go failed with error E%04d after %d retries, so we raised the limit to %d and "+
		"deployed version 1.%d.0 again. The queue drained within %d minutes, and the dashboard showed no further alerts for the tenant acme-%d.",
		i, i, 4000+i, i%7, i*10, i, i%50+1, i)
}

// build makes a database with everything in it that can be damaged: main (1) is
// folded twice over and has payloads, rewound (2) has a kept branch, fork (3)
// starts from main, alone (4) shares nothing with them.
func build(ctx context.Context, path string) error {
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: clock})
	if err != nil {
		return err
	}
	defer db.Close()
	for _, key := range []string{"main", "rewound"} {
		c, err := db.Open(ctx, store.NewConversation{Key: key, Agent: "test", Project: store.Project{Root: "/a"}})
		if err != nil {
			return err
		}
		if err := fill(ctx, db, c.ID, 24); err != nil {
			return err
		}
	}
	for _, run := range [][2]int{{0, 5}, {1, 6}, {0, 1}, {1, 4}} {
		if err := fold(ctx, db, 1, run[0], run[1]); err != nil {
			return err
		}
	}
	if err := fold(ctx, db, 2, 14, 18); err != nil {
		return err
	}
	err = db.Update(ctx, 2, func(w store.Writer) error { _, err := w.Rewind(ctx, 24+12, "edited"); return err })
	if err != nil {
		return err
	}
	if _, err = db.Fork(ctx, 1, 20, store.NewConversation{Key: "fork", Project: store.Project{Root: "/a"}}); err != nil {
		return err
	}
	c, err := db.Open(ctx, store.NewConversation{Key: "alone"})
	if err != nil {
		return err
	}
	if err := fill(ctx, db, c.ID, 6); err != nil {
		return err
	}
	return db.Reindex(ctx)
}

func fill(ctx context.Context, db *sqlite.DB, id store.ConversationID, n int) error {
	return db.Update(ctx, id, func(w store.Writer) error {
		for i := range n {
			said := text(i + 100*int(id))
			m := store.NewMessage{
				Role: llms.RoleUser, Native: fmt.Sprint("id-", i), Format: llms.FormatText, Record: []byte(said),
				Tokens: llms.Estimate.Count(said), Said: now.Add(time.Duration(i-60) * time.Minute),
			}
			if i == 2 && id == 1 {
				// Two chunks, which compress and have few words to index.
				said += strings.Repeat("-", sqlrows.ChunkSize)
				payload, err := w.PutPayload(ctx, store.NewPayload{Data: []byte(said), Name: "big.txt", MIME: "text/plain", Summary: "a long log", Tokens: 9})
				if err != nil {
					return err
				}
				m.Record, m.Cuts, m.Payloads = nil, []store.Cut{{Style: store.Verbatim, Payload: payload}}, []store.PayloadID{payload}
				m.Body = &llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Ref: &llms.Ref{
					ID: string(payload), Name: "big.txt", MIME: "text/plain", Note: "a long log", Tokens: 9, Bytes: int64(len(said)),
				}}}}
			}
			m.Size, m.SHA256 = int64(len(said)), sha256.Sum256([]byte(said))
			if _, err := w.Append(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func fold(ctx context.Context, db *sqlite.DB, id store.ConversationID, from, to int) error {
	view, err := db.View(ctx, id, store.Window{})
	if err != nil {
		return err
	}
	return db.Update(ctx, id, func(w store.Writer) error {
		_, err := w.Fold(ctx, store.NewSummary{Over: view.Items[from : to+1], Wording: store.Wording{
			Body: "What was said about the workers.\nExpand for details about: retries", Tokens: 40, Level: summary.Normal, Method: "model", Model: "m",
		}})
		return err
	})
}

// kind is one kind of damage.
type kind struct {
	name  string
	do    func(t *testing.T, path string)
	codes []string // that are named
	// lost are the codes that remain after a treatment, because the lost data
	// cannot be derived.
	lost []string
}

// derived reports whether it is a changed column that a treatment makes again, whatever else
// has changed: the content of a payload is known by its own row only.
func (k kind) derived() bool {
	return strings.HasPrefix(k.name, "column ") && len(k.lost) == 0 && k.codes[0] != "payload-numbers"
}

// with runs SQL behind everyone's back.
func with(sql string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		c, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, s := range []string{"PRAGMA foreign_keys=OFF", "PRAGMA ignore_check_constraints=ON", sql} {
			if err := c.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
}

// edit changes the bytes of the file.
func edit(change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// column is a changed byte in a column.
func column(table, name, value, where string, codes, lost []string) kind {
	return kind{"column " + table + "." + name, with(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", table, name, value, where)), codes, lost}
}

func is(codes ...string) []string { return codes }

// kinds are the kinds of damage that doctor must name.
var kinds = slices.Concat(columns, graph, files, inBytes, moved, schemas)

var columns = []kind{
	// Hashed data: named, and never changed.
	column("messages", "record", "x'41' || substr(record, 2)", "id = 9", is("record"), is("record")),
	column("messages", "sha256", "zeroblob(32)", "id = 9", is("record", "chain"), is("record", "chain")),
	column("messages", "chain", "zeroblob(32)", "id = 9", is("chain"), is("chain")),
	column("messages", "role", "2", "id = 9", is("chain"), is("chain")),
	column("messages", "flags", "1", "id = 9", is("chain"), is("chain")),
	column("messages", "said", "said + 1", "id = 9", is("chain"), is("chain")),
	column("messages", "native", "'other'", "id = 9", is("chain"), is("chain")),
	column("messages", "format", "'lcm'", "id = 9", is("chain"), is("chain")),
	column("messages", "size", "size + 1", "id = 9", is("record"), is("record")),
	column("messages", "body", "replace(body, 'big', 'pig')", "id = 3", is("chain"), is("chain")),
	column("messages", "cuts", "'[]'", "id = 3", is("record"), is("record")),
	column("messages", "seq", "99", "id = 54", is("sequence"), is("sequence")),
	// Derived data: named, and rebuilt.
	column("messages", "tokens", "tokens + 1", "id = 9", is("row", "totals"), is("row")),
	column("conversations", "head", "zeroblob(32)", "id = 1", is("head"), nil),
	column("conversations", "messages", "99", "id = 1", is("totals"), nil),
	column("conversations", "summaries", "99", "id = 1", is("totals"), nil),
	column("conversations", "tokens", "99", "id = 1", is("totals"), nil),
	column("conversations", "bytes", "99", "id = 1", is("totals"), nil),
	column("conversations", "view_items", "99", "id = 1", is("view-totals"), nil),
	column("conversations", "view_tokens", "99", "id = 1", is("view-totals"), nil),
	column("conversations", "last_user", "1", "id = 1", is("view-totals"), nil),
	column("conversations", "base", "3", "id = 3", is("base"), nil),
	column("conversations", "updated_at", "updated_at + 1", "id = 1", is("session"), nil),
	column("summaries", "id", "'sum_0000000000000000'", "num = 1", is("summary-text"), nil),
	column("summaries", "body", "'something else'", "num = 1", is("summary-text"), nil),
	column("summaries", "kind", "'condensed'", "num = 1", is("summary-numbers"), nil),
	column("summaries", "depth", "7", "num = 3", is("summary"), nil),
	column("summaries", "pos", "pos + 1", "num = 2", is("summary-numbers"), nil),
	column("summaries", "descendants", "9", "num = 3", is("summary-numbers"), nil),
	column("summaries", "messages", "9", "num = 3", is("summary"), nil),
	column("summaries", "message_tokens", "9", "num = 3", is("summary-numbers"), nil),
	column("summaries", "earliest", "earliest - 1", "num = 1", is("summary-numbers"), nil),
	column("summaries", "latest", "latest + 1", "num = 1", is("summary-numbers"), nil),
	column("summaries", "files", "'x'", "num = 1", is("summary"), nil),
	column("summaries", "retired", "1", "num = 1", is("retired"), nil),
	column("edges", "ord", "99", "message = 5", is("source-order"), nil),
	column("view", "pos", "pos + 100", "conversation = 1 AND message = 23", is("view-order"), nil),
	column("view", "tokens", "tokens + 1", "conversation = 1 AND message = 23", is("view-item", "view-totals"), nil),
	column("view", "stub", "1", "conversation = 1 AND message = 23", is("view-item"), nil),
	column("view", "role", "2", "conversation = 1 AND message = 23", is("view-item"), nil),
	column("view", "depth", "5", "conversation = 1 AND summary = 3", is("view-item"), nil),
	column("view", "links", `'[["a"],["b"]]'`, "conversation = 1 AND message = 23", is("view-item"), nil),
	column("payloads", "sha256", "zeroblob(32)", "num = 1", is("payload-numbers"), nil),
	column("payloads", "size", "1", "num = 1", is("payload-numbers"), nil),
	column("payloads", "id", "'file_0000000000000000'", "num = 1", is("payload-numbers", "record"), nil),
	column("payloads", "name", "'other.txt'", "num = 1", is("payload-about"), nil),
	column("payloads", "summary", "'other'", "num = 1", is("payload-about"), nil),
	column("chunks", "compressed", "1 - compressed", "payload = 1 AND n = 1", is("payload-numbers"), nil),
	column("chunks", "data", "x'41' || substr(data, 2)", "payload = 1 AND n = 1", is("payload", "record"), is("payload", "record")),
	column("segments", "docs", "docs + 1", "lane = 1", is("search-index"), nil),
	column("segments", "last_id", "last_id + 1", "lane = 1", is("search-index"), nil),
	column("sections", "data", "x'41' || substr(data, 2)", "n = 1", is("search-index"), nil),
}

var graph = []kind{
	{"a conversation marked as erased", with("UPDATE conversations SET erased_at = 1 WHERE id = 1"), is("erased-mark"), nil},
	{"a wrong count of erased messages", with("UPDATE conversations SET erased = 5 WHERE id = 1"), is("totals"), nil},
	{"a missing edge", with("DELETE FROM edges WHERE message = 5"), is("uncovered", "summary-text"), nil},
	{"the last edge of a summary missing", with("DELETE FROM edges WHERE summary = 1 AND ord = 6"), is("uncovered", "summary-text"), nil},
	{"an edge between summaries missing", with("DELETE FROM edges WHERE source = 2"), is("orphan", "summary-text"), nil},
	{"all edges of a summary missing", with("DELETE FROM edges WHERE summary = 2"), is("no-sources", "uncovered"), nil},
	{"a cycle", with("INSERT INTO edges VALUES (1, 99, NULL, 3)"), is("cycle"), nil},
	{"a project gone", with("DELETE FROM projects WHERE root = '/a'"), is("dangling"), nil},
	{"a chunk behind the end of a payload", with("INSERT INTO chunks SELECT payload, 1 + (SELECT max(n) FROM chunks WHERE payload = 1), compressed, data FROM chunks WHERE payload = 1 AND n = 1"), is("payload-numbers"), nil},
	{"a chunk far behind the end of a payload", with("INSERT INTO chunks SELECT payload, 99, compressed, data FROM chunks WHERE payload = 1 AND n = 1"), is("payload-numbers"), nil},
	{"a payload's row gone", with("DELETE FROM payloads WHERE num = 1"), is("dangling", "record"), nil},
	{"a message covered twice", with("INSERT INTO edges VALUES (2, 99, 5, NULL)"), is("doubly-covered"), nil},
	{"a message twice in one summary", with("INSERT INTO edges VALUES (1, 99, 5, NULL)"), is("doubly-covered"), nil},
	{"a folded message in the view", with("INSERT INTO view VALUES (1, 5, 5, NULL, 10, 1, 0, 0, NULL)"), is("doubly-covered"), nil},
	{"a message that nothing leads to", with("DELETE FROM view WHERE conversation = 1 AND message = 23"), is("uncovered", "view-totals"), nil},
	{"a summary that nothing leads to", with("DELETE FROM view WHERE conversation = 1 AND summary = 3"), is("uncovered", "orphan"), nil},
	{"a summary gone", with("DELETE FROM summaries WHERE num = 2"), is("missing", "totals"), is("summary-fallback")},
	{"a message of a branch gone from it", with("DELETE FROM branch_items WHERE message = 24 + 14"), is("uncovered"), nil},
	{"a branch's summary gone from it", with("DELETE FROM branch_items WHERE summary IS NOT NULL"), is("orphan"), nil},
	{"what a fork started with", with("DELETE FROM view WHERE conversation = 3 AND message IS NOT NULL"), is("inherited"), nil},
	{"a stranger in a view", with("INSERT INTO view VALUES (4, 77, 23, NULL, 10, 1, 0, 0, NULL)"), is("foreign"), nil},
	{"a message gone", with("DELETE FROM messages WHERE id = 9"), is("sequence", "missing"), is("sequence", "missing")},
	{"the newest message gone", with("DELETE FROM messages WHERE id = 24"), is("head", "missing", "totals"), is("head", "totals")},
	{"a payload's chunk gone", with("DELETE FROM chunks WHERE payload = 1 AND n = 0"), is("payload", "record"), is("payload", "record")},
	{"a payload's last chunk gone", with("DELETE FROM chunks WHERE payload = 1 AND n = 1"), is("payload", "record"), is("payload", "record")},
	{"a payload gone", with("DELETE FROM payloads WHERE num = 1; DELETE FROM message_payloads WHERE payload = 1"), is("record", "dangling"), nil},
	{"a payload's link gone", with("DELETE FROM message_payloads WHERE message = 3"), is("payload-link"), nil},
	{"a seal of nothing", with("INSERT INTO seals VALUES ('others', 0, 0)"), is("tombstones"), is("tombstones")},
	{"a segment gone", with("DELETE FROM segments WHERE lane = 1; INSERT INTO segments VALUES (77, 1, 1, 54, 54, 1, 1, 1, 1, NULL)"), is("search-index"), nil},
	{"a section gone", with("DELETE FROM sections WHERE n = 1"), is("search-index"), nil},
	{"a lane gone", with("DELETE FROM lanes"), is("search-index"), nil},
	{"a summary without text", with("UPDATE summaries SET body = ' ', revision = 1 WHERE num = 1"), is("summary-broken"), nil},
	{"a model's reasoning in a summary", with("UPDATE summaries SET body = '<think>let me see', revision = 1 WHERE num = 1"), is("summary-broken"), nil},
	{"a fallback summary", with("UPDATE summaries SET method = 'reference', revision = 1 WHERE num = 1"), is("summary-fallback"), nil},
}

// made makes a sound database.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pristine.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// snapshot returns a database as bytes, to be copied for each test, and its
// verification.
func snapshot(t *testing.T, path string) ([]byte, verify.Proof) {
	t.Helper()
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := check.ProveFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return sound, whole
}

// laid writes a database into a directory of its own.
func laid(t *testing.T, sound []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// together returns the kinds of damage in the groups that are treated at once: columns
// whose change has the same codes and loses nothing.
func together() (groups [][]kind) {
	of := map[string]int{}
	for _, k := range kinds {
		codes := strings.Join(k.codes, " ")
		if i, ok := of[codes]; ok && k.derived() {
			groups[i] = append(groups[i], k)
			continue
		}
		if k.derived() {
			of[codes] = len(groups)
		}
		groups = append(groups, []kind{k})
	}
	return groups
}

// For each kind of damage doctor names it, Treat rebuilds everything that can be
// derived, and the rest is reported and leaves the other data readable.
func TestDamage(t *testing.T) {
	sound, whole := snapshot(t, made(t))
	t.Logf("%d kinds of damage", len(kinds))
	for _, group := range together() {
		k := group[0]
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, one := range group[1:] {
				p := doctor.Patient{Path: laid(t, sound), Clock: clock, Options: sqlite.Options{Clock: clock}}
				one.do(t, p.Path)
				t.Log(one.name)
				named(t, examine(t, p), one.codes)
			}
			path := laid(t, sound)
			k.do(t, path)
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			named(t, examine(t, p), k.codes)
			for _, one := range group[1:] {
				one.do(t, path)
			}
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if left := codes(treated); len(k.lost) == 0 && len(left) > 0 {
				t.Fatalf("after the treatment there is still %v; failures %q", treated.Findings, treated.Failures)
			}
			named(t, treated, k.lost)
			if len(k.lost) == 0 {
				intact(t, path, whole)
				return
			}
			if treated.Opened {
				readable(t, path)
			}
			// What is lost stays lost: another look says the same.
			if again := examine(t, p); !slices.Equal(codes(again), codes(treated)) {
				t.Errorf("a second look says %v, the first said %v", codes(again), codes(treated))
			}
		})
	}
}

// The tokens of the sources of a damaged summary are counted again: with a wrong number it
// would be named as larger than its sources for ever.
func TestTokensOfSourcesAreCountedAgain(t *testing.T) {
	sound, _ := snapshot(t, made(t))
	path := laid(t, sound)
	tokens := func() (n int64) {
		rows(t, path, `SELECT source_tokens FROM summaries WHERE num = 1`, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) })
		return n
	}
	want := tokens()
	with("UPDATE summaries SET source_tokens = 1, tokens = 1000 WHERE num = 1")(t, path)
	p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
	named(t, examine(t, p), is("summary-broken", "summary-text"))
	treated, err := doctor.Treat(t.Context(), p)
	if err != nil || !treated.Healthy() {
		t.Fatalf("%+v, %v", treated, err)
	}
	if got := tokens(); got != want {
		t.Errorf("%d tokens, there were %d", got, want)
	}
}

func examine(t *testing.T, p doctor.Patient) doctor.Report {
	t.Helper()
	r, err := doctor.Examine(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func codes(r doctor.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Code)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func named(t *testing.T, r doctor.Report, want []string) {
	t.Helper()
	have := codes(r)
	for _, code := range want {
		if !slices.Contains(have, code) {
			t.Errorf("doctor names %v, want %s among it", r.Findings, code)
		}
	}
	for _, f := range r.Findings {
		if f.Message == "" || f.Where == "" || f.Fix == "" && f.Advice == "" {
			t.Errorf("%+v does not say what is wrong and what can be done", f)
		}
	}
}

// intact proves that the treatment has left every message as it was.
func intact(t *testing.T, path string, want verify.Proof) {
	t.Helper()
	got, err := check.ProveFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != want.Digest || len(got.Faults) > 0 {
		t.Errorf("after the treatment the digest is %x, want %x; faults %v", got.Digest, want.Digest, got.Faults)
	}
}

// readable proves that the conversation that shares nothing with the damaged
// one can be read to its end.
func readable(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{Key: "alone"})
	if err != nil || len(list) != 1 {
		t.Skipf("the list of conversations is gone: %v", err)
	}
	n := int64(0)
	if strings.Contains(t.Name(), "root") {
		return // no message can be reached without it
	}
	for _, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: list[0].ID}) {
		if err != nil {
			t.Errorf("message %d of the other conversation: %v", n+1, err)
		}
		n++
	}
	if n != list[0].Messages && n != 5 { // one kind takes a message of it
		t.Errorf("%d messages of the other conversation can be read, of %d", n, list[0].Messages)
	}
}
