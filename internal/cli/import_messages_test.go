package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// importBed is a database with one conversation, and a file to import.
type importBed struct {
	*archive
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
	return &importBed{archive: &archive{cfg: &config.Config{}, db: db, counter: llms.Estimate}, conv: c, src: src, plan: plan}
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
// another import of it comes in between.
func TestImportWithoutIDsCannotDouble(t *testing.T) {
	const messages = 2*batchMessages + 10
	for _, held := range []int64{0, maxHeld} {
		t.Run(fmt.Sprintf("held %d", held), func(t *testing.T) {
			b := newImportBed(t, messages)
			first, second := b.importer(t, held), b.importer(t, held)
			if err := first.guard.watch(t.Context(), b.conv.ID); err != nil {
				t.Fatal(err)
			}
			if err := second.run(t.Context(), b.src, b.plan); err != nil {
				t.Fatal(err)
			}
			if n := b.count(t); n != messages || second.report.New != messages {
				t.Fatalf("stored %d and reported %d, want %d", n, second.report.New, messages)
			}
			// The first saw an empty conversation.
			if err := first.append(t.Context(), b.src, 0); err == nil {
				t.Error("a batch was added to a conversation that had moved")
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

// An import that is overtaken begins anew from what is there.
func TestImportGoesOnAfterItWasOvertaken(t *testing.T) {
	b := newImportBed(t, 2*batchMessages+10)
	in := b.importer(t, 0)
	overtaken := false
	in.guard.before = func(ctx context.Context) error {
		if overtaken {
			return nil
		}
		overtaken = true
		return b.importer(t, 0).run(ctx, b.src, b.plan)
	}
	if err := in.run(t.Context(), b.src, b.plan); err != nil {
		t.Fatal(err)
	}
	if n := b.count(t); n != int64(b.plan.messages) || in.report.New+in.report.Known != b.plan.messages {
		t.Errorf("there are %d messages, want %d: %+v", n, b.plan.messages, in.report)
	}
}
