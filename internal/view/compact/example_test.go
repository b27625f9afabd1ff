package compact_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// A view of 100 messages of 1,000 tokens each is above the soft threshold of a
// window of 128,000: the oldest chunk is folded next.
func ExamplePlan() {
	view := store.View{Conversation: 1, Count: 100, Tokens: 100_000, LastUser: 99}
	for i := range 100 {
		role := llms.RoleUser
		if i%2 == 1 {
			role = llms.RoleAssistant
		}
		view.Items = append(view.Items, store.Item{
			Pos: int64(i + 1), ID: store.ID{Message: store.MessageID(i + 1)}, Role: role, Tokens: 1000,
		})
	}
	step := compact.Plan(view, compact.Limits{Budget: 128_000}, compact.Policy{})
	fmt.Printf("%s over items %d to %d, in about %d tokens\n", step.Fold.Kind, step.Fold.From, step.Fold.To-1, step.Fold.Target)
	// Output: leaf over items 0 to 11, in about 2000 tokens
}

// Without a model, summaries are extractive.
func ExampleRunner_Run() {
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "lcm.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	c, err := db.Open(ctx, store.NewConversation{Key: "example"})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 40 {
		appendTo(fatal{}, db, c.ID, llms.User(fmt.Sprintf("Question %d: %s", i, text(300))), llms.Assistant(text(300)))
	}

	runner, err := compact.NewRunner(compact.Config{Store: db, State: db})
	if err != nil {
		log.Fatal(err)
	}
	report, err := runner.Run(ctx, c.ID, compact.Limits{Budget: 8_000}, compact.Hard)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Reason, report.TokensAfter < 6_000)
	// Output: done true
}

type fatal struct{}

func (fatal) Fatal(args ...any) { log.Fatal(args...) }
