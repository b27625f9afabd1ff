// Command lcm keeps the conversations of AI agents losslessly, folds them into
// summaries and shows a model the part that fits its context window. Package
// internal/cli has its commands.
package main

import (
	"context"
	"os"

	"github.com/lossless-context/lcm/internal/cli"
)

// The linker sets them.
var (
	version = "dev"
	commit  string
)

func main() { os.Exit(cli.Main(context.Background(), version, commit)) }
