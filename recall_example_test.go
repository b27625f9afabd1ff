package lcm_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// A program searches the record itself. Recall has no current conversation, so the
// request says where to look.
func ExampleEngine_Grep() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	if err := engine.Session("monday").Append(ctx, llms.User("The staging port is 8473.")); err != nil {
		log.Fatal(err)
	}
	found, err := engine.Grep(ctx, recall.GrepRequest{
		Pattern: "which port has staging?", Mode: recall.FullText,
		Where: recall.Where{AllConversations: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Matches {
		fmt.Printf("%s, %s: %s\n", m.ID, m.Role, m.Snippet)
	}
	// Output: msg_1, user: The staging port is 8473.
}

// headlines is a Summariser that keeps the first words of each message.
type headlines struct{}

func (headlines) Summarise(_ context.Context, r record.SummaryRequest) (record.SummaryText, error) {
	var b strings.Builder
	for _, s := range r.Sources {
		line := strings.Join(strings.Fields(s.Text)[:2], " ") + "\n"
		if r.Counter.Count(b.String()+line) > r.Target {
			break
		}
		b.WriteString(line)
	}
	return record.SummaryText{Text: b.String() + "Expand for details about: the rest of each message", Method: "headlines"}, nil
}

// A program's own type writes the summaries.
func ExampleWithSummariser() {
	ctx := context.Background()
	engine, done := open(ctx, lcm.WithBudget(4_000), lcm.WithSummariser(headlines{}))
	defer done()

	session := engine.Session("long")
	for i := range 300 {
		text := fmt.Sprintf("Step %d: the worker on host-%02d.example.com retried after %d ms and then went on.", i, i%20, 50+i)
		if err := session.Append(ctx, llms.User(text)); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		log.Fatal(err)
	}
	view, err := session.Context(ctx, 4_000)
	if err != nil {
		log.Fatal(err)
	}
	summary := view.Messages[0].PlainText()
	fmt.Println(strings.Contains(summary, "Step 0:\n"))
	// Output: true
}
