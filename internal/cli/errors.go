package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

// The exit codes. The root command's help documents them.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitNotFound = 3
	exitConfig   = 4
	exitDatabase = 5
	exitFaults   = 6

	// As shells count: 128 and the number of the signal.
	exitInterrupted = 130 // SIGINT, which is Ctrl-C
	exitTerminated  = 143 // SIGTERM
)

// errNoMatch ends a `lcm grep`, ask or why that found nothing: exit code 1 without a message.
var errNoMatch = errors.New("no match")

// errTerminated is the cause of a context that SIGTERM has cancelled.
var errTerminated = fmt.Errorf("terminated: %w", context.Canceled)

// failure is an error with an exit code. Its hint is that of the error.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failed returns a failure with a hint.
func failed(code int, advice, format string, args ...any) error {
	return &failure{code, hint.New(advice, format, args...)}
}

// advise gives an error an exit code and a hint.
func advise(code int, advice string, err error) error {
	return &failure{code, &hint.Error{Err: err, Hint: advice}}
}

func wrongUsage(c *cobra.Command, err error) error {
	return advise(exitUsage, fmt.Sprintf("`%s --help` shows how it is used", c.CommandPath()), err)
}

// exitCode says how the program ends.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f) && f.code != exitFailure:
		return f.code
	case errors.As(err, new(*config.Error)):
		return exitConfig
	case errors.Is(err, store.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, store.ErrDamaged):
		return exitFaults
	case errors.Is(err, fs.ErrExist): // nothing is overwritten
		return exitFailure
	case llms.ClassOf(err) != "":
		return exitFailure
	case f == nil && errors.As(err, new(*hint.Error)):
		return exitDatabase
	}
	return exitFailure
}

// endCode returns the exit code: that of the signal that stopped the command, else that of
// the error. A failure of grep, ask and why is 2: their 1 means that nothing was found.
func (p *program) endCode(ctx context.Context, err error) int {
	var child *childEnded
	if errors.As(err, &child) {
		return child.code
	}
	switch code := exitCode(err); {
	case err == nil || errors.Is(err, errNoMatch):
		return code
	case errors.Is(context.Cause(ctx), errTerminated):
		return exitTerminated
	case ctx.Err() != nil:
		return exitInterrupted
	case code == exitFailure && p.oneMeansNoMatch:
		return exitUsage
	default:
		return code
	}
}

// report prints an error in one line, and its hint in a second one.
func (p *program) report(err error) {
	if errors.Is(err, errNoMatch) || errors.As(err, new(*childEnded)) {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(p.err, p.mark(red, "lcm:"), "interrupted; what was acknowledged is kept, and repeating the command goes on from there")
		return
	}
	message, advice := split(err)
	// Providers quote keys, and addresses carry passwords.
	hide := p.hide
	if hide == nil {
		hide = hideShapes
	}
	fmt.Fprintln(p.err, p.mark(red, "lcm:"), safetext.Line(hide(plain(message))))
	if advice != "" {
		fmt.Fprintln(p.err, p.mark(dim, "hint:"), safetext.Line(advice))
	}
}

// damaged reports whether SQLite found the database file corrupt.
func damaged(err error) bool { return errors.Is(err, sqlite3.CORRUPT) }

// damageShown returns the error of a command that has printed n texts marked as damaged.
func damageShown(n int) error {
	if n == 0 {
		return nil
	}
	return failed(exitFaults, "the others are whole; `lcm doctor` says what is wrong with the database, and a backup may have what arrived",
		"%s: not what arrived", prose.Count(n, "text is damaged", "texts are damaged"))
}

// plain joins the lines of a message, without those that repeat the end of an earlier line.
func plain(message string) string {
	lines := strings.Split(message, "\n")
	var kept []string
	for i, line := range lines {
		if !slices.ContainsFunc(lines[:i], func(before string) bool { return strings.HasSuffix(before, line) }) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "; ")
}

// split returns the message of an error without its hint, and the hint.
func split(err error) (message, advice string) {
	message, advice = hint.Split(err)
	wrongSetting := errors.As(err, new(*config.Error))
	switch {
	case wrongSetting && strings.Contains(message, "\n"): // several, each with its own hint
		return err.Error(), settingsHint
	case advice != "":
	case wrongSetting:
		advice = settingsHint
	case errors.Is(err, store.ErrNotFound):
		advice = "`lcm show --tree` and `lcm grep` print ids, `lcm conversations --all` prints numbers; --db names another database"
	}
	return message, advice
}

const settingsHint = "`lcm config` shows every setting; docs/CONFIG.md says what each may be"
