package sqlite_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func plainMessage(n int) store.NewMessage {
	text := fmt.Sprint("message ", n)
	return store.NewMessage{
		Role: llms.RoleUser, Native: fmt.Sprint("n-", n), Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)),
		SHA256: sha256.Sum256([]byte(text)), Tokens: 10, Said: time.Date(2026, 2, 18, 9, 0, n, 0, time.UTC),
	}
}

// dumped is an archive in memory.
type dumped struct {
	data   []byte
	list   []archive.Conversation
	digest string
}

func dump(t *testing.T, db *sqlite.DB, ids ...store.ConversationID) *dumped {
	t.Helper()
	var b bytes.Buffer
	m, err := move.Export(t.Context(), db.SQL(), ids, &b, archive.Manifest{}, nil, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return &dumped{b.Bytes(), m.Conversations, m.Digest}
}

// rows reads the archive, and then yields items of the test.
func (d *dumped) rows(t *testing.T, more ...archive.Item) move.Source {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(d.data), archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	all, err := move.Archive(r, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(archive.Item, error) bool) {
		for item, err := range all {
			if !yield(item, err) {
				return
			}
		}
		for _, item := range more {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (d *dumped) load(t *testing.T, path string) *move.Built {
	t.Helper()
	s, err := move.Build(t.Context(), path, d.rows(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// has checks that a database is that of the archive, and whole.
func (d *dumped) has(t *testing.T, s *move.Built) {
	t.Helper()
	if hex.EncodeToString(s.Proof.Digest[:]) != d.digest || len(s.Damage) > 0 {
		t.Errorf("loaded %+v, damage %v, want the digest %s", s.Proof, s.Damage, d.digest)
	}
}

// What is written out and loaded into an empty database is the same, to the
// digest, the summaries, the branches, the forks and the payloads.
func TestDumpAndLoad(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "other.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	d := dump(t, db)
	s := d.load(t, other)
	d.has(t, s)
	if err := s.Install(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	loaded := open(t, other, sqlite.Options{})
	if again := dump(t, loaded); !bytes.Equal(again.data, d.data) {
		t.Errorf("an archive of what was loaded differs: %d bytes, %d before", len(again.data), len(d.data))
	}
	faults, err := loaded.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("what was loaded has %v, %v", faults, err)
	}
	found, err := loaded.Search(t.Context(), store.Search{Mode: store.FullText, Pattern: "message", Limit: 5})
	if err != nil || found.Matched == 0 {
		t.Errorf("nothing is found in what was loaded: %+v, %v", found, err)
	}
}

// Chosen conversations bring those along that they cannot do without.
func TestDumpChosen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	for want, ids := range map[string][]store.ConversationID{"main": {1}, "rewound": {2}, "fork main": {3}} {
		d := dump(t, db, ids...)
		var keys []string
		for _, c := range d.list {
			keys = append(keys, c.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("conversation %v is written with %q, want %q", ids, got, want)
		}
		d.has(t, d.load(t, path+".x"))
	}
	if _, err := move.Export(t.Context(), db.SQL(), []store.ConversationID{99}, io.Discard, archive.Manifest{}, nil, func(int64) {}); err == nil {
		t.Error("a conversation that is not there was written")
	}
}

// Merging adds missing conversations, and knows equal ones and those that went on here.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "other.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := dump(t, open(t, path, sqlite.Options{}))
	target := open(t, other, sqlite.Options{})
	mine, err := target.Open(t.Context(), store.NewConversation{Key: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := appendOne(t.Context(), target, mine.ID, n); err != nil {
			t.Fatal(err)
		}
	}
	merge := func() (move.Merged, error) { return move.Merge(t.Context(), target.File(), d.load(t, other)) }
	for _, want := range []move.Merged{{Added: 3, Messages: 18}, {Known: 3}} {
		got, err := merge()
		if err != nil || got.Added != want.Added || got.Messages != want.Messages || got.Known != want.Known {
			t.Errorf("merged %+v, %v, want %+v", got, err, want)
		}
	}
	proof, err := check.Prove(t.Context(), target.File())
	if err != nil || len(proof.Faults) > 0 || proof.Messages != 23 {
		t.Errorf("after the merge there is %+v, %v", proof, err)
	}
	if faults, err := target.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("after the merge there is %v, %v", faults, err)
	}
	if err := appendOne(t.Context(), target, 2, 100); err != nil { // main goes on here
		t.Fatal(err)
	}
	if got, err := merge(); err != nil || got.Known != 3 {
		t.Errorf("what is here and longer: %+v, %v", got, err)
	}
}

// mergeInto merges an archive and checks that the record proves.
func mergeInto(t *testing.T, target *sqlite.DB, d *dumped) move.Merged {
	t.Helper()
	got, err := move.Merge(t.Context(), target.File(), d.load(t, filepath.Join(t.TempDir(), "x.db")))
	if err != nil {
		t.Fatal(err)
	}
	if proof, err := check.Prove(t.Context(), target.File()); err != nil || len(proof.Faults) > 0 {
		t.Errorf("after the merge there is %+v, %v", proof, err)
	}
	if faults, err := target.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("after the merge there is %v, %v", faults, err)
	}
	return got
}

// records lists the records of a session.
func records(t *testing.T, db *sqlite.DB, key string) (all []string) {
	t.Helper()
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: one(t, db, key).ID}) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := db.Record(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// An archive of a record that has grown adds what is new: messages with their payloads and
// times, a fork, the next segment of a session. Both records then have the same digest.
func TestMergeGrown(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{Clock: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }})
	target := open(t, filepath.Join(dir, "other.db"), sqlite.Options{})
	talk(t, target, "of its own")
	forgotten := talk(t, target, "forgotten")
	forget(t, target, forgotten.ID)
	mergeInto(t, target, dump(t, db))

	nameless := plainMessage(100)
	nameless.Native, nameless.Said = "", time.Time{}
	err := db.Update(t.Context(), 1, func(w store.Writer) error {
		id, err := w.PutPayload(t.Context(), store.NewPayload{Data: []byte("a large file"), Name: "large.txt"})
		if err != nil {
			return err
		}
		large := plainMessage(101)
		large.SHA256, large.Size = sha256.Sum256([]byte("a large file")), 12
		large.Record, large.Cuts, large.Payloads = nil, []store.Cut{{Style: store.Verbatim, Payload: id}}, []store.PayloadID{id}
		large.Body = &llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Ref: &llms.Ref{ID: string(id)}}}}
		_, err = w.Append(t.Context(), nameless, large)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Fork(t.Context(), 1, 10, store.NewConversation{Key: "second fork"}); err != nil {
		t.Fatal(err)
	}
	if err := appendOne(t.Context(), db, 4, 102); err != nil {
		t.Fatal(err)
	}
	if err := appendOne(t.Context(), db, 2, 103); err != nil {
		t.Fatal(err)
	}
	if err := db.Archive(t.Context(), 2, "reset"); err != nil {
		t.Fatal(err)
	}
	next, err := db.Open(t.Context(), store.NewConversation{Key: "rewound"})
	if err != nil {
		t.Fatal(err)
	}
	if err := appendOne(t.Context(), db, next.ID, 104); err != nil {
		t.Fatal(err)
	}

	grown := dump(t, db)
	if got := mergeInto(t, target, grown); got.Grown != 2 || got.Added != 2 || got.Known != 1 || got.Messages != 5 || len(got.Conflicts) > 0 {
		t.Errorf("merged %+v", got)
	}
	if got := mergeInto(t, target, grown); got.Known != 5 || got.Messages != 0 {
		t.Errorf("merged again %+v", got)
	}
	if all := records(t, target, "main"); len(all) != 14 || all[12] != "message 100" || all[13] != "a large file" {
		t.Errorf("main has %q", all)
	}
	for _, key := range []string{"main", "fork", "second fork"} {
		mine, theirs := one(t, db, key), one(t, target, key)
		if mine.Head != theirs.Head || mine.Messages != theirs.Messages || !mine.UpdatedAt.Equal(theirs.UpdatedAt) || theirs.ForkedFrom != 0 != (mine.ForkedFrom != 0) {
			t.Errorf("%s is %+v, want %+v", key, theirs, mine)
		}
	}
}

// one returns the conversation of a session.
func one(t *testing.T, db *sqlite.DB, key string) store.Conversation {
	t.Helper()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{Key: key})
	if err != nil || len(list) != 1 {
		t.Fatalf("%s has %d conversations, %v", key, len(list), err)
	}
	return list[0]
}

// A conversation that went on in both records keeps its own messages and gets those of the
// archive once, with and without ids; a message that was edited in place is kept twice.
func TestMergeParted(t *testing.T) {
	dir := t.TempDir()
	db, target := open(t, filepath.Join(dir, "lcm.db"), sqlite.Options{}), open(t, filepath.Join(dir, "other.db"), sqlite.Options{})
	say := func(db *sqlite.DB, native, text string) {
		t.Helper()
		c, err := db.Open(t.Context(), store.NewConversation{Key: "main"})
		if err != nil {
			t.Fatal(err)
		}
		m := plainMessage(1)
		m.Native, m.Record, m.Size, m.SHA256 = native, []byte(text), int64(len(text)), sha256.Sum256([]byte(text))
		if err := db.Update(t.Context(), c.ID, func(w store.Writer) error { _, err := w.Append(t.Context(), m); return err }); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []*sqlite.DB{db, target} {
		say(to, "", "begin")
	}
	say(db, "a", "both have it")
	say(db, "b", "edited there")
	say(db, "", "there")
	say(target, "", "here")
	say(target, "a", "both have it")
	say(target, "b", "edited here")
	want := []string{"begin", "here", "both have it", "edited here", "edited there", "there"}
	for range 2 {
		mergeInto(t, target, dump(t, db))
		if got := records(t, target, "main"); !slices.Equal(got, want) {
			t.Fatalf("merged %q, want %q", got, want)
		}
	}
	say(db, "", "there")
	if got := mergeInto(t, target, dump(t, db)); got.Grown != 1 || got.Messages != 1 {
		t.Errorf("merged %+v, want the second \"there\"", got)
	}
	// The fork starts at a message that has other messages before it here.
	if _, err := db.Fork(t.Context(), 1, 3, store.NewConversation{Key: "fork"}); err != nil {
		t.Fatal(err)
	}
	if got := mergeInto(t, target, dump(t, db)); got.Added != 0 || got.Known != 1 || len(got.Conflicts) != 1 {
		t.Errorf("merged %+v, want a conflict", got)
	}
}

// A message that was erased here stays away though the conversation has grown, and the others come.
func TestMergeGrownRefusesTheForgotten(t *testing.T) {
	dir := t.TempDir()
	db, target := open(t, filepath.Join(dir, "lcm.db"), sqlite.Options{}), open(t, filepath.Join(dir, "other.db"), sqlite.Options{})
	for _, to := range []*sqlite.DB{db, target} {
		c, err := to.Open(t.Context(), store.NewConversation{Key: "main"})
		for n := range 3 {
			if err == nil {
				err = appendOne(t.Context(), to, c.ID, n)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := appendOne(t.Context(), db, 1, 3); err != nil {
		t.Fatal(err)
	}
	erase := func(id store.MessageID) {
		t.Helper()
		if _, err := target.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{id}, Cause: "forget"}); err != nil {
			t.Fatal(err)
		}
		if err := target.Scrub(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	erase(3)
	if got := mergeInto(t, target, dump(t, db)); got.Messages != 1 || got.Grown != 1 {
		t.Errorf("merged %+v", got)
	}
	erase(4)
	if got := mergeInto(t, target, dump(t, db)); got.Messages != 0 || got.Known != 1 {
		t.Errorf("merged %+v", got)
	}
	if got := records(t, target, "main"); len(got) != 2 {
		t.Errorf("there is %q", got)
	}
}

// What was erased here does not come back with an archive.
func TestMergeRefusesTheForgotten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	d := dump(t, db)
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{2}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	s := d.load(t, path)
	if got, err := move.Merge(t.Context(), db.File(), s); err != nil || got.Added != 0 || len(got.Conflicts) != 1 || got.Conflicts[0].Key != "rewound" {
		t.Errorf("what was erased comes back: %+v, %v", got, err)
	}
}

// A conversation whose row was left out of an archive is made again of its messages, and
// named: its title is lost.
func TestMendedRowsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	all := dump(t, open(t, path, sqlite.Options{})).rows(t)
	s, err := move.Build(t.Context(), path, func(yield func(archive.Item, error) bool) {
		for item, err := range all {
			if item.Table == "conversations" && slices.Contains(item.Values, any("rewound")) {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if s.Proof.Conversations != 3 || !slices.ContainsFunc(s.Damage, func(f store.Fault) bool { return f.Code == "conversation-missing" }) {
		t.Errorf("%d conversations, damage %v", s.Proof.Conversations, s.Damage)
	}
}

// Rows that do not belong together, or into the schema, are left out and named.
func TestHostileRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	d := dump(t, open(t, path, sqlite.Options{}))
	row := func(table, column string, value any) archive.Item {
		return archive.Item{Row: archive.Row{Table: table, Columns: []string{column}, Values: []any{value}}}
	}
	for name, bad := range map[string]archive.Item{
		"a table that is not there":    row("sqlite_schema", "sql", "x"),
		"a table that is not archived": row("segments", "id", int64(1)),
		"SQL in a column":              row("state", "space) VALUES (1); DROP TABLE messages; --", "x"),
		"a payload without a row":      {Content: bytes.NewReader(nil)},
		"a row twice":                  row("messages", "id", int64(1)),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := move.Build(t.Context(), path, d.rows(t, bad))
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Damage) != 1 || s.Damage[0].Code != "lost" || hex.EncodeToString(s.Proof.Digest[:]) != d.digest {
				t.Errorf("damage %v", s.Damage)
			}
			s.Remove()
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".lcm*")); len(left) > 0 {
				t.Errorf("%v was left behind", left)
			}
		})
	}
	var b bytes.Buffer
	w, err := archive.NewWriter(&b, archive.Manifest{Schema: 999})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := archive.NewReader(&b, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := move.Archive(r, nil); err == nil {
		t.Error("an archive of a later schema was read")
	}
}
