package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store/sqlite"
)

// A program that embeds the engine can serve its record as `lcm mcp` does.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, remove := tempDir()
	defer remove()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.Session("support/42").Append(ctx, llms.User("The gate code is 4711.")); err != nil {
		log.Fatal(err)
	}

	server, err := mcpserver.New(ctx, mcpserver.Config{Engine: engine})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.ServeStdio(ctx, in, out) }() // os.Stdin and os.Stdout in a program

	client, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "lcm_grep", Arguments: map[string]any{
		"pattern": "gate code is ([0-9]+)", "allConversations": true,
	}})
	if err != nil {
		log.Fatal(err)
	}
	found := answer.StructuredContent.(map[string]any)["matches"].([]any)[0].(map[string]any)
	fmt.Println(found["id"], found["who"], found["snippet"])
	client.Close()
	<-served
	// Output: msg_1 user The gate code is 4711.
}
