package doctor_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A conversation without its row is named and rebuilt with its messages, view, branches,
// summaries and origin. Only its session key is lost.
func TestConversationsAreMadeAnew(t *testing.T) {
	sound, whole := snapshot(t, made(t))
	for id := 1; id <= 4; id++ {
		t.Run(fmt.Sprint("conversation ", id), func(t *testing.T) {
			path := laid(t, sound)
			before := conversation(t, path, id)
			with(fmt.Sprintf("DELETE FROM conversations WHERE id = %d", id))(t, path)
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			named(t, examine(t, p), is("conversation-missing"))
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil || !treated.Healthy() {
				t.Fatalf("%+v, %v", treated, err)
			}
			after := conversation(t, path, id)
			if after.Key != fmt.Sprintf("recovered:%d", id) {
				t.Errorf("its key is %q", after.Key)
			}
			before.Key, before.Agent, before.Project = after.Key, after.Agent, after.Project
			before.CreatedAt, before.UpdatedAt, before.Title = after.CreatedAt, after.UpdatedAt, after.Title
			if after != before {
				t.Errorf("it is\n%+v, it was\n%+v", after, before)
			}
			got, err := check.ProveFile(t.Context(), path)
			if err != nil || got.Messages != whole.Messages || got.Summaries != whole.Summaries || len(got.Faults) > 0 {
				t.Errorf("%d messages, %d summaries, faults %v, %v; want %d and %d", got.Messages, got.Summaries, got.Faults, err, whole.Messages, whole.Summaries)
			}
		})
	}
}

// A fork without its row is made anew too if a summary of its view is a source of itself.
func TestForkOverACycleIsMadeAnew(t *testing.T) {
	sound, whole := snapshot(t, made(t))
	path := laid(t, sound)
	with("DELETE FROM conversations WHERE id = 3; INSERT INTO edges VALUES (1, 99, NULL, 3)")(t, path)
	p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
	named(t, examine(t, p), is("conversation-missing", "cycle"))
	treated, err := doctor.Treat(t.Context(), p)
	if err != nil || !treated.Healthy() {
		t.Fatalf("%+v, %v", treated, err)
	}
	if got, err := check.ProveFile(t.Context(), path); err != nil || got.Messages != whole.Messages || got.Conversations != whole.Conversations {
		t.Errorf("%d messages in %d conversations, %v", got.Messages, got.Conversations, err)
	}
}

func conversation(t *testing.T, path string, id int) store.Conversation {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conversation(t.Context(), store.ConversationID(id))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A conversation that lost messages, or whose numbers were damaged, takes new messages after
// the treatment, and the loss is named before and after.
func TestAConversationWithALossGoesOn(t *testing.T) {
	sound, _ := snapshot(t, made(t))
	for name, sql := range map[string]string{
		"one in the middle":              "DELETE FROM messages WHERE id = 9",
		"some in the middle":             "DELETE FROM messages WHERE id IN (7, 9, 10, 20)",
		"the first":                      "DELETE FROM messages WHERE id = 1",
		"the newest":                     "DELETE FROM messages WHERE id = 24",
		"one in the middle, the newest":  "DELETE FROM messages WHERE id IN (9, 24)",
		"one in the middle, and the row": "DELETE FROM messages WHERE id = 9; DELETE FROM conversations WHERE id = 1",
		"one in the middle, and the sum": "DELETE FROM messages WHERE id = 9; UPDATE conversations SET messages = 3 WHERE id = 1",
		"the place of the newest":        "UPDATE messages SET seq = 99 WHERE id = 24",
		"the place of another":           "UPDATE messages SET seq = 25 WHERE id = 9",
		"a place far away":               "UPDATE messages SET seq = 9223372036854775807 WHERE id = 9",
	} {
		t.Run(name, func(t *testing.T) {
			path := laid(t, sound)
			with(sql)(t, path)
			p := doctor.Patient{Path: path, Clock: clock, Options: sqlite.Options{Clock: clock}}
			treated, err := doctor.Treat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for i := range 3 {
				err := db.Update(t.Context(), 1, func(w store.Writer) error {
					said := text(1000 + i)
					_, err := w.Append(t.Context(), store.NewMessage{
						Role: llms.RoleUser, Native: fmt.Sprint("later-", i), Format: llms.FormatText, Record: []byte(said),
						Size: int64(len(said)), SHA256: sha256.Sum256([]byte(said)), Tokens: 9, Said: now,
					})
					return err
				})
				if err != nil {
					t.Fatalf("message %d: %v", i+1, err)
				}
			}
			if after := examine(t, p); treated.Healthy() || after.Healthy() {
				t.Errorf("before the messages %v, after them %v: the loss is not named", codes(treated), codes(after))
			}
		})
	}
}
