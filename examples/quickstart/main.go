// Quickstart is the smallest program that gives an agent lossless memory. The
// README shows its body.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store/sqlite"
)

func main() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, "agent.db", sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	session := engine.Session("my-agent/ticket-42")
	if err := session.Append(ctx, llms.User("Why does the build fail?")); err != nil {
		log.Fatal(err)
	}
	view, err := session.Context(ctx, 128_000) // what the model should see: never more than the budget
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(view.Messages), "messages,", view.Tokens, "tokens") // send view.Messages to the model
}
