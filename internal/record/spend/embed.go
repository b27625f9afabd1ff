package spend

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// EmbedderMeter is an embedding model whose calls are recorded and limited.
type EmbedderMeter struct {
	engine llms.Embedder
	account
}

// NewEmbedderMeter returns engine, metered for a purpose such as "embedding".
func NewEmbedderMeter(engine llms.Embedder, state store.State, purpose string, limits Limits, clock func() time.Time) (*EmbedderMeter, error) {
	if engine == nil || state == nil {
		return nil, errors.New("spend: a meter needs a model and a store")
	}
	return &EmbedderMeter{engine, newAccount(engine.Name(), state, purpose, limits, clock)}, nil
}

// Name implements [llms.Embedder].
func (m *EmbedderMeter) Name() string { return m.name }

// Embed implements [llms.Embedder]. Where the server reports no usage, the
// tokens of the texts are estimated.
func (m *EmbedderMeter) Embed(ctx context.Context, texts []string) (out llms.Embeddings, err error) {
	tokens := llms.Estimate.Count(strings.Join(texts, "\n"))
	hold, err := m.allow(ctx, int64(tokens))
	if err != nil {
		return llms.Embeddings{}, err
	}
	failure := errCrashed
	defer func() {
		used := largest(out.Usage, usageOf(failure))
		guessed := used == llms.Usage{} && failure == nil
		if guessed {
			used.InputTokens = tokens
		}
		recorded := m.record(context.WithoutCancel(ctx), m.name, hold, used, guessed, failure)
		if err == nil {
			err = recorded
		}
	}()
	out, failure = m.engine.Embed(ctx, texts)
	return out, failure
}
