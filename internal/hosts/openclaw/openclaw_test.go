package openclaw

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

const schema = `
	CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, parent_session_key TEXT, spawned_by TEXT);
	CREATE TABLE session_windows (session_id TEXT, session_key TEXT, created_at INTEGER, parent_session_key TEXT, spawned_by TEXT);
	CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, created_at INTEGER);
	CREATE TABLE transcript_rewrite_watermarks (session_id TEXT, generation TEXT, updated_at INTEGER);
	INSERT INTO session_nodes VALUES ('agent:main:a', 's', NULL, NULL), ('agent:main:b', 'child', NULL, 'agent:main:a');
	INSERT INTO session_windows VALUES ('child', 'agent:main:b', 1, NULL, NULL), ('s', 'agent:main:a', 2, NULL, NULL), ('empty', 'agent:main:a', 3, NULL, NULL);
	INSERT INTO transcript_events VALUES ('child', 0, '{"type":"session","version":4,"cwd":"/w"}', NULL, 5);
	INSERT INTO transcript_rewrite_watermarks VALUES ('s', 'g1', 1);`

// machine makes a home with a database, and returns a function that runs statements in it.
func machine(t *testing.T) (hosts.Machine, func(sql string, blobs ...[]byte)) {
	t.Helper()
	m := hosts.Machine{Home: t.TempDir()}
	path := filepath.Join(m.Home, ".openclaw", "agents", "main", "agent", database)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(sql string, blobs ...[]byte) {
		t.Helper()
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if len(blobs) == 0 {
			if err := db.Exec(sql); err != nil {
				t.Fatal(err)
			}
			return
		}
		s, _, err := db.Prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.BindBlob(1, blobs[0]); err != nil {
			t.Fatal(err)
		}
		if err := s.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	run(schema)
	return m, run
}

func found(t *testing.T, m hosts.Machine) (ts []hosts.Transcript) {
	t.Helper()
	for tr, err := range (Host{}).Transcripts(t.Context(), Host{}.Find(m)) {
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, tr)
	}
	return ts
}

const user = `{"type":"message","id":"u","parentId":null,"message":{"role":"user","content":"hello"}}`

func TestCompressedAndDamagedEvents(t *testing.T) {
	m, run := machine(t)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	run("INSERT INTO transcript_events VALUES ('s', 0, NULL, ?, 7)", z.EncodeAll([]byte(user), nil))
	run("INSERT INTO transcript_events VALUES ('s', 1, NULL, ?, 8)", []byte("no zstd"))
	run(`INSERT INTO transcript_events VALUES ('s', 2, '{"type":"telepathy","id":"x"}', NULL, 9), ('s', 3, '{', NULL, 9)`)
	ts := found(t, m)
	if len(ts) != 2 || ts[0].Session != "s" || ts[1].Session != "child" || ts[1].Parent != "s" || ts[0].Modified.UnixMilli() != 9 {
		t.Fatalf("%+v", ts)
	}
	records := hosttest.Read(t, Host{}, ts[0])
	got := ""
	for _, rec := range records {
		got += string(rec.Raw.Bytes) + "\n"
		if unknown := rec.Flags&store.FlagUnknown != 0; unknown == (rec.ID == "u") {
			t.Errorf("%s: flags %b", rec.Raw.Bytes, rec.Flags)
		}
	}
	if want := user + "\nno zstd\n{\"type\":\"telepathy\",\"id\":\"x\"}\n{\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A session that was rewritten is read from its beginning, and its prompts may be branches.
func TestRewritten(t *testing.T) {
	m, run := machine(t)
	run(`INSERT INTO transcript_events VALUES ('s', 0, '` + user + `', NULL, 7), ('s', 1, '{"type":"message","id":"a","parentId":"u","message":{"role":"assistant","content":"hi"}}', NULL, 7)`)
	tr := found(t, m)[0]
	from := hosttest.Read(t, Host{}, tr)[1].End
	read := func() (got string) {
		t.Helper()
		for rec, err := range (Host{}).Read(t.Context(), tr, from) {
			if err != nil {
				t.Fatal(err)
			}
			if got += " " + rec.ID; rec.Branch {
				got += "<" + rec.After
			}
		}
		return strings.TrimSpace(got)
	}
	if got := read(); got != "" {
		t.Errorf("nothing is new, and %s is read", got)
	}
	run(`INSERT INTO transcript_events VALUES ('s', 2, '{"type":"message","id":"v","parentId":"u","message":{"role":"user","content":"no"}}', NULL, 8)`)
	if got := read(); got != "v<u" {
		t.Errorf("%s is read after the session went back", got)
	}
	run(`UPDATE transcript_rewrite_watermarks SET generation = 'g2'; DELETE FROM transcript_events WHERE seq = 1 AND session_id = 's'`)
	if got := read(); got != "u< v<u" {
		t.Errorf("%s is read of a session that was rewritten", got)
	}
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"other.sqlite": "", database: "no database"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Host{}).In(t.Context(), path); err == nil {
			t.Errorf("%s is a transcript", name)
		}
	}
	if _, err := (Host{}).In(t.Context(), filepath.Join(dir, "gone", database)); err == nil {
		t.Error("a file that is not there is a transcript")
	}
}

// A setting that lcm does not have would be passed over without a word.
func TestCounterpartsAreSettings(t *testing.T) {
	for _, pair := range counterparts {
		known := slices.ContainsFunc([]string{"1", "50", "1000", "openai"}, func(value string) bool {
			_, err := config.Set(nil, pair[1], value)
			return err == nil
		})
		if !known {
			t.Errorf("%s: there is no setting %s", pair[0], pair[1])
		}
	}
}
