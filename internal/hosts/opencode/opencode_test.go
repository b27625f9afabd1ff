package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// bed is a database as the program has it, and a session in it.
type bed struct {
	testing.TB
	db   *sqlite3.Conn
	home string
	now  int
}

const schema = `
	PRAGMA journal_mode = wal;
	CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text, version text, time_created integer, time_updated integer);
	CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
	CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text);
	INSERT INTO session VALUES ('ses_1', 'global', NULL, 'slug', '/w', 'A title', '1.18.33', 1, 1);`

func newBed(t testing.TB) *bed {
	t.Helper()
	b := &bed{TB: t, home: t.TempDir()}
	path := filepath.Join(b.home, ".local", "share", "opencode", "opencode.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.db, err = sqlite3.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.db.Close() })
	b.exec(schema)
	return b
}

func (b *bed) exec(sql string, args ...any) {
	b.Helper()
	if err := b.db.Exec(fmt.Sprintf(sql, args...)); err != nil {
		b.Fatal(err)
	}
}

// put writes a row as the program does, or writes it again.
func (b *bed) put(table, ids, data string) {
	b.Helper()
	b.now++
	b.exec(`INSERT INTO %s VALUES (%s, %d, %d, '%s') ON CONFLICT (id) DO UPDATE SET time_updated = excluded.time_updated, data = excluded.data`,
		table, ids, b.now, b.now, strings.ReplaceAll(data, "'", "''"))
	b.exec(`UPDATE session SET time_updated = %d`, b.now)
}

func (b *bed) message(id, data string) { b.Helper(); b.put("message", "'"+id+"', 'ses_1'", data) }
func (b *bed) part(id, message, data string) {
	b.Helper()
	b.put("part", "'"+id+"', '"+message+"', 'ses_1'", data)
}

// turn writes a question and an answer.
func (b *bed) turn(n int) {
	b.Helper()
	b.message(fmt.Sprintf("msg_%d_q", n), `{"role":"user","time":{"created":1}}`)
	b.part(fmt.Sprintf("prt_%d_q", n), fmt.Sprintf("msg_%d_q", n), fmt.Sprintf(`{"type":"text","text":"question %d"}`, n))
	b.message(fmt.Sprintf("msg_%d_r", n), `{"role":"assistant","time":{"created":1,"completed":2}}`)
	b.part(fmt.Sprintf("prt_%d_r", n), fmt.Sprintf("msg_%d_r", n), fmt.Sprintf(`{"type":"text","text":"answer %d"}`, n))
}

func (b *bed) transcript() hosts.Transcript {
	b.Helper()
	t, err := hosts.FindSession(b.Context(), New(), New().Find(hosts.Machine{Home: b.home}), "ses_1")
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// read returns the ids of the records from a position on, and where they end.
func (b *bed) read(from hosts.Position) (ids []string, end hosts.Position, records []hosts.Record) {
	b.Helper()
	end = from
	for rec, err := range New().Read(b.Context(), b.transcript(), from) {
		if err != nil {
			b.Fatal(err)
		}
		ids, end, records = append(ids, rec.ID), rec.End, append(records, rec)
	}
	return ids, end, records
}

func (b *bed) want(what string, got []string, want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRecords(t *testing.T) {
	b := newBed(t)
	b.message("msg_1", `{"role":"user","time":{"created":1}}`)
	b.part("prt_1", "msg_1", `{"type":"text","text":"hello"}`)
	b.part("prt_2", "msg_1", `{"type":"text","text":"a file follows","synthetic":true}`)
	b.part("prt_3", "msg_1", `{"type":"file","mime":"text/plain","filename":"a.txt","url":"data:text/plain;base64,aGk="}`)
	b.message("msg_2", `{"role":"assistant","time":{"created":1,"completed":2}}`)
	b.part("prt_4", "msg_2", `{"type":"step-start"}`)
	b.part("prt_5", "msg_2", `{"type":"reasoning","text":"hm"}`)
	b.part("prt_6", "msg_2", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt"}}`)
	b.part("prt_7", "msg_2", `{"type":"tool","tool":"bash","callID":"d","state":{"status":"error","input":{},"error":"no"}}`)
	b.part("prt_8", "msg_2", `{"type":"telepathy"}`)
	b.message("msg_3", `{"role":"assistant","summary":true,"time":{"created":1,"completed":2}}`)
	b.part("prt_9", "msg_3", `{"type":"text","text":"what was"}`)
	b.message("msg_4", "not JSON")

	type row struct {
		Role  llms.Role
		Shows string
		Flags store.Flag
	}
	var got []row
	for _, rec := range hosttest.Read(t, New(), b.transcript()) {
		shows := rec.Render()
		if !rec.Known {
			shows = rec.Type
		}
		got = append(got, row{rec.Role, shows, rec.Flags})
	}
	const hidden = store.FlagHidden
	want := []row{
		{llms.RoleSystem, "", hidden},
		{llms.RoleSystem, "", hidden}, {llms.RoleUser, "hello", 0}, {llms.RoleUser, "a file follows", store.FlagSynthetic}, {llms.RoleUser, "[text/plain a.txt 2 B]\nhi", 0},
		{llms.RoleSystem, "", hidden}, {llms.RoleAssistant, "", hidden}, {llms.RoleAssistant, "[reasoning] hm", 0},
		{llms.RoleAssistant, "→ bash({\"command\":\"ls\"})\n← bash: a.txt", 0}, {llms.RoleAssistant, "→ bash({})\n← error: no", 0},
		{llms.RoleAssistant, "part/telepathy", hidden | store.FlagUnknown},
		{llms.RoleSystem, "", hidden}, {llms.RoleAssistant, "what was", store.FlagHostSummary},
		{llms.RoleSystem, "(damaged)", hidden | store.FlagUnknown},
	}
	if diff := cmp.Diff(want[:len(got)], got); diff != "" || len(got) < len(want)-1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesAreTakenWhenTheyAreComplete(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	b.message("msg_2_q", `{"role":"user","time":{"created":1}}`)
	ids, end, _ := b.read(hosts.Position{})
	b.want("a message without parts is just being written", ids, "ses_1", "msg_1_q", "prt_1_q", "msg_1_r", "prt_1_r")
	b.part("prt_2_q", "msg_2_q", `{"type":"text","text":"more"}`)
	b.message("msg_2_r", `{"role":"assistant","time":{"created":1}}`)
	b.part("prt_2_r", "msg_2_r", `{"type":"text","text":"hal"}`)
	ids, end, _ = b.read(end)
	b.want("the answer is not complete", ids, "msg_2_q", "prt_2_q")
	b.part("prt_2_r", "msg_2_r", `{"type":"text","text":"half of it"}`)
	b.message("msg_2_r", `{"role":"assistant","time":{"created":1,"completed":2}}`)
	ids, end, records := b.read(end)
	// Messages that the pass had read may have changed meanwhile.
	b.want("now it is, and the turn is read again", ids, "msg_2_r", "prt_2_r", "ses_1", "msg_2_q", "prt_2_q", "msg_2_r", "prt_2_r")
	if got := records[1].PlainText(); got != "half of it" {
		t.Errorf("it says %q", got)
	}
	// An answer that was never completed is taken once there is another.
	b.message("msg_3_r", `{"role":"assistant","time":{"created":1}}`)
	b.part("prt_3_r", "msg_3_r", `{"type":"text","text":"cut o"}`)
	b.turn(4)
	ids, _, _ = b.read(end)
	if !strings.Contains(strings.Join(ids, " "), "msg_3_r prt_3_r msg_4_q prt_4_q msg_4_r prt_4_r") {
		t.Errorf("%v", ids)
	}
}

func TestLaterChangesAreRead(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	_, end, _ := b.read(hosts.Position{})
	b.message("msg_1_q", `{"role":"user","time":{"created":1},"summary":{"title":"x"}}`)
	ids, _, records := b.read(end)
	if !strings.Contains(strings.Join(ids, " "), "msg_1_q prt_1_q") || !records[0].Mutable {
		t.Errorf("%v", ids)
	}
}

// opencode writes the title of a session and the files that a turn has changed when the
// records may have been read. They are the same before and after.
func TestRewrittenRowsStayTheSame(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	b.message("msg_1_q", `{"role":"user","time":{"created":1},"agent":"build"}`)
	_, _, before := b.read(hosts.Position{})
	b.exec(`UPDATE session SET title = 'Another title'`)
	b.message("msg_1_q", `{"role":"user","time":{"created":1},"summary":{"diffs":[{"file":"a,\"b\"","additions":1}]},"agent":"build"}`)
	_, _, after := b.read(hosts.Position{})
	for i := range max(len(before), len(after)) {
		if string(before[i].Raw.Bytes) != string(after[i].Raw.Bytes) {
			t.Errorf("%s\nis now\n%s", before[i].Raw.Bytes, after[i].Raw.Bytes)
		}
	}
	if after[0].Title == before[0].Title {
		t.Errorf("the session's title is still %q", after[0].Title)
	}
}

// A message that changes while the pass waits for the answer after it is read with that
// answer, although nothing changes any more.
func TestChangesDuringAPassAreRead(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	b.message("msg_2_r", `{"role":"assistant","time":{"created":1}}`)
	_, end, _ := b.read(hosts.Position{})
	const changed = `{"role":"user","time":{"created":1},"agent":"plan"}`
	b.message("msg_1_q", changed)
	b.message("msg_2_r", `{"role":"assistant","time":{"created":1,"completed":2}}`)
	_, _, records := b.read(end)
	if !slices.ContainsFunc(records, func(rec hosts.Record) bool { return strings.Contains(string(rec.Raw.Bytes), changed) }) {
		t.Error("the changed message is not read")
	}
}

func TestRevertedMessagesAreABranch(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	b.turn(2)
	_, end, _ := b.read(hosts.Position{})
	b.exec(`DELETE FROM part WHERE message_id LIKE 'msg_2%%'; DELETE FROM message WHERE id LIKE 'msg_2%%'`)
	b.turn(3)
	_, _, records := b.read(end)
	for _, rec := range records {
		if rec.Branch != (rec.ID == "msg_3_q") || rec.Branch && rec.After != "prt_1_r" {
			t.Errorf("%s: branch %v after %q", rec.ID, rec.Branch, rec.After)
		}
	}
}

// Reading leaves no trace beside the database, and makes none.
func TestNothingIsWritten(t *testing.T) {
	b := newBed(t)
	b.turn(1)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.home, ".local", "share", "opencode")
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Read(t, New(), b.transcript())
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("%v, before %v, %v", after, before, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "opencode.db")
	if _, err := New().In(t.Context(), elsewhere); err == nil {
		t.Error("a database that is not there is no error")
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("it was made")
	}
	for _, err := range New().Read(t.Context(), hosts.Transcript{Path: dir}, hosts.Position{}) {
		if err == nil {
			t.Error("a directory can be read")
		}
	}
}

func FuzzPart(f *testing.F) {
	for _, data := range []string{`{"type":"text","text":"x"}`, `{"type":"tool","state":{"status":"completed","attachments":[{"type":"file","url":"data:;base64,eA=="}]}}`, `[]`, `{`, `{"type":"file"}`, ""} {
		f.Add(data, `{"role":"assistant","time":{"completed":1}}`)
	}
	b := newBed(f)
	b.exec("PRAGMA synchronous = off")
	f.Fuzz(func(t *testing.T, data, message string) {
		if strings.ContainsRune(data+message, 0) {
			return // the program writes texts
		}
		b := &bed{TB: t, db: b.db, home: b.home, now: b.now + 1}
		b.put("message", "'msg_1', 'ses_1'", strings.ReplaceAll(message, "%", "%%"))
		b.put("part", "'prt_1', 'msg_1', 'ses_1'", strings.ReplaceAll(data, "%", "%%"))
		hosttest.Read(t, New(), b.transcript())
	})
}

// TestVersion2: sessions of version 2 are read by the types of its SDK, each message once, and
// one that the model is writing not yet.
func TestVersion2(t *testing.T) {
	b := newBed(t)
	b.turn(1) // a session of version 1 beside it
	b.exec(`CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text, title text, time_created integer, time_updated integer);
		CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, time_updated integer, data text);
		INSERT INTO session_v2 VALUES ('ses_2', NULL, '/v', 'Tides', 5, 9), ('ses_3', 'ses_2', '/v', 'Sub', 6, 9);
		INSERT INTO session_message VALUES ('m9', 'ses_3', 'user', 1, 6, 6, '{"text":"look"}'), ('m0', 'ses_1', 'agent-switched', 0, 1, 1, '{"agent":"build"}');`)
	say := func(id, kind string, seq int, data string) {
		t.Helper()
		b.exec(`INSERT INTO session_message VALUES ('%s', 'ses_2', '%s', %d, %d, %d, '%s') ON CONFLICT (id) DO UPDATE SET data = excluded.data`, id, kind, seq, seq, seq, data)
	}
	say("m1", "user", 1, `{"time":{"created":1},"text":"when is low tide?"}`)
	say("m2", "assistant", 2, `{"time":{"created":2,"completed":3},"content":[{"type":"reasoning","id":"r","text":"hm"},{"type":"text","id":"x","text":"Looking."},
		{"type":"tool","id":"call_1","name":"bash","state":{"status":"completed","input":{"command":"tide"},"content":[{"type":"text","text":"at six"}]},"time":{"created":2}},
		{"type":"tool","id":"call_2","name":"bash","state":{"status":"error","input":{},"content":[],"error":{"message":"no such tide"}},"time":{"created":2}}]}`)
	say("m3", "shell", 3, `{"time":{"created":3},"callID":"c","command":"ls","output":"a b"}`)
	say("m4", "compaction", 4, `{"time":{"created":4},"reason":"auto","summary":"tides were looked at","recent":""}`)
	say("m5", "model-switched", 5, `{"time":{"created":5},"model":{"id":"x"}}`)
	say("m6", "telepathy", 6, `{"time":{"created":6}}`)
	say("m7", "assistant", 7, `{"time":{"created":7},"content":[{"type":"text","id":"y","text":"So"}]}`)
	h := New()
	in := h.Find(hosts.Machine{Home: b.home, Getenv: func(string) string { return "" }})
	found := map[string]hosts.Transcript{}
	for tr, err := range h.Transcripts(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		found[tr.Session] = tr
	}
	if tr := found["ses_2"]; len(found) != 3 || tr.Dir != "/v" || tr.Title != "Tides" || found["ses_3"].Parent != "ses_2" {
		t.Fatalf("%+v", found)
	}
	at := hosts.Position{}
	read := func(of hosts.Transcript) (got []string) {
		t.Helper()
		for rec, err := range h.Read(t.Context(), of, at) {
			if err != nil {
				t.Fatal(err)
			}
			calls, results := rec.ToolCalls(), rec.ToolResults()
			got = append(got, fmt.Sprintf("%s %s %v %d/%d %q", rec.ID, rec.Role, rec.Flags, len(calls), len(results), rec.PlainText()))
			if len(results) == 2 && (results[0].Output[0].Text != "at six" || !results[1].IsError || calls[0].Arguments != `{"command":"tide"}`) {
				t.Errorf("%+v %+v", calls, results)
			}
			at = rec.End
		}
		return got
	}
	var flags = func(f store.Flag) string { return fmt.Sprint(f) }
	want := []string{
		`m1 user ` + flags(0) + ` 0/0 "when is low tide?"`,
		`m2 assistant ` + flags(0) + ` 2/2 "Looking."`,
		`m3 user ` + flags(0) + ` 0/0 "ls\n\na b"`,
		`m4 user ` + flags(store.FlagHostSummary) + ` 0/0 "tides were looked at"`,
		`m5 system ` + flags(store.FlagHidden) + ` 0/0 ""`,
	}
	got := read(found["ses_2"])
	if len(got) != 6 || !slices.Equal(got[:5], want) || !strings.Contains(got[5], "m6 system "+flags(store.FlagHidden|store.FlagUnknown)) {
		t.Error(cmp.Diff(want, got))
	}
	say("m7", "assistant", 7, `{"time":{"created":7,"completed":8},"content":[{"type":"text","id":"y","text":"So at six."}]}`)
	if got := read(found["ses_2"]); !slices.Equal(got, []string{`m7 assistant ` + flags(0) + ` 0/0 "So at six."`}) {
		t.Error(got)
	}
	at = hosts.Position{}
	if got := read(found["ses_1"]); len(got) != 5 {
		t.Errorf("a session of version 1 has %d records: %q", len(got), got)
	}
	if h.Notice(t.Context(), in) == "" {
		t.Error("doctor says nothing of version 2")
	}
}

// TestVersion2Alone: a database without the tables of version 1 has sessions too.
func TestVersion2Alone(t *testing.T) {
	b := newBed(t)
	b.exec(`DROP TABLE part; DROP TABLE message; DROP TABLE session;
		CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text, title text, time_created integer, time_updated integer);
		CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, time_updated integer, data text);
		INSERT INTO session_v2 VALUES ('ses_2', NULL, '/v', 'Tides', 5, 9);
		INSERT INTO session_message VALUES ('m1', 'ses_2', 'user', 1, 1, 1, '{"text":"when is low tide?"}')`)
	h := New()
	in := h.Find(hosts.Machine{Home: b.home, Getenv: func(string) string { return "" }})
	var said []string
	for tr, err := range h.Transcripts(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range h.Read(t.Context(), tr, hosts.Position{}) {
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, rec.PlainText())
		}
	}
	if len(said) != 1 || said[0] != "when is low tide?" || h.Notice(t.Context(), in) == "" {
		t.Errorf("%q, %q", said, h.Notice(t.Context(), in))
	}
}
