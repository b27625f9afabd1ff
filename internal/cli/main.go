package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// version is the version of the program.
var version = "dev"

// ballast is the size of a block that is never touched: it takes no memory but counts as
// heap. Without it, collections of a small heap took an eighth of a compaction's time.
const ballast = 8 << 20

// Main runs the program and returns its exit code. SIGINT and SIGTERM cancel the command;
// a second signal ends the process at once.
func Main(ctx context.Context, v string) int {
	version = v
	percent := debug.SetGCPercent(-1) // the block alone would start a collection
	block := make([]byte, ballast)
	debug.SetGCPercent(percent)
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cause := context.Canceled
		if <-signals == syscall.SIGTERM {
			cause = errTerminated
		}
		signal.Stop(signals)
		cancel(cause)
	}()
	code := run(ctx, newProgram(os.Stdin, os.Stdout, os.Stderr), os.Args[1:])
	runtime.KeepAlive(block)
	return code
}
