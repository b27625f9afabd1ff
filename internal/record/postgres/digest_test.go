//go:build unix

package postgres_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The same history has the same digest, ids of summaries included, in both backends:
// plain and hostile texts, tool calls, payloads, folds, a rewind, a fork and an erasure.
func TestDigestIsThatOfSQLite(t *testing.T) {
	now := time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	lite, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	pg := open(t, pgtest.URL(t), postgres.Options{Clock: clock})
	inFile, err := verify.Prove(t.Context(), history(t, lite).SQL())
	if err != nil {
		t.Fatal(err)
	}
	inServer, err := verify.Prove(t.Context(), history(t, pg).SQL())
	if err != nil {
		t.Fatal(err)
	}
	if len(inFile.Faults)+len(inServer.Faults) > 0 {
		t.Fatalf("faults: %v and %v", inFile.Faults, inServer.Faults)
	}
	if inFile.Digest != inServer.Digest || inFile.Messages != inServer.Messages || inFile.Summaries != inServer.Summaries || inFile.Bytes != inServer.Bytes {
		t.Errorf("SQLite has %+v, PostgreSQL %+v", inFile, inServer)
	}
	if inFile.Messages < 300 || inFile.Summaries == 0 {
		t.Errorf("the history is too small to prove anything: %+v", inFile)
	}
	if a, b := summaryIDs(t, lite), summaryIDs(t, pg); a != b {
		t.Errorf("the summaries of SQLite are %s, those of PostgreSQL %s", a, b)
	}
}

func summaryIDs(t *testing.T, db store.Store) string {
	t.Helper()
	all, err := db.Conversations(t.Context(), store.ConversationQuery{Key: "long"})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	var ids []string
	for s, err := range db.Summaries(t.Context(), store.SummaryQuery{Conversation: all[0].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, " ")
}

// history writes a history and returns the store.
func history[DB store.Store](t *testing.T, db DB) DB {
	t.Helper()
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	session := engine.Session("long")
	said := time.Date(2026, 2, 17, 9, 0, 0, 0, time.UTC)
	for i := range 160 {
		said = said.Add(time.Minute)
		user, answer := llms.User(fmt.Sprintf("Question %d about the parcel service and its tariff in zone %d. %s", i, i%7, strings.Repeat("It matters. ", 40))),
			llms.Assistant(fmt.Sprintf("Answer %d: the tariff is %d.", i, i*i))
		if i%40 == 7 {
			user = llms.User("hostile \x00 and \xff bytes, \U0010FE41 too")
		}
		user.Time, answer.Time = said, said.Add(time.Second)
		if err := session.Append(t.Context(), user, answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Append(t.Context(), llms.User(strings.Repeat("a large text with line after line\n", 8000))); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Compact(t.Context(), lcm.CompactOptions{Budget: 4000}); err != nil {
		t.Fatal(err)
	}
	other := engine.Session("other \x00 key")
	if err := other.Append(t.Context(), llms.User("short"), llms.Assistant("talk")); err != nil {
		t.Fatal(err)
	}
	c, err := db.Conversations(t.Context(), store.ConversationQuery{Key: "long"})
	if err != nil || len(c) != 1 {
		t.Fatal(c, err)
	}
	var ids []store.MessageID
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c[0].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if _, err := db.Fork(t.Context(), c[0].ID, ids[200], store.NewConversation{Key: "fork"}); err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), c[0].ID, func(w store.Writer) error {
		_, err := w.Rewind(t.Context(), ids[280], "test")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[3:5], Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}
