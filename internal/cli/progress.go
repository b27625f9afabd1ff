package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// bar shows the progress of long work on standard error, if that is a terminal.
type bar struct {
	program *program
	label   string
	last    time.Time
	drawn   bool
}

func (p *program) newBar(label string) *bar { return &bar{program: p, label: label} }

const barWidth = 24

// set redraws the bar, at most ten times a second. A total of 0 is unknown.
func (b *bar) set(done, total int64, detail string) {
	if !b.program.progress || time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.last, b.drawn = time.Now(), true
	if total > 0 {
		share := min(1, float64(done)/float64(total))
		full := int(share * barWidth)
		detail = fmt.Sprintf("%s%s %3.0f%%  %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*share, detail)
	}
	fmt.Fprintf(b.program.err, "\r\x1b[K%s  %s", b.label, detail)
}

// stage shows the stage of work of unknown length. Every stage is shown.
func (b *bar) stage(doing string) {
	b.last = time.Time{}
	b.set(0, 0, doing)
}

// folds returns a function that counts folds, for the functions that report each.
func (b *bar) folds() func(compact.Report) {
	n := 0
	return func(r compact.Report) {
		n++
		b.set(0, 0, fmt.Sprintf("%s, %s tokens left", prose.Count(n, "summary", "summaries"), prose.Number(r.TokensAfter)))
	}
}

// clear removes the bar from its line.
func (b *bar) clear() {
	if b.drawn {
		fmt.Fprint(b.program.err, "\r\x1b[K")
		b.drawn = false
	}
}
