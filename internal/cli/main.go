package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// version and commit say what the program was built from.
var (
	version = "dev"
	commit  string
)

// notIgnored leaves out the signals that the process was started to ignore: nohup does it
// with SIGHUP, and a shell script with SIGINT for a command in the background.
func notIgnored(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}

// grace is how long a command has to end after SIGTERM. What it acknowledged is stored, and a
// transaction that is cut off is rolled back by the next process.
const grace = 900 * time.Millisecond

// Main runs the program and returns its exit code. SIGINT and SIGTERM cancel the command;
// a second signal ends the process at once, and so does SIGTERM after a second, except for
// commands that wait for an agent or for requests.
func Main(ctx context.Context, v, c string) int {
	version, commit = v, c
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, notIgnored(os.Interrupt, syscall.SIGTERM)...)
	p := newProgram(os.Stdin, os.Stdout, os.Stderr)
	go func() {
		cause := context.Canceled
		if <-signals == syscall.SIGTERM {
			cause = errTerminated
			time.AfterFunc(grace, func() {
				if !p.lingers.Load() {
					os.Exit(exitTerminated)
				}
			})
		}
		signal.Stop(signals)
		cancel(cause)
	}()
	return run(ctx, p, os.Args[1:])
}
