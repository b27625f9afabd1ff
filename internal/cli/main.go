package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// version is the version of the program.
var version = "dev"

// notIgnored leaves out the signals that the process was started to ignore: nohup does it
// with SIGHUP, and a shell script with SIGINT for a command in the background.
func notIgnored(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}

// Main runs the program and returns its exit code. SIGINT and SIGTERM cancel the command;
// a second signal ends the process at once.
func Main(ctx context.Context, v string) int {
	version = v
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, notIgnored(os.Interrupt, syscall.SIGTERM)...)
	go func() {
		cause := context.Canceled
		if <-signals == syscall.SIGTERM {
			cause = errTerminated
		}
		signal.Stop(signals)
		cancel(cause)
	}()
	return run(ctx, newProgram(os.Stdin, os.Stdout, os.Stderr), os.Args[1:])
}
