package summary

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/llms"
)

// Model has summaries written by a language model. It writes prompts and reads
// replies. Package compact decides whether a reply is good enough.
type Model struct {
	engine llms.Model
	custom string
	nonce  func() string // for the markers around untrusted text, whose author must not guess them
}

// ModelOption sets something of a Model.
type ModelOption func(*Model)

// WithInstructions adds an operator's own instructions to every prompt.
func WithInstructions(text string) ModelOption { return func(m *Model) { m.custom = text } }

// NewModel returns a summariser that asks engine.
func NewModel(engine llms.Model, options ...ModelOption) (*Model, error) {
	if engine == nil {
		return nil, errors.New("summary: no model was given")
	}
	m := &Model{engine: engine, nonce: rand.Text}
	for _, o := range options {
		o(m)
	}
	return m, nil
}

// ErrNoAnswer says that a model returned no summary: reasoning alone, a refusal, a
// reply that was cut off, or one in another form.
var ErrNoAnswer = errors.New("the model returned no summary")

// headroom is how much a model may spend beyond the summary itself, on reasoning
// and the envelope. Models that reason return nothing at all without it.
const headroom = 2_048

// Summarise implements [Summariser]. A reply that was cut off is asked for once
// more with twice the room.
func (m *Model) Summarise(ctx context.Context, r Request) (Result, error) {
	if len(r.Sources) == 0 {
		return Result{}, errors.New("summary: there is nothing to summarise")
	}
	nonce := m.nonce()
	system, user, err := render(r, nonce, m.custom)
	if err != nil {
		return Result{}, err
	}
	req := llms.Request{
		System: system, Messages: []llms.Message{llms.User(user)}, MaxTokens: r.Target + headroom,
	}
	result := Result{Method: MethodModel, Model: m.engine.Name()}
	for try := 0; ; try++ {
		answer, err := llms.Complete(ctx, m.engine, req)
		result.TokensIn += answer.Usage.InputTokens
		result.TokensOut += answer.Usage.OutputTokens
		if answer.Model != "" {
			result.Model = answer.Model
		}
		if err != nil {
			return result, fmt.Errorf("asking %s for a summary: %w", m.engine.Name(), err)
		}
		text, err := readReply(answer, nonce)
		if err == nil {
			result.Text = text
			return result, nil
		}
		if answer.Stop != llms.StopLength || try > 0 {
			return result, fmt.Errorf("%s: %w", m.engine.Name(), err)
		}
		req.MaxTokens *= 2
	}
}

// MethodModel is the method of a summary that a model wrote.
const MethodModel = "model"

// thoughts are reasoning that some servers leave in the text, before the
// answer.
var thoughts = lazyregexp.New(`(?is)^\s*<(think|thinking|reasoning)>.*?</(think|thinking|reasoning)>`)

// readReply takes the summary out of its envelope. Both tags carry the nonce, so that
// other tags in the text do not count. A reply without the envelope is accepted if it
// is complete and has the footer.
func readReply(answer llms.Response, nonce string) (string, error) {
	if answer.Stop == llms.StopRefusal {
		return "", fmt.Errorf("%w: the provider refused", ErrNoAnswer)
	}
	reply := thoughts().ReplaceAllString(answer.Message.PlainText(), "")
	_, inside, opened := strings.Cut(reply, "<lcm-summary-"+nonce+">")
	end := strings.LastIndex(inside, "</lcm-summary-"+nonce+">")
	var text string
	switch {
	case opened && end >= 0:
		text = inside[:end]
	case answer.Stop == llms.StopLength:
		return "", fmt.Errorf("%w: it was cut off", ErrNoAnswer)
	case opened:
		text = inside
	case HasFooter(reply):
		text = reply
	default:
		return "", fmt.Errorf("%w: it has neither the envelope nor the last line that were asked for", ErrNoAnswer)
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, nonce, ""))
	if text == "" {
		return "", ErrNoAnswer
	}
	return text, nil
}
