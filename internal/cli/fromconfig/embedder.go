package fromconfig

import (
	"context"
	"sync"

	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/openai"
)

// Embedder returns the embedding model of the settings, or nil if none is set.
// It is made at its first call, counts its tokens in state, and enforces the
// limits of the settings.
func Embedder(cfg *config.Config, state store.State) llms.Embedder {
	if cfg.Embeddings.Model == "" {
		return nil
	}
	return &lazyEmbedder{name: "openai/" + cfg.Embeddings.Model, make: sync.OnceValues(func() (llms.Embedder, error) {
		// A search has time for one more try: servers close connections that were
		// idle for a while, and the next call on one fails at once.
		c := openai.Config{Model: cfg.Embeddings.Model, BaseURL: cfg.Embeddings.BaseURL, MaxRetries: 1}
		if c.BaseURL == "" {
			c.BaseURL = cfg.Models.OpenAIBaseURL
			c.APIKey = keyFor(cfg, "models.openai_api_key", cfg.Models.OpenAIAPIKey, "models.openai_base_url")
		} else {
			c.APIKey = keyFor(cfg, "embeddings.api_key", cfg.Embeddings.APIKey, "embeddings.base_url")
		}
		e, err := openai.NewEmbedder(c)
		if err != nil {
			return nil, err
		}
		return spend.NewEmbedderMeter(e, state, "embedding", limits(cfg), nil)
	})}
}

type lazyEmbedder struct {
	name string
	make func() (llms.Embedder, error)
}

// Name implements [llms.Embedder].
func (l *lazyEmbedder) Name() string { return l.name }

// Embed implements [llms.Embedder].
func (l *lazyEmbedder) Embed(ctx context.Context, texts []string) (llms.Embeddings, error) {
	e, err := l.make()
	if err != nil {
		return llms.Embeddings{}, err
	}
	return e.Embed(ctx, texts)
}
