package main

import (
	"fmt"
	"strings"
	"time"
)

// bar shows on standard error how far long work has come, if that is a
// terminal; else it does nothing.
type bar struct {
	app   *app
	label string
	last  time.Time
	drawn bool
}

func (a *app) newBar(label string) *bar { return &bar{app: a, label: label} }

const barWidth = 24

// set redraws the bar, at most ten times a second. A total of 0 is unknown.
func (b *bar) set(done, total int64, detail string) {
	if !b.app.progress || time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.last, b.drawn = time.Now(), true
	if total <= 0 {
		fmt.Fprintf(b.app.err, "\r\x1b[K%s  %s", b.label, detail)
		return
	}
	share := min(1, float64(done)/float64(total))
	full := int(share * barWidth)
	fmt.Fprintf(b.app.err, "\r\x1b[K%s  %s%s %3.0f%%  %s",
		b.label, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*share, detail)
}

// clear removes the bar, so that what follows stands on a clean line.
func (b *bar) clear() {
	if b.drawn {
		fmt.Fprint(b.app.err, "\r\x1b[K")
		b.drawn = false
	}
}
