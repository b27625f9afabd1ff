package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// program has the streams, and the flags that more than one command has.
type program struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // out is one
	progress bool // err is a terminal
	colour   bool // on out
	colours  bool // on err

	options  config.Options // where settings are read from
	spelling sync.Once      // of the environment is checked once
	database string
	secret   string // the password of the database, of a process that startRest started
	json     bool

	oneMeansNoMatch bool // exit code 1 says that nothing was found, so failures get another

	logging map[string]*string // settings of the log that the command line has
	log     *slog.Logger
	logTo   io.Writer           // where the log goes without a file; nil is err
	hide    func(string) string // takes the secrets of the settings out of a text

	lingers atomic.Bool // it takes its time to end: it waits for an agent, or for requests
}

func newProgram(in io.Reader, out, err io.Writer) *program {
	p := &program{in: in, out: &remembering{w: out}, err: err, terminal: isTerminal(out), progress: isTerminal(err)}
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	p.colour, p.colours = p.terminal && !plain, p.progress && !plain
	return p
}

// typed returns standard input as a reader that stops when ctx is cancelled.
func (p *program) typed(ctx context.Context) io.Reader { return lasting{ctx, p.in} }

type lasting struct {
	ctx context.Context // io.Reader has none
	r   io.Reader
}

func (l lasting) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	// A read that returns after ctx ended fills b, not the caller's buffer.
	b, done := make([]byte, len(p)), make(chan read, 1)
	go func() {
		n, err := l.r.Read(b)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, b[:got.n]), got.err
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
}

// remembering keeps the first error of a writer, so that commands need not check each line.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.w.Write(p)
	r.err = err
	return n, err
}

// delivered reports whether everything that was printed has arrived.
func (p *program) delivered() error {
	if r, ok := p.out.(*remembering); ok && r.err != nil {
		return failed(exitFailure, "see that there is room where the output goes", "print the result: %w", r.err)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// width is the most columns of a line, 0 for any: $COLUMNS, else the terminal's width.
func (p *program) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if r, ok := p.out.(*remembering); ok && p.terminal {
		if f, ok := r.w.(*os.File); ok {
			if w, _, err := term.GetSize(f.Fd()); err == nil {
				return w
			}
		}
	}
	return 0
}

// style is a parameter of the escape sequence SGR.
type style string

// The styles. Colour carries no meaning that the words do not carry as well.
const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// paint styles text for standard output, mark for standard error.
func (p *program) paint(s style, text string) string { return styled(p.colour, s, text) }
func (p *program) mark(s style, text string) string  { return styled(p.colours, s, text) }

func styled(on bool, s style, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[m"
}

// printf writes a piece of the result as text. With --json the text and the notes are left
// out, and emit writes the result.
func (p *program) printf(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.out, format, args...)
	}
}

// emit writes a result as JSON if --json is given.
func (p *program) emit(v any) error {
	if !p.json {
		return nil
	}
	return p.printJSON(v)
}

// confirm asks for a yes. Without a terminal it fails with the hint; refused is for a no.
func (p *program) confirm(ctx context.Context, yes bool, question, hint, refused string) error {
	if yes {
		return nil
	}
	if in, ok := p.in.(*os.File); !ok || !isTerminal(in) {
		return failed(exitUsage, hint, "%s: there is nobody to ask", refused)
	}
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(p.typed(ctx)).ReadString('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return failed(exitFailure, "", "%s", refused)
	}
	return nil
}

// note and warn print to standard error.
func (p *program) note(format string, args ...any) {
	if !p.json {
		fmt.Fprintln(p.err, p.mark(dim, "note:"), fmt.Sprintf(format, args...))
	}
}

func (p *program) warn(format string, args ...any) {
	fmt.Fprintln(p.err, p.mark(yellow, "warning:"), fmt.Sprintf(format, args...))
}

// printJSON writes a result as indented JSON.
func (p *program) printJSON(v any) error {
	e := p.encoder()
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// result prints v as JSON if --json is given, else the text.
func (p *program) result(v any, format string, args ...any) error {
	p.printf(format, args...)
	return p.emit(v)
}

// list returns a slice that is not nil: JSON has [] for it, and not null.
func list[T any](all []T) []T { return append([]T{}, all...) }

// texts returns the texts of ids.
func texts[T fmt.Stringer](all []T) (out []string) {
	for _, v := range all {
		out = append(out, v.String())
	}
	return out
}

// encoder returns a JSON encoder on standard output.
func (p *program) encoder() *json.Encoder {
	e := json.NewEncoder(visible{p.out})
	e.SetEscapeHTML(false)
	return e
}

// visible escapes characters of JSON strings that a terminal would act upon.
type visible struct{ w io.Writer }

// Write implements [io.Writer]. It is called with whole values.
func (v visible) Write(p []byte) (int, error) {
	if !bytes.ContainsFunc(p, hidden) {
		return v.w.Write(p)
	}
	var b bytes.Buffer
	for _, r := range string(p) {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	if _, err := v.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// hidden reports whether a terminal would act upon a character. Line breaks are JSON's own.
func hidden(r rune) bool { return r == '\t' || safetext.Escaped(r) }

// encoded returns bytes for JSON: as they are if they are UTF-8, else in base64.
func encoded(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), "utf-8"
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

// writeBytes writes the output of --raw, with control characters escaped on a terminal.
func (p *program) writeBytes(data []byte) error {
	if p.terminal {
		data = []byte(safetext.Text(string(data)))
	}
	_, err := p.out.Write(data)
	return err
}

// terminalWriter is writeBytes as an [io.Writer] of whole records.
type terminalWriter struct{ p *program }

func (t terminalWriter) Write(p []byte) (int, error) { return len(p), t.p.writeBytes(p) }

// shown returns stored text, with control characters escaped on a terminal.
func (p *program) shown(text string) string {
	if !p.terminal {
		return text
	}
	return safetext.Text(text)
}

// clip shortens a line to a width, measured as a terminal would.
func clip(text string, width int) string { return ansi.Truncate(text, width, "…") }

// clipLeft cuts the beginning of a text, because paths differ at their end.
func clipLeft(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}

// table lays text out in columns. A header that begins with ">" aligns to the right.
type table struct {
	head []string
	rows [][]string
}

// columnGap stands between two columns.
const columnGap = "  "

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// printTable prints a table that has rows.
func (p *program) printTable(t *table) {
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	right := make([]bool, len(t.head))
	head := make([]string, len(t.head))
	for i, h := range t.head {
		head[i] = strings.TrimPrefix(h, ">")
		right[i] = head[i] != h
		widths[i] = ansi.StringWidth(head[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i > 0 {
				b.WriteString(columnGap)
			}
			if right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	if strings.Join(head, "") != "" {
		p.printf("%s\n", p.paint(bold, line(head)))
	}
	for _, row := range t.rows {
		p.printf("%s\n", line(row))
	}
}
