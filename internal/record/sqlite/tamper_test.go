package sqlite_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// build fills a database with everything the schema knows: a folded
// conversation with a carved message, a rewound one, and a fork.
func build(ctx context.Context, path string) error {
	clock := func() time.Time { return time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC) }
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: clock})
	if err != nil {
		return err
	}
	defer db.Close()
	main, err := db.Open(ctx, store.NewConversation{Key: "main", Agent: "test", Project: store.Project{Origin: "example.com/a", Root: "/a"}})
	if err != nil {
		return err
	}
	if err := fill(ctx, db, main.ID, 12); err != nil {
		return err
	}
	for _, run := range [][2]int{{0, 3}, {1, 4}, {0, 1}} {
		if err := fold(ctx, db, main.ID, run[0], run[1]); err != nil {
			return err
		}
	}
	back, err := db.Open(ctx, store.NewConversation{Key: "rewound"})
	if err != nil {
		return err
	}
	if err := fill(ctx, db, back.ID, 6); err != nil {
		return err
	}
	err = db.Update(ctx, back.ID, func(w store.Writer) error { _, err := w.Rewind(ctx, 15, "edited"); return err })
	if err != nil {
		return err
	}
	_, err = db.Fork(ctx, main.ID, 6, store.NewConversation{Key: "fork"})
	return err
}

func fill(ctx context.Context, db *sqlite.DB, id store.ConversationID, n int) error {
	return db.Update(ctx, id, func(w store.Writer) error {
		for i := range n {
			text := fmt.Sprintf("message %d of conversation %d", i+1, id)
			m := store.NewMessage{
				Role: llms.RoleUser, Native: fmt.Sprint("id-", i), Format: llms.FormatText, Record: []byte(text),
				Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 10, Said: time.Date(2026, 2, 18, 9, i, 0, 0, time.UTC),
			}
			if i == 2 {
				payload, err := w.PutPayload(ctx, store.NewPayload{Data: []byte(text), Name: "big.txt"})
				if err != nil {
					return err
				}
				m.Record, m.Cuts, m.Payloads = nil, []store.Cut{{Style: store.Verbatim, Payload: payload}}, []store.PayloadID{payload}
				m.Body = &llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Ref: &llms.Ref{ID: string(payload)}}}}
			}
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
			Body: "what was said\nExpand for details about: it", Tokens: 5, Level: summary.Normal, Method: "extractive",
		}})
		return err
	})
}

// Whatever is changed behind the store's back, verify names it.
func TestVerifyNamesDamage(t *testing.T) {
	pristine := filepath.Join(t.TempDir(), "pristine.db")
	if err := build(t.Context(), pristine); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, damage string
		codes        []string // that must be reported
		node         string   // of the first, if any
	}{
		{"nothing", "SELECT 1", nil, ""},
		{"a byte of a record", "UPDATE messages SET record = x'41' || substr(record, 2) WHERE id = 5", []string{"record"}, "msg_5"},
		{"a record cut short", "UPDATE messages SET record = substr(record, 1, 3) WHERE id = 5", []string{"record"}, "msg_5"},
		{"a byte of a payload", "UPDATE chunks SET data = x'41' || substr(data, 2), compressed = 0 WHERE payload = 1", []string{"record"}, "msg_3"},
		{"a payload gone", "PRAGMA foreign_keys=OFF; DELETE FROM payloads WHERE num = 1", []string{"record"}, "msg_3"},
		{"record and hash", "UPDATE messages SET record = 'forged', size = 6, sha256 = x'" + fmt.Sprintf("%x", sha256.Sum256([]byte("forged"))) + "' WHERE id = 5", []string{"chain"}, "msg_5"},
		{"a role", "UPDATE messages SET role = 2 WHERE id = 5", []string{"chain"}, "msg_5"},
		{"a time", "UPDATE messages SET said = said + 1 WHERE id = 5", []string{"chain"}, "msg_5"},
		{"a native id", "UPDATE messages SET native = 'other' WHERE id = 5", []string{"chain"}, "msg_5"},
		{"a link", "UPDATE messages SET chain = zeroblob(32) WHERE id = 5", []string{"chain"}, "msg_5"},
		{"a body", "UPDATE messages SET body = replace(body, 'file_', 'file-') WHERE id = 3", []string{"chain"}, "msg_3"},
		{"view items swapped", "UPDATE view SET pos = pos + 1000 WHERE conversation = 1 AND message = 11; UPDATE view SET pos = 11 WHERE conversation = 1 AND message = 12; UPDATE view SET pos = 12 WHERE conversation = 1 AND message = 11", []string{"view-order"}, ""},
		{"sources swapped", "UPDATE edges SET ord = 99 WHERE message = 2; UPDATE edges SET ord = 2 WHERE message = 3; UPDATE edges SET ord = 3 WHERE message = 2", []string{"source-order"}, ""},
		{"the newest user message", "UPDATE conversations SET last_user = 9 WHERE id = 1", []string{"view-totals"}, "conversation 1"},
		{"a summary's text", "UPDATE summaries SET body = 'something else' WHERE num = 1", []string{"summary-text"}, ""},
		{"a summary's files", "UPDATE summaries SET files = 'x' WHERE num = 1", []string{"summary"}, ""},
		{"the head", "UPDATE conversations SET head = zeroblob(32) WHERE id = 1", []string{"head"}, "conversation 1"},
		{"a message gone", "PRAGMA foreign_keys=OFF; DELETE FROM messages WHERE id = 5", []string{"missing", "sequence"}, ""},
		{"the newest message gone", "PRAGMA foreign_keys=OFF; DELETE FROM messages WHERE id = 12", []string{"head", "missing"}, ""},
		{"a view item gone", "DELETE FROM view WHERE conversation = 1 AND message = 12", []string{"uncovered", "view-totals"}, ""},
		{"an edge gone", "DELETE FROM edges WHERE message = 5", []string{"uncovered"}, "msg_5"},
		{"an edge twice", "INSERT INTO edges SELECT summary, 99, message, source FROM edges WHERE message = 5", []string{"doubly-covered"}, "msg_5"},
		{"a cycle", "INSERT INTO edges VALUES (1, 99, NULL, 3)", []string{"cycle"}, ""},
		{"a depth", "UPDATE summaries SET depth = 7 WHERE num = 3", []string{"summary"}, ""},
		{"view totals", "UPDATE conversations SET view_tokens = 1 WHERE id = 1", []string{"view-totals"}, "conversation 1"},
		{"message count", "UPDATE conversations SET messages = 99 WHERE id = 1", []string{"totals"}, "conversation 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged.db")
			data, err := os.ReadFile(pristine)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			sql(t, path, c.damage)
			db := open(t, path, sqlite.Options{})
			v, err := db.Verify(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, f := range v.Faults {
				codes = append(codes, f.Code)
			}
			for _, code := range c.codes {
				if !slices.Contains(codes, code) {
					t.Errorf("verify says %+v, want %q among it", v.Faults, code)
				}
			}
			if c.codes == nil && codes != nil {
				t.Errorf("verify says %+v of a sound conversation", v.Faults)
			}
			if c.node != "" && (len(v.Faults) == 0 || v.Faults[0].Node != c.node) {
				t.Errorf("verify says %+v, want %s first", v.Faults, c.node)
			}
		})
	}
}
