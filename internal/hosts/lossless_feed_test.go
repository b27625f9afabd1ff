package hosts_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
)

// clawLog is the large file of the fixture.
var clawLog = "LOG " + strings.Repeat("line of the log with numbers 12345\n", 180)

const (
	clawToken   = "ghp_" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5F6g7H8"
	clawSession = "openclaw:a1b2c3d4-0000-4000-8000-000000000001"
)

// lossless makes a database of lossless-claw, runs more statements on it, and returns its path
// and the open database, whose changes are in its log.
func (b *bed) lossless(more ...string) (string, *sqlite3.Conn) {
	b.Helper()
	sql, err := os.ReadFile(filepath.Join("openclaw", "testdata", "lossless-claw.sql"))
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.home, ".openclaw", "lcm.db")
	if err := os.MkdirAll(filepath.Join(filepath.Dir(path), "lcm-files", "1"), 0o700); err != nil {
		b.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	for _, sql := range append([]string{"PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0", strings.ReplaceAll(string(sql), "@TOKEN@", clawToken)}, more...) {
		if err := db.Exec(sql); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(filepath.Dir(path), "lcm-files", "1", table(b, db, "SELECT file_id FROM large_files")[0]+".txt")
	if err := os.WriteFile(file, []byte(clawLog), 0o600); err != nil {
		b.Fatal(err)
	}
	return path, db
}

// table returns the rows of a query, their columns separated by a bar.
func table(t testing.TB, db *sqlite3.Conn, sql string) (rows []string) {
	t.Helper()
	s, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Step() {
		var columns []string
		for i := range s.ColumnCount() {
			columns = append(columns, s.ColumnText(i))
		}
		rows = append(rows, strings.Join(columns, "|"))
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func (b *bed) importPath(path string) hosts.Summary {
	b.Helper()
	sums, err := b.feed.All(b.Context(), hosts.Filter{Hosts: []string{"openclaw"}, Path: path}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return sums[0]
}

func (b *bed) session(key string) store.Conversation {
	b.Helper()
	found, err := b.db.Conversations(b.Context(), store.ConversationQuery{Key: key})
	if err != nil || len(found) != 1 {
		b.Fatalf("%d conversations with the key %s, %v", len(found), key, err)
	}
	return found[0]
}

// stored returns the messages of all sessions, by session and native id.
func (b *bed) stored() map[string]store.Message {
	b.Helper()
	all := map[string]store.Message{}
	list, err := b.db.Conversations(b.Context(), store.ConversationQuery{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range list {
		for m, err := range b.db.Messages(b.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				b.Fatal(err)
			}
			all[strings.TrimPrefix(c.Key, "openclaw:")+" "+m.Native] = m
		}
	}
	return all
}

// asLossless puts the text of a message as lossless-claw has it in its table of messages.
func asLossless(m store.Message) string {
	var texts []string
	for _, p := range m.Body.Parts {
		if p.Result != nil {
			for _, o := range p.Result.Output {
				texts = append(texts, o.Text)
			}
		} else if p.Call == nil && p.Kind != "reasoning" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Every row of a database that lossless-claw wrote is in the record: messages with their texts
// and parts, summaries with theirs and with their sources in order, and large files. The
// database, whose changes are in its log, stays as it is, and a second import adds nothing.
func TestLosslessClaw(t *testing.T) {
	b := newBed(t, lcm.WithPrivacy(ingest.Privacy{Redact: privacy.Off}))
	path, claw := b.lossless("UPDATE messages SET content = replace(content, '<private>', '<privat>'); UPDATE message_parts SET text_content = replace(text_content, '<private>', '<privat>')")
	was := filesBelow(t, filepath.Dir(path))
	r := b.importPath(path)
	if len(r.Failures) > 0 || r.Sessions != 3 || r.New != 51 || r.Hidden != 1 || r.Summaries != 8 || len(r.Left) > 0 {
		t.Fatalf("%+v", r)
	}
	if diff := cmp.Diff(was, filesBelow(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files of lossless-claw (-before +after):\n%s", diff)
	}
	all := b.stored()
	rows := table(t, claw, `SELECT session_id || ' ' || coalesce(transcript_entry_id, 'lossless-claw:' || message_id), role, unixepoch(m.created_at), content FROM messages m JOIN conversations USING (conversation_id)`)
	if len(all) != len(rows)+1 { // and the large file
		t.Errorf("%d messages of %d", len(all), len(rows))
	}
	for _, row := range rows {
		id, _, _ := strings.Cut(row, "|")
		m := all[id]
		if got := fmt.Sprintf("%s|%s|%d|%s", id, m.Body.Role, m.Body.Time.Unix(), asLossless(m)); got != row {
			t.Errorf("a message: %s\nwant %s", got, row)
		}
	}
	calls := table(t, claw, `SELECT session_id || ' ' || transcript_entry_id, tool_call_id, tool_name, tool_input FROM message_parts p JOIN messages m USING (message_id) WHERE part_type = 'tool' AND role = 'assistant'`)
	for _, row := range calls {
		id, _, _ := strings.Cut(row, "|")
		c := all[id].Body.ToolCalls()
		if len(c) != 1 || fmt.Sprintf("%s|%s|%s|%s", id, c[0].ID, c[0].Name, c[0].Arguments) != row {
			t.Errorf("a call: %+v\nwant %s", c, row)
		}
	}
	if len(calls) != 6 {
		t.Errorf("%d calls", len(calls))
	}
	if got, want := b.clawSummaries(), table(t, claw, clawSummaries); !cmp.Equal(got, want) {
		t.Errorf("summaries (-want +got):\n%s", cmp.Diff(want, got))
	}
	file := all[strings.TrimPrefix(clawSession, "openclaw:")+" lossless-claw:"+table(t, claw, "SELECT file_id FROM large_files")[0]]
	if !strings.Contains(file.Body.PlainText(), clawLog) {
		t.Errorf("the large file is %.80q", file.Body.PlainText())
	}
	if got := b.importPath(path); got.Unchanged != 3 || got.New != 0 || got.Summaries != 0 {
		t.Errorf("a second import: %+v", got)
	}
	if err := claw.Exec("UPDATE conversations SET updated_at = '2030-01-01 00:00:00'"); err != nil {
		t.Fatal(err)
	}
	if got := b.importPath(path); got.New != 0 || got.Known != 51 || got.Summaries != 0 || len(got.Left) > 0 {
		t.Errorf("an import of all again: %+v", got)
	}
}

// clawSummaries lists summaries by depth and age: text, model, depth and the texts of the sources.
const clawSummaries = `SELECT s.content, s.model, s.depth, coalesce(
	(SELECT group_concat(transcript_entry_id, ' ' ORDER BY l.ordinal) FROM summary_messages l JOIN messages USING (message_id) WHERE l.summary_id = s.summary_id),
	(SELECT group_concat(p.content, ' ' ORDER BY l.ordinal) FROM summary_parents l JOIN summaries p ON p.summary_id = l.parent_summary_id WHERE l.summary_id = s.summary_id))
	FROM summaries s ORDER BY s.depth, s.rowid`

// clawSummaries lists the summaries of the record like the query of this name.
func (b *bed) clawSummaries() (rows []string) {
	b.Helper()
	text, id := map[store.ID]string{}, b.session(clawSession).ID
	for m, err := range b.db.Messages(b.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			b.Fatal(err)
		}
		text[store.ID{Message: m.ID}] = m.Native
	}
	var made []store.Summary
	for s, err := range b.db.Summaries(b.Context(), store.SummaryQuery{Conversation: id}) {
		if err != nil {
			b.Fatal(err)
		}
		text[store.ID{Summary: s.ID}] = s.Body
		made = append(made, s)
	}
	slices.SortStableFunc(made, func(a, b store.Summary) int { return a.Depth - b.Depth })
	for _, s := range made {
		of, err := b.db.Sources(b.Context(), s.ID)
		if err != nil {
			b.Fatal(err)
		}
		var sources []string
		for _, node := range of {
			sources = append(sources, text[node])
		}
		rows = append(rows, fmt.Sprintf("%s|%s|%d|%s", s.Body, s.Model, s.Depth, strings.Join(sources, " ")))
	}
	proof, err := b.db.Verify(b.Context(), id)
	if err != nil || len(proof.Faults) > 0 {
		b.Errorf("verify: %v %v", proof.Faults, err)
	}
	return rows
}

// filesBelow returns the hashes of the files below a directory, by name. The index of the log
// is shared memory, and has marks of readers.
func filesBelow(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The text of lossless-claw is no more trusted than other text: secrets and private blocks of
// messages and summaries go, and a summary of a message that is not stored is not taken.
func TestLosslessClawIsUntrusted(t *testing.T) {
	b := newBed(t, lcm.WithPrivacy(ingest.Privacy{Redact: privacy.All}))
	path, _ := b.lossless(
		"UPDATE summaries SET content = content || ' "+clawToken+" <private>hidden</private>'",
		"UPDATE large_files SET storage_uri = '/x/lcm-files/../../../etc/passwd'",
		"INSERT INTO summaries (summary_id, conversation_id, kind, content, token_count, model) VALUES ('sum_x', 1, 'leaf', 'of messages that are apart', 5, 'm')",
		"INSERT INTO summary_messages SELECT 'sum_x', message_id, seq FROM messages WHERE conversation_id = 1 AND seq IN (30, 32)")
	r := b.importPath(path)
	want := map[string]int{"summaries": 1, "large files that are not on the disk": 1}
	if len(r.Failures) > 0 || r.New != 50 || r.Summaries != 8 || !cmp.Equal(r.Left, want) {
		t.Errorf("%+v", r)
	}
	for id, m := range b.stored() {
		raw, err := b.db.Record(t.Context(), m.ID)
		if err != nil || strings.Contains(string(raw)+m.Body.PlainText(), clawToken) || strings.Contains(string(raw), "secret 1") {
			t.Errorf("%s: %v %s", id, err, raw)
		}
	}
	for _, s := range b.clawSummaries() {
		if strings.Contains(s, clawToken) || strings.Contains(s, "hidden") {
			t.Errorf("a summary: %s", s)
		}
	}
}

// A copy of a message that OpenClaw's session brought is not stored. If the copy came first, the
// session's own record of it is hidden. A copy without the id of an entry may be one of them:
// it is kept, and not shown as the newest message.
func TestLosslessClawBesideOpenClaw(t *testing.T) {
	b := newBed(t)
	path, claw := b.lossless("UPDATE messages SET transcript_entry_id = NULL WHERE message_id = 3")
	entries := table(t, claw, `SELECT json_object('type', 'message', 'id', coalesce(transcript_entry_id, 'a1b2e003'), 'message', json_object('role', replace(role, 'tool', 'user'), 'content', 'own ' || seq))
		FROM messages WHERE conversation_id = 1 ORDER BY seq`)
	b.openclaw(strings.TrimPrefix(clawSession, "openclaw:"), entries)
	own := b.importPath(filepath.Join(b.home, ".openclaw", "agents"))
	if own.New != len(entries) {
		t.Fatalf("%+v", own)
	}
	r := b.importPath(path)
	// The file and the message without an id are new, and so are the two other sessions.
	if r.Known != len(entries)-1 || r.New != 51-r.Known || r.Hidden != 2 || r.Summaries != 6 || r.Left["summaries"] != 2 {
		t.Errorf("%+v", r)
	}
	if v, err := b.db.View(t.Context(), b.session(clawSession).ID, store.Window{Newest: 1}); err != nil || v.Items[len(v.Items)-1].Message != store.MessageID(len(entries)) {
		t.Errorf("the newest message is %+v, %v", v.Items, err)
	}
	again := b.importPath(filepath.Join(b.home, ".openclaw", "agents"))
	if again.New != 0 || again.Known != len(entries) {
		t.Errorf("its own session again: %+v", again)
	}
	other := newBed(t)
	path, _ = other.lossless()
	other.importPath(path)
	nodes := func() string {
		v, err := other.db.View(t.Context(), other.session(clawSession).ID, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v.Items)
	}
	shown := nodes()
	other.openclaw(strings.TrimPrefix(clawSession, "openclaw:"), entries)
	if r := other.importPath(filepath.Join(other.home, ".openclaw", "agents")); r.Hidden != len(entries) || r.New != len(entries) {
		t.Errorf("its own session after the copy: %+v", r)
	}
	if got := nodes(); got != shown {
		t.Errorf("the view has changed:\n%s\n%s", shown, got)
	}
}

// openclaw makes OpenClaw's database with a session.
func (b *bed) openclaw(session string, entries []string) {
	b.Helper()
	path := filepath.Join(b.home, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	sql := `CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, parent_session_key TEXT, spawned_by TEXT);
		CREATE TABLE session_windows (session_id TEXT, session_key TEXT, created_at INTEGER, parent_session_key TEXT, spawned_by TEXT);
		CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, created_at INTEGER);
		CREATE TABLE transcript_rewrite_watermarks (session_id TEXT, generation TEXT, updated_at INTEGER);
		INSERT INTO session_windows VALUES (` + sqlite3.Quote(session) + `, 'agent:main:main', 1, NULL, NULL);`
	for i, e := range entries {
		sql += fmt.Sprintf("INSERT INTO transcript_events VALUES (%s, %d, %s, NULL, 7);", sqlite3.Quote(session), i, sqlite3.Quote(e))
	}
	if err := db.Exec(sql); err != nil {
		b.Fatal(err)
	}
}

// A database that is damaged, or that a newer version wrote, is named, and nothing of it is
// stored.
func TestLosslessClawUnreadable(t *testing.T) {
	for want, more := range map[string]string{
		"newer than 0.15":                          "INSERT INTO lcm_migration_state (step_name, algorithm_version) VALUES ('backfillToolCallColumns', 2)",
		"the table pending_compaction_batches":     "CREATE TABLE pending_compaction_batches (id TEXT)", // 1.0
		"the table pending_summary_nodes":          "CREATE TABLE pending_summary_nodes (id TEXT)",
		"the table conversation_transcript_epochs": "CREATE TABLE conversation_transcript_epochs (id TEXT)",
		"no such column":                           "ALTER TABLE messages RENAME COLUMN conversation_id TO thread",
		"malformed":                                "",
	} {
		b := newBed(t)
		path, claw := b.lossless(more, "PRAGMA wal_checkpoint(TRUNCATE)")
		if err := claw.Close(); err != nil {
			t.Fatal(err)
		}
		if more == "" {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(content[100:], make([]byte, 1<<14))
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := b.importPath(path)
		if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err.Error(), want) || r.New != 0 {
			t.Errorf("%s: %+v", want, r)
		}
	}
}
