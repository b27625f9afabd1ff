package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

// importBed is a database with one conversation, and a file to import.
type importBed struct {
	*openRecord
	conv store.Conversation
	src  *source
	plan survey
}

func newImportBed(t *testing.T, messages int) *importBed {
	t.Helper()
	var file strings.Builder
	for i := range messages {
		fmt.Fprintf(&file, "{\"role\":\"user\",\"content\":\"m%d\"}\n", i)
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Open(t.Context(), store.NewConversation{Key: "s"})
	if err != nil {
		t.Fatal(err)
	}
	a := newProgram(nil, nil, nil)
	src, err := openSource(t.Context(), a, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.close)
	plan, err := surveySource(t.Context(), src, a.newBar(""))
	if err != nil {
		t.Fatal(err)
	}
	return &importBed{openRecord: &openRecord{cfg: &config.Config{}, db: db, counter: llms.Estimate}, conv: c, src: src, plan: plan}
}

func (b *importBed) importer(t *testing.T, held int64) *importer {
	t.Helper()
	in, err := b.newImporter(b.conv, newProgram(nil, nil, nil).newBar(""), importReport{Read: b.plan.messages})
	if err != nil {
		t.Fatal(err)
	}
	in.held = held
	return in
}

func (b *importBed) count(t *testing.T) int64 {
	t.Helper()
	c, err := b.db.Conversation(t.Context(), b.conv.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c.Messages
}

// An input without ids is stored once, held in memory or not, also where
// another import of it runs at the same time.
func TestImportWithoutIDsCannotDouble(t *testing.T) {
	const messages = 2*batchMessages + 10
	for _, held := range []int64{0, maxHeld} {
		t.Run(fmt.Sprintf("held %d", held), func(t *testing.T) {
			b := newImportBed(t, messages)
			first, second := b.importer(t, held), b.importer(t, held)
			other, err := openSource(t.Context(), newProgram(nil, nil, nil), b.src.path)
			if err != nil {
				t.Fatal(err)
			}
			defer other.close()
			var running sync.WaitGroup
			running.Go(func() {
				if err := first.run(t.Context(), other, b.plan); err != nil {
					t.Error(err)
				}
			})
			if err := second.run(t.Context(), b.src, b.plan); err != nil {
				t.Error(err)
			}
			running.Wait()
			if n := b.count(t); n != messages || first.report.New+second.report.New != messages {
				t.Fatalf("stored %d and reported %d and %d, want %d", n, first.report.New, second.report.New, messages)
			}
			third := b.importer(t, held)
			if err := third.run(t.Context(), b.src, b.plan); err != nil {
				t.Fatal(err)
			}
			if n := b.count(t); n != messages || third.report.New != 0 || third.report.Known != messages {
				t.Errorf("there are %d messages, %+v", n, third.report)
			}
		})
	}
}

// An import that was cut off goes on from the messages that are stored.
func TestImportGoesOn(t *testing.T) {
	b := newImportBed(t, 2*batchMessages+10)
	in := b.importer(t, 0)
	stored := ingest.Messages(llms.User("m0"), llms.User("m1"))
	if _, err := in.ingest.Append(t.Context(), b.conv.ID, stored...); err != nil {
		t.Fatal(err)
	}
	if err := in.run(t.Context(), b.src, b.plan); err != nil {
		t.Fatal(err)
	}
	if n := b.count(t); n != int64(b.plan.messages) || in.report.Known != len(stored) || in.report.New+in.report.Known != b.plan.messages {
		t.Errorf("there are %d messages, want %d: %+v", n, b.plan.messages, in.report)
	}
}
