package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// errNotSmaller says that not even the shortest summary is smaller than its
// sources.
var errNotSmaller = errors.New("no summary is smaller than its sources")

// methodBare is the method of a summary that only counts its messages.
const methodBare = "reference"

// write has a fold summarised, one level after the other, until a text is
// accepted. A refused key ends the run without one.
func (n *run) write(ctx context.Context, f Fold, m *material) (store.Wording, error) {
	req := summary.Request{Kind: f.Kind, Depth: f.Depth, Target: f.Target, Sources: m.sources, Previous: m.previous, Counter: n.counter}
	if n.primary != nil {
		w, ok, err := n.ask(ctx, f, m, req)
		if ok || err != nil || n.report.Reason != "" {
			return w, err
		}
		n.report.Fallbacks++
	}
	req.Level = summary.Fallback
	// The deeper the notes, the shorter they are.
	for ; req.Depth <= f.Depth+notes.Depths; req.Depth++ {
		res, err := n.fallback.Summarise(ctx, req)
		if ctx.Err() != nil {
			return store.Wording{}, ctx.Err()
		}
		if err != nil {
			break // too short to be summarised
		}
		if w, ok := n.accept(f, m, req, res); ok {
			return w, nil
		}
	}
	return n.bare(f, m)
}

// ask asks the summariser, within its bounds. It is not asked to be brief
// after an error or an empty answer: that would only cost another time-out.
func (n *run) ask(ctx context.Context, f Fold, m *material, req summary.Request) (w store.Wording, ok bool, err error) {
	for _, level := range []summary.Level{summary.Normal, summary.Aggressive} {
		if n.failures >= maxFailures || (n.mode == Hard && n.late()) {
			return w, false, nil
		}
		if n.calls <= 0 {
			if n.mode != Hard {
				n.report.Reason, n.report.Detail = Spend, fmt.Sprintf("%d calls in %s are used up", n.bounds.MaxCalls, n.bounds.CallWindow)
			}
			return w, false, nil
		}
		if err := n.lease.Renew(ctx); err != nil {
			return w, false, err
		}
		req.Level = level
		if level == summary.Aggressive {
			req.Target = max(minTarget, f.Target/2)
		}
		n.calls--
		n.report.Calls++
		res, err := n.call(ctx, req)
		switch {
		case ctx.Err() != nil:
			return w, false, ctx.Err()
		case isAuth(err):
			n.report.Reason, n.report.Cause = Auth, err
			n.report.Detail = "the summariser's key was refused; nothing was written. Set a valid key, or run without a model"
			return w, false, nil
		case err != nil:
			n.failures++
			n.report.Cause = err
			return w, false, nil
		}
		n.failures = 0
		if w, ok = n.accept(f, m, req, res); ok {
			return w, true, nil
		}
		if strings.TrimSpace(res.Text) == "" {
			n.report.Cause = errors.New("the summariser returned no text")
			return w, false, nil
		}
	}
	return w, false, nil
}

// call calls the summariser and gives up after its time, even if the summariser
// ignores its context.
func (n *run) call(ctx context.Context, req summary.Request) (summary.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, n.bounds.SummaryTimeout)
	defer cancel()
	res, err := guard.Call(ctx, 0, func(ctx context.Context) (summary.Result, error) { return n.primary.Summarise(ctx, req) })
	if p, ok := err.(*guard.Panic); ok {
		return res, fmt.Errorf("the summariser panicked: %v", p.Value)
	}
	if err == guard.ErrGivenUp {
		return res, fmt.Errorf("the summariser took longer than %s: %w", n.bounds.SummaryTimeout, ctx.Err())
	}
	return res, err
}

// isAuth reports whether an error says that a key was refused. Only its type
// counts: summaries and messages often talk about status 401.
func isAuth(err error) bool {
	var refused interface{ Auth() bool }
	return errors.As(err, &refused) && refused.Auth()
}

// maxOverage is how many times its target an accepted summary may be long.
const maxOverage = 1.5

// accept takes a text if it is smaller than its sources, both as rendered, and not
// far longer than asked for. It adds the footer that names the details to expand.
func (n *run) accept(f Fold, m *material, req summary.Request, res summary.Result) (store.Wording, bool) {
	body := tidy(res.Text)
	if body == "" {
		return store.Wording{}, false
	}
	if req.Level != summary.Fallback {
		body = notes.Complete(body, req.Sources)
	}
	footed := summary.EnsureFooter(body, req)
	tokens := m.rendered(n.counter, footed)
	if tokens >= f.Tokens {
		return store.Wording{}, false
	}
	// A model may ramble. The rendered summary is longer than its body, so few bodies are counted.
	if most := float64(req.Target) * maxOverage; req.Level != summary.Fallback && float64(tokens) > most && float64(n.counter.Count(body)) > most {
		return store.Wording{}, false
	}
	return store.Wording{
		Body: footed, Tokens: tokens, Level: req.Level, Method: res.Method, Model: res.Model, TokensIn: res.TokensIn, TokensOut: res.TokensOut,
	}, true
}

// tidy removes surrounding space, control characters and bytes that are not UTF-8.
func tidy(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// bare writes the summary of last resort.
func (n *run) bare(f Fold, m *material) (store.Wording, error) {
	body := bareText(m.shape.Messages)
	tokens := m.rendered(n.counter, body)
	if tokens >= f.Tokens {
		return store.Wording{}, errNotSmaller
	}
	n.report.Bare++
	return store.Wording{Body: body, Tokens: tokens, Level: summary.Fallback, Method: methodBare}, nil
}

func bareText(messages int) string {
	return fmt.Sprintf("%sall of it (%d messages)", summary.Footer, messages)
}
