package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// bar shows the progress of long work on standard error, if that is a terminal.
type bar struct {
	program *program
	label   string
	last    time.Time
	drawn   bool
	// When the work began, and how much was done before.
	begun time.Time
	first int64
}

func (p *program) newBar(label string) *bar { return &bar{program: p, label: label} }

const barWidth = 24

// set redraws the bar, at most ten times a second. A total of 0 is unknown.
func (b *bar) set(done, total int64, detail string) {
	if !b.program.progress || time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.last, b.drawn = time.Now(), true
	if b.begun.IsZero() {
		b.begun, b.first = b.last, done
	}
	if total <= 0 {
		fmt.Fprintf(b.program.err, "\r\x1b[K%s  %s", b.label, detail)
		return
	}
	share := min(1, float64(done)/float64(total))
	full := int(share * barWidth)
	if left := timeLeft(done-b.first, total-b.first, b.last.Sub(b.begun)); left != "" {
		detail += ", " + left + " left"
	}
	fmt.Fprintf(b.program.err, "\r\x1b[K%s  %s%s %3.0f%%  %s",
		b.label, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*share, detail)
}

// stage shows the stage of work of unknown length. Every stage is shown.
func (b *bar) stage(doing string) {
	b.last = time.Time{}
	b.set(0, 0, doing)
}

// enoughTime is how long work must have lasted for its rate to say something.
const enoughTime = 2 * time.Second

// timeLeft estimates the remaining time from the rate so far, or returns "".
func timeLeft(done, total int64, taken time.Duration) string {
	if done <= 0 || total < done || taken < enoughTime {
		return ""
	}
	left := time.Duration(float64(taken) * float64(total-done) / float64(done))
	switch {
	case left < time.Minute:
		return fmt.Sprintf("%d s", int(left.Seconds())+1)
	case left < time.Hour:
		return fmt.Sprintf("%d min", int(left.Minutes())+1)
	}
	return fmt.Sprintf("%.1f h", left.Hours())
}

// clear removes the bar from its line.
func (b *bar) clear() {
	if b.drawn {
		fmt.Fprint(b.program.err, "\r\x1b[K")
		b.drawn = false
	}
}

// foldBar shows by how many tokens folding has made views smaller.
type foldBar struct {
	*bar
	total   int64 // by how much they are to become smaller in all
	before  int64 // by how much those before the current one did
	current store.Conversation
	now     int64 // by how much the current one did
	folds   int
	began   time.Time
}

func newFoldBar(p *program, label string, total int64) *foldBar {
	return &foldBar{bar: p.newBar(label), total: total, began: time.Now()}
}

// start begins with the next conversation.
func (b *foldBar) start(c store.Conversation) {
	b.before, b.now, b.current = b.before+b.now, 0, c
}

// folded is told of each fold.
func (b *foldBar) folded(r compact.Report) {
	b.folds++
	b.now = max(0, int64(b.current.ViewTokens-r.TokensAfter))
	done := b.before + b.now
	rate := float64(done) / max(time.Since(b.began).Seconds(), 0.001)
	b.set(min(done, b.total), b.total, fmt.Sprintf("%s, %s tokens a second", prose.Count(b.folds, "summary", "summaries"), prose.Number(int(rate))))
}
