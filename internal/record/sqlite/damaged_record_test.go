package sqlite_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Verify names a message that differs from the one that arrived, and it is marked by every
// method that returns its text, and keeps nobody from the others.
func TestADamagedMessageLeavesTheOthersReadable(t *testing.T) {
	pristine := filepath.Join(t.TempDir(), "pristine.db")
	if err := build(t.Context(), pristine); err != nil {
		t.Fatal(err)
	}
	db := open(t, pristine, sqlite.Options{})
	record := []byte(`{"role":"user","content":"the needle"}`)
	err := db.Update(t.Context(), 1, func(w store.Writer) error {
		_, err := w.Append(t.Context(), store.NewMessage{
			Role: llms.RoleUser, Format: llms.FormatOpenAI, Record: record, Size: int64(len(record)), SHA256: sha256.Sum256(record), Tokens: 5,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(pristine)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, damage string
		needles      int
		// Of how many messages the record, the text and the body are marked.
		records, texts, bodies int
	}{
		{"nothing", "SELECT 1", 1, 0, 0, 0},
		{"a record", "UPDATE messages SET record = substr(record, 1, length(record) - 1) WHERE format = 'openai'", 1, 1, 1, 1},
		{"a record that decodes", "UPDATE messages SET record = replace(record, 'user', 'asst') WHERE format = 'openai'", 1, 1, 1, 1},
		{"a record of plain text", "UPDATE messages SET record = record || 'x' WHERE id = 5", 1, 1, 1, 1},
		{"a body", "UPDATE messages SET body = substr(body, 2) WHERE body IS NOT NULL", 1, 1, 1, 1},
		{"a body that decodes", "UPDATE messages SET body = replace(body, 'user', 'tool') WHERE body IS NOT NULL", 1, 1, 1, 1},
		{"a payload", "UPDATE chunks SET data = x'00', compressed = 1", 1, 1, 1, 0},
		{"a payload of another text", "UPDATE chunks SET data = 'message 4 of conversation 1', compressed = 0", 1, 1, 1, 0},
		{"a payload gone", "DELETE FROM payloads", 1, 1, 0, 0},
		{"a record gone", "UPDATE messages SET record = x'' WHERE format = 'openai'", 0, 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged.db")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			sql(t, path, "PRAGMA foreign_keys=OFF; "+c.damage)
			db := open(t, path, sqlite.Options{})
			var n, records, texts, bodies int
			for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.Text(t.Context(), store.ID{Message: m.ID}); errors.Is(err, store.ErrDamaged) {
					texts++
				} else if err != nil {
					t.Errorf("text of %s: %v", m.ID, err)
				}
				if _, err := db.Record(t.Context(), m.ID); errors.Is(err, store.ErrDamaged) && errors.As(err, new(*hint.Error)) {
					records++
				} else if err != nil {
					t.Errorf("record of %s: %v", m.ID, err)
				}
				if m.Damaged != strings.Contains(m.Body.Render(), store.DamageNotice) || m.Damaged && m.Body.Raw.Bytes != nil {
					t.Errorf("%s: damaged %t, but the body says %q with the record %q", m.ID, m.Damaged, m.Body.Render(), m.Body.Raw.Bytes)
				}
				if m.Damaged {
					bodies++
				}
				n++
			}
			if n != 13 || records != c.records || texts != c.texts || bodies != c.bodies {
				t.Errorf("of %d messages %d records, %d texts and %d bodies are marked; want %d, %d and %d of 13",
					n, records, texts, bodies, c.records, c.texts, c.bodies)
			}
			for pattern, want := range map[string]int{"the needle": c.needles, "message 9 of conversation 1": 1} {
				found, err := db.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: pattern, Limit: 5})
				if err != nil || len(found.Hits) != want {
					t.Errorf("%q is found %d times, want %d: %v", pattern, len(found.Hits), want, err)
				}
			}
			v, err := db.Verify(t.Context(), 1)
			if err != nil || (len(v.Faults) > 0) != (c.name != "nothing") {
				t.Errorf("verify says %+v, %v", v.Faults, err)
			}
		})
	}
}

// A payload that arrives again mends the one that was damaged: a message that
// was acknowledged must not rest on bytes that are gone.
func TestAPayloadThatComesAgainIsMended(t *testing.T) {
	for _, damage := range []string{
		"UPDATE chunks SET data = x'00', compressed = 1", "UPDATE chunks SET data = x'00', compressed = 0", "DELETE FROM chunks",
	} {
		path := filepath.Join(t.TempDir(), "lcm.db")
		if err := build(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		sql(t, path, damage)
		db := open(t, path, sqlite.Options{})
		if v, err := db.Verify(t.Context(), 1); err != nil || len(v.Faults) == 0 {
			t.Fatalf("%s: verify finds nothing: %v", damage, err)
		}
		err := db.Update(t.Context(), 1, func(w store.Writer) error {
			_, err := w.PutPayload(t.Context(), store.NewPayload{Data: []byte("message 3 of conversation 1"), Name: "again.txt"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := db.Verify(t.Context(), 1); err != nil || len(v.Faults) > 0 {
			t.Errorf("%s: %+v, %v", damage, v.Faults, err)
		}
	}
}
