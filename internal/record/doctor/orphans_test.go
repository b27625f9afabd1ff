package doctor_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
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
