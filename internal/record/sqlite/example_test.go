package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A database is made when it is first opened, readable by its owner alone.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	conversation, err := db.Open(ctx, store.NewConversation{Key: "support-bot/42"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conversation.ID, conversation.Key)
	// Output: 1 support-bot/42
}
