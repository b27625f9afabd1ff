package summary

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// Model has summaries written by a language model. It writes prompts and reads
// replies; whether a reply is good enough, and what happens where it is not,
// is package compact's to decide.
type Model struct {
	engine  llms.Engine
	model   string
	custom  string
	nonce   func() string
	prompts *prompts
}

// ModelOption sets something of a Model.
type ModelOption func(*Model)

// WithModelName asks for a model other than the engine's own.
func WithModelName(name string) ModelOption { return func(m *Model) { m.model = name } }

// WithInstructions adds an operator's own instructions to every prompt.
func WithInstructions(text string) ModelOption { return func(m *Model) { m.custom = text } }

// WithNonce sets where the markers around untrusted text come from. They must
// not be guessable by whoever wrote the text.
func WithNonce(nonce func() string) ModelOption { return func(m *Model) { m.nonce = nonce } }

// NewModel returns a summariser that asks engine.
func NewModel(engine llms.Engine, options ...ModelOption) (*Model, error) {
	if engine == nil {
		return nil, errors.New("summary: no model was given")
	}
	p, err := loadPrompts()
	if err != nil {
		return nil, err
	}
	m := &Model{engine: engine, nonce: rand.Text, prompts: p}
	for _, o := range options {
		o(m)
	}
	return m, nil
}

// ErrNoAnswer says that a model returned nothing that could be a summary:
// reasoning alone, a refusal, or an envelope that was not ours.
var ErrNoAnswer = errors.New("the model returned no summary")

// headroom is what a model may spend beyond the summary itself, on reasoning
// and the envelope. Models that reason return nothing at all without it.
const headroom = 2_048

// Summarise implements [Summariser]. A reply that was cut off before it said
// anything is asked for once more with twice the room.
func (m *Model) Summarise(ctx context.Context, r Request) (Result, error) {
	if len(r.Sources) == 0 {
		return Result{}, errors.New("summary: there is nothing to summarise")
	}
	nonce := m.nonce()
	system, user, err := m.prompts.render(r, nonce, m.custom)
	if err != nil {
		return Result{}, err
	}
	req := llms.Request{
		Model: m.model, System: system, Messages: []llms.Message{llms.User(user)}, MaxTokens: r.Target + headroom,
	}
	result := Result{Method: "model", Model: m.engine.Name()}
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
		text, err := readReply(answer.Message.PlainText(), nonce)
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

var (
	envelope  = regexp.MustCompile(`(?s)<lcm-summary nonce="([^"]*)">(.*?)(</lcm-summary>|\z)`)
	reasoning = regexp.MustCompile(`(?is)<(think|thinking|reasoning)>.*?(</(think|thinking|reasoning)>|\z)`)
)

// readReply takes the summary out of its envelope. A model that leaves the
// envelope out is believed; one that brings back somebody else's is not: the
// material has talked it into quoting.
func readReply(reply, nonce string) (string, error) {
	reply = reasoning.ReplaceAllString(reply, "")
	text := reply
	if found := envelope.FindAllStringSubmatch(reply, -1); found != nil {
		text = ""
		for _, f := range found {
			if f[1] == nonce {
				text = f[2]
				break
			}
		}
		if text == "" {
			return "", fmt.Errorf("%w: its envelope has another marker", ErrNoAnswer)
		}
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, nonce, ""))
	if text == "" {
		return "", ErrNoAnswer
	}
	return text, nil
}
