// Command lcm keeps the conversations of AI agents losslessly, folds them into
// summaries and shows what a model should see of them.
//
// # The voice of the command line
//
// Results go to standard output, everything else (notes, warnings, progress,
// errors) to standard error. With --json the result is JSON and nothing but
// JSON; bytes that are not UTF-8 travel as base64, marked by an "encoding"
// field. An error is one line that says what went wrong and, where something
// can be done about it, a second one that says what. Colour and progress are
// for terminals only, and NO_COLOR is honoured. Stored text is untrusted:
// control characters in it never reach a terminal.
//
// Each command is a file; what they share is in output.go (the voice), fail.go
// (errors and exit codes), open.go (settings, store and engine), pick.go and
// project.go (which conversation is meant).
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// version is set by the linker.
var version = "dev"

// idle is how much memory is set aside that nobody touches, so that it takes
// none, and that the garbage collector counts nevertheless. Without it a heap of
// a few megabytes is collected after every few megabytes of work, which was an
// eighth of a compaction's time; with it the heap may hold that much more.
const idle = 8 << 20

func main() {
	aside := make([]byte, idle)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cause := context.Canceled
		if <-signals == syscall.SIGTERM {
			cause = errTerminated
		}
		signal.Stop(signals) // a second signal ends the process at once
		cancel(cause)
	}()
	code := run(ctx, newApp(os.Stdin, os.Stdout, os.Stderr), os.Args[1:])
	runtime.KeepAlive(aside)
	os.Exit(code)
}
