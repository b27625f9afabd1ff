package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/proxy"
)

// started is the line at the beginning of a run. It names where requests go.
func (cmd *runCommand) started(host string, rec *openRecord, routes map[string]*url.URL) string {
	budget := "60 to 80 % of the model's window, at most 150,000 tokens"
	switch {
	case cmd.budget != 0:
		budget = prose.Number(cmd.budget) + " tokens"
	case rec.cfg.Proxy.Budget != 0:
		budget = prose.Number(rec.cfg.Proxy.Budget) + " tokens"
	}
	var to []string
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		api := safetext.Line(routes[name].Redacted())
		if strings.HasSuffix(name, launch.Login) {
			api += launch.Login
		}
		to = append(to, api)
	}
	where := "; model API: " + strings.Join(to, ", ")
	if cmd.observe {
		return fmt.Sprintf("%s runs behind lcm, which observes and changes nothing; budget: %s", host, budget) + where
	}
	return fmt.Sprintf("%s runs behind lcm; budget of a request: %s", host, budget) + where
}

// ended is the line at the end of a run.
func ended(r proxy.Run) string {
	if r.Requests == 0 {
		return "no request of a session came through lcm: `lcm doctor` says more"
	}
	parts := []string{prose.Count(r.Requests, "request", "requests")}
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, prose.Number(n)+" "+text)
		}
	}
	changed, cost := "with summaries", "input cost"
	if r.Observe {
		changed, cost = "would have had summaries", "input cost would have been"
	}
	parts = append(parts, prose.Number(r.Changed)+" "+changed, "largest "+prose.Number(r.Largest)+" tokens")
	if r.Compared() {
		parts = append(parts, fmt.Sprintf("%s %.2f of unproxied (estimated)", cost, r.Cost/r.Plain))
	}
	add(r.Unknown, "unchanged: "+proxy.NoKnownAgent)
	why := " (`lcm run --list` says why)"
	if r.Over[proxy.RecordBehind] > 0 { // the list is in the same record
		why = ": " + proxy.RecordBehind
	}
	add(r.OverBudget()-r.Over[proxy.NoKnownAgent], "above the budget"+why)
	add(r.PassedUnchanged(), "passed unchanged after a failure (`lcm run --list`)")
	add(r.Subscription, "unchanged because of a subscription login (--subscription)")
	if n := len(r.Problems); n > 0 {
		parts = append(parts, prose.Count(n, "problem", "problems")+" with the record (`lcm run --list`)")
	}
	return strings.Join(append(parts, prose.Count(r.Verbatim, "message", "messages")+" kept verbatim"), " · ")
}

// shortened returns the beginning of an error on one line.
func shortened(text string) string {
	const most = 100
	runes := []rune(safetext.Line(text))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// patientWriter writes to standard error what lcm says beside an agent. Where nobody reads it,
// the agent waits noteTime for a line and no longer, and the process ends without it.
type patientWriter struct {
	to io.Writer
	mu sync.Mutex
}

const noteTime = 500 * time.Millisecond

// Write implements [io.Writer].
func (p *patientWriter) Write(line []byte) (int, error) {
	written := make(chan struct{})
	go func(line []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, _ = p.to.Write(line) // there is nobody to tell
		close(written)
	}(bytes.Clone(line))
	select {
	case <-written:
	case <-time.After(noteTime):
	}
	return len(line), nil
}

// heldLog is the log on standard error: while the agent has the terminal, lines wait for
// its end.
type heldLog struct {
	to io.Writer

	mu      sync.Mutex
	holding bool
	held    []byte
}

// maxHeldLog is how much is held. The first lines tell the most.
const maxHeldLog = 64 << 10

// Write implements [io.Writer].
func (l *heldLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.holding {
		return l.to.Write(line)
	}
	if len(l.held)+len(line) <= maxHeldLog {
		l.held = append(l.held, line...)
	}
	return len(line), nil
}

func (l *heldLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = true
}

// release writes the lines that were held.
func (l *heldLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = false
	_, _ = l.to.Write(l.held) // there is nobody to tell
	l.held = nil
}
