package doctor_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

var (
	every = flag.Bool("every", false, "damage every row in every way, instead of a random choice of them")
	seed  = flag.Uint64("seed", 1, "what the random choice of damages starts from, 0 for another one each time")
)

// mishap is something that happens to rows which follow from the messages.
type mishap struct {
	name, sql string
	harmless  bool // it may leave everything as it should be
}

// mishaps are the changes that can happen to each row of the graph: it is deleted,
// moved, duplicated or renumbered.
func mishaps(t *testing.T, path string) []mishap {
	t.Helper()
	var all []mishap
	add := func(name, format string, args ...any) {
		all = append(all, mishap{name: name, sql: fmt.Sprintf(format, args...)})
	}
	rows(t, path, `SELECT summary, ord FROM edges`, func(s *sqlite3.Stmt) {
		sum, ord := s.ColumnInt64(0), s.ColumnInt64(1)
		at := fmt.Sprintf("edge %d/%d", sum, ord)
		where := fmt.Sprintf("summary = %d AND ord = %d", sum, ord)
		add(at+" deleted", `DELETE FROM edges WHERE %s`, where)
		add(at+" renumbered", `UPDATE edges SET ord = ord + 1000 WHERE %s`, where)
		all[len(all)-1].harmless = true // the order may be the same
		add(at+" doubled", `INSERT OR REPLACE INTO edges SELECT summary, ord + 1000, message, source FROM edges WHERE %s`, where)
		add(at+" turned to another message", `UPDATE edges SET message = 1 + (ifnull(message, source) + 2) %% 24, source = NULL WHERE %s`, where)
		rows(t, path, `SELECT num FROM summaries`, func(s *sqlite3.Stmt) {
			if to := s.ColumnInt64(0); to != sum {
				add(fmt.Sprintf("%s moved to %d", at, to), `UPDATE edges SET summary = %d, ord = ord + 1000 WHERE %s`, to, where)
				add(fmt.Sprintf("%s also in %d", at, to), `INSERT OR REPLACE INTO edges SELECT %d, ord + 1000, message, source FROM edges WHERE %s`, to, where)
			}
		})
	})
	rows(t, path, `SELECT a.num, b.num FROM summaries a JOIN summaries b ON a.num <> b.num`, func(s *sqlite3.Stmt) {
		a, b := s.ColumnInt64(0), s.ColumnInt64(1)
		add(fmt.Sprintf("all edges of %d moved to %d", a, b), `UPDATE edges SET summary = %d, ord = ord + 1000 WHERE summary = %d`, b, a)
		add(fmt.Sprintf("the edges of %d and %d swapped", a, b), `UPDATE edges SET summary = -1 WHERE summary = %d; UPDATE edges SET summary = %d WHERE summary = %d; UPDATE edges SET summary = %d WHERE summary = -1`, a, a, b, b)
		add(fmt.Sprintf("%d for %d in the view", a, b), `UPDATE view SET summary = %d WHERE summary = %d`, a, b)
		add(fmt.Sprintf("%d for %d among the sources", a, b), `UPDATE edges SET source = %d WHERE source = %d`, a, b)
	})
	rows(t, path, `SELECT conversation, pos FROM view`, func(s *sqlite3.Stmt) {
		id, pos := s.ColumnInt64(0), s.ColumnInt64(1)
		at := fmt.Sprintf("view %d/%d", id, pos)
		where := fmt.Sprintf("conversation = %d AND pos = %d", id, pos)
		add(at+" deleted", `DELETE FROM view WHERE %s`, where)
		add(at+" renumbered", `UPDATE view SET pos = pos + 1000 WHERE %s`, where)
		add(at+" doubled", `INSERT INTO view SELECT conversation, pos + 1000, message, summary, tokens, role, depth, stub, links FROM view WHERE %s`, where)
		for to := 1; to <= 4; to++ {
			if int64(to) != id {
				add(fmt.Sprintf("%s moved to conversation %d", at, to), `UPDATE view SET conversation = %d, pos = pos + 1000 WHERE %s`, to, where)
			}
		}
	})
	rows(t, path, `SELECT branch, pos FROM branch_items`, func(s *sqlite3.Stmt) {
		at := fmt.Sprintf("branch %d/%d", s.ColumnInt64(0), s.ColumnInt64(1))
		where := fmt.Sprintf("branch = %d AND pos = %d", s.ColumnInt64(0), s.ColumnInt64(1))
		add(at+" deleted", `DELETE FROM branch_items WHERE %s`, where)
		add(at+" renumbered", `UPDATE branch_items SET pos = pos + 1000 WHERE %s`, where)
		add(at+" doubled", `INSERT INTO branch_items SELECT branch, pos + 1000, message, summary FROM branch_items WHERE %s`, where)
		add(at+" moved to a branch that is not there", `UPDATE branch_items SET branch = 77 WHERE %s`, where)
	})
	rows(t, path, `SELECT id FROM branches`, func(s *sqlite3.Stmt) {
		id := s.ColumnInt64(0)
		add(fmt.Sprintf("branch %d deleted", id), `DELETE FROM branches WHERE id = %d`, id)
		add(fmt.Sprintf("branch %d renumbered", id), `UPDATE branches SET id = 77 WHERE id = %d`, id)
		add(fmt.Sprintf("branch %d moved", id), `UPDATE branches SET conversation = 4 WHERE id = %d`, id)
	})
	rows(t, path, `SELECT num FROM summaries`, func(s *sqlite3.Stmt) {
		num := s.ColumnInt64(0)
		add(fmt.Sprintf("summary %d deleted", num), `DELETE FROM summaries WHERE num = %d`, num)
		add(fmt.Sprintf("summary %d renumbered", num), `UPDATE summaries SET num = 77 WHERE num = %d`, num)
		add(fmt.Sprintf("summary %d moved to another conversation", num), `UPDATE summaries SET conversation = 4 WHERE num = %d`, num)
		add(fmt.Sprintf("summary %d elsewhere", num), `UPDATE summaries SET pos = pos + 3 WHERE num = %d`, num)
		add(fmt.Sprintf("summary %d retired or not", num), `UPDATE summaries SET retired = NOT retired WHERE num = %d`, num)
		add(fmt.Sprintf("summary %d doubled", num), `CREATE TEMP TABLE s AS SELECT * FROM summaries WHERE num = %d; UPDATE s SET num = 77, id = 'sum_00000000000000aa'; INSERT INTO summaries SELECT * FROM s`, num)
		add(fmt.Sprintf("summary %d doubled with its edges", num), `CREATE TEMP TABLE s AS SELECT * FROM summaries WHERE num = %d; UPDATE s SET num = 77, id = 'sum_00000000000000aa'; INSERT INTO summaries SELECT * FROM s; INSERT OR REPLACE INTO edges SELECT 77, ord, message, source FROM edges WHERE summary = %[1]d`, num)
	})
	return all
}

// rows reads a database behind everyone's back.
func rows(t *testing.T, path, sql string, row func(*sqlite3.Stmt)) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, _, err := c.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Step() {
		row(s)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// happened lets something happen, and reports whether anything did.
func happened(t *testing.T, path, sql string) bool {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := c.TotalChanges()
	if err := c.Exec("PRAGMA foreign_keys=OFF; " + strings.ReplaceAll(sql, "UPDATE", "UPDATE OR REPLACE")); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return c.TotalChanges() > before
}

// Doctor names any damage to derived data, alone or combined, and Treat makes the record
// verifiable again with every message unchanged.
func TestMishaps(t *testing.T) {
	pristine := made(t)
	sound, whole := snapshot(t, pristine)
	all := mishaps(t, pristine)
	start := *seed
	for start == 0 {
		start = rand.Uint64()
	}
	random := rand.New(rand.NewPCG(start, 1))
	var choice []mishap
	if *every {
		choice = slices.Clone(all)
	} else {
		for range 12 {
			choice = append(choice, all[random.IntN(len(all))])
		}
	}
	for range max(8, len(choice)/6) { // several at once, of which one may undo another
		m := mishap{harmless: true}
		for range 2 + random.IntN(3) {
			one := all[random.IntN(len(all))]
			m.name, m.sql = m.name+"; "+one.name, m.sql+"; "+one.sql
		}
		if !strings.Contains(m.sql, "TEMP") {
			choice = append(choice, m)
		}
	}
	t.Logf("%d of %d mishaps, -seed %d", len(choice), len(all), start)
	for _, m := range choice {
		t.Run(strings.ReplaceAll(m.name, "/", "."), func(t *testing.T) {
			t.Parallel()
			path := laid(t, sound)
			if !happened(t, path, m.sql) {
				t.Skip("it changes nothing")
			}
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			found := examine(t, p)
			if len(found.Findings) == 0 && !m.harmless {
				t.Error("doctor finds nothing wrong")
			}
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range treated.Findings {
				if f.Code != "summary-fallback" {
					t.Errorf("left: %+v; failures %q", f, treated.Failures)
				}
			}
			intact(t, path, whole)
		})
	}
}

// Every table and index of the schema may be dropped. Except for the two with the record
// itself, Treat makes the file work again, and reports the data that are lost.
func TestDropped(t *testing.T) {
	pristine := made(t)
	forget(t, pristine)
	sound, whole := snapshot(t, pristine)
	var all [][2]string
	rows(t, pristine, `SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`, func(s *sqlite3.Stmt) {
		all = append(all, [2]string{s.ColumnText(0), s.ColumnText(1)})
	})
	for _, o := range all {
		t.Run(o[1], func(t *testing.T) {
			t.Parallel()
			path := laid(t, sound)
			with("DROP "+o[0]+" "+o[1])(t, path)
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			named(t, examine(t, p), nil)
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			switch left := codes(treated); o[1] {
			case "messages":
				named(t, treated, is("schema"))
				return
			case "conversations": // they are made again without their names, but for the erased one
				if !slices.Equal(left, is("conversation-list")) {
					t.Errorf("left: %+v; failures %q", treated.Findings, treated.Failures)
				}
				return
			case "chunks":
				if !slices.Equal(left, is("payload", "record")) {
					t.Errorf("left: %+v; failures %q", treated.Findings, treated.Failures)
				}
				return
			case "tombstone_salt":
				if !slices.Equal(left, is("tombstone-salt")) {
					t.Errorf("left: %+v; failures %q", treated.Findings, treated.Failures)
				}
				return // nothing is stored that may have been erased
			case "tombstones", "forgotten", "erasures":
				if !slices.Equal(left, is("tombstones")) {
					t.Errorf("left: %+v; failures %q", treated.Findings, treated.Failures)
				}
				written(t, path, o[1])
				return
			default:
				if len(left) > 0 || len(treated.Failures) > 0 {
					t.Errorf("left: %+v; failures %q", treated.Findings, treated.Failures)
				}
			}
			intact(t, path, whole)
			written(t, path, o[1])
		})
	}
}

// forget erases a message of main and the whole of rewound.
func forget(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{22}, Conversations: []store.ConversationID{2}, Cause: "forget"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// written checks that the file works again, and that erased messages stay out of it
// unless the table of erasures was lost.
func written(t *testing.T, path, lost string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := fill(t.Context(), db, 4, 7); err != nil { // six of them are there
		t.Error(err)
	}
	for _, c := range []struct {
		key   string
		f     store.Fingerprint
		known bool
	}{
		{"main", store.Fingerprint{Native: "id-21"}, lost != "tombstones"},
		{"rewound", store.Fingerprint{Native: "id-3", Said: now.Add(-57 * time.Minute)}, true},
		{"main", store.Fingerprint{Native: "id-30", Said: now}, false},
	} {
		refused, err := db.Forgotten(t.Context(), c.key, store.Project{}, slices.Values([]store.Fingerprint{c.f}))
		if err != nil || (len(refused) > 0 && refused[0]) != c.known {
			t.Errorf("%s %s is refused: %v, %v, want %v", c.key, c.f.Native, refused, err, c.known)
		}
	}
}
