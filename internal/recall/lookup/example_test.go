package lookup_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// An agent finds a message, sees which summary covers it, and climbs back
// down to the exact words.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lcm")
	check(err)
	defer os.RemoveAll(dir)
	clock := func() time.Time { return time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC) }
	db, err := sqlite.Open(ctx, filepath.Join(dir, "lcm.db"), sqlite.Options{Clock: clock})
	check(err)
	defer db.Close()
	conversation, err := db.Open(ctx, store.NewConversation{Key: "demo"})
	check(err)
	in, err := ingest.New(db, nil, 0)
	check(err)
	_, err = in.Append(ctx, conversation.ID, ingest.Messages(
		llms.User("The staging deploy fails."),
		llms.Assistant("It needs TLS_CERT_PATH=/etc/tls/staging.pem."))...)
	check(err)
	view, err := db.View(ctx, conversation.ID, store.Window{})
	check(err)
	check(db.Update(ctx, conversation.ID, func(w store.Writer) error {
		_, err := w.Fold(ctx, store.NewSummary{Over: view.Items, Wording: store.Wording{
			Body: "The staging deploy lacked a certificate.", Tokens: 10, Level: summary.Normal, Method: "extractive",
		}})
		return err
	}))

	svc, err := lookup.New(db)
	check(err)
	here := recall.Where{Current: conversation.ID}
	found, err := svc.Grep(ctx, recall.GrepRequest{Pattern: `TLS_\w+`, Where: here})
	check(err)
	match := found.Matches[0]
	fmt.Println(match.ID, match.Mark("«", "»", nil))

	below, err := svc.Expand(ctx, recall.ExpandRequest{SummaryIDs: []store.SummaryID{match.CoveredBy}, Where: here})
	check(err)
	for _, piece := range below.Pieces {
		fmt.Println(piece.ID, piece.Role, piece.Text)
	}
	// Output:
	// msg_2 It needs «TLS_CERT_PATH»=/etc/tls/staging.pem.
	// msg_1 user The staging deploy fails.
	// msg_2 assistant It needs TLS_CERT_PATH=/etc/tls/staging.pem.
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
