package delegation_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Without a model a question is answered with the passages themselves.
func ExampleDelegator_Ask() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lcm-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "lcm.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	c, err := db.Open(ctx, store.NewConversation{Key: "harbour"})
	if err != nil {
		log.Fatal(err)
	}
	in, err := ingest.New(db, nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := in.Append(ctx, c.ID, ingest.Messages(llms.User("The sluice valve opens at 47.25 kPa."), llms.Assistant("Noted."))...); err != nil {
		log.Fatal(err)
	}

	service, err := lookup.New(db)
	if err != nil {
		log.Fatal(err)
	}
	d, err := delegation.New(delegation.Config{Recall: service, Store: db})
	if err != nil {
		log.Fatal(err)
	}
	a, err := d.Ask(ctx, recall.Question{
		Query: "sluice valve", Prompt: "At what pressure does the valve open?", Where: recall.Where{Current: c.ID},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Method, a.CitedIDs[0], a.SourceConversationID, a.Truncated)
	// Output: evidence msg_1 1 false
}
