package fromconfig

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/openai"
)

// Model returns a model by its name. It counts its tokens and cost in state under
// a purpose, and enforces the limits of the settings.
func Model(cfg *config.Config, state store.State, model, purpose string) (llms.Model, error) {
	engine, err := Provided(cfg, "", model)
	if err != nil {
		return nil, err
	}
	return metered(cfg, engine, state, purpose)
}

// Provided returns the model of a provider. If the provider is empty or "auto" it
// is guessed from the name of the model.
func Provided(cfg *config.Config, provider, model string) (llms.Model, error) {
	if provider == "" || provider == "auto" {
		provider = guessProvider(model)
	}
	m := cfg.Models
	switch provider {
	case "anthropic":
		key := keyFor(cfg, "models.anthropic_api_key", m.AnthropicAPIKey, "models.anthropic_base_url")
		return anthropic.New(anthropic.Config{Model: model, APIKey: key, BaseURL: m.AnthropicBaseURL})
	case "openai":
		key := keyFor(cfg, "models.openai_api_key", m.OpenAIAPIKey, "models.openai_base_url")
		return openai.New(openai.Config{Model: model, APIKey: key, BaseURL: m.OpenAIBaseURL})
	}
	return nil, fmt.Errorf("provider %q is unknown: use anthropic or openai", provider)
}

// keyFor returns a key for a server. A key that is only in the environment is for
// the provider, not for an address in the configuration file.
func keyFor(cfg *config.Config, key, value, url string) string {
	if cfg.Origin(key) == config.FromEnv && cfg.Origin(url) == config.FromFile {
		return ""
	}
	return value
}

// guessProvider guesses the provider from the name of a model.
func guessProvider(model string) string {
	if strings.HasPrefix(model, "claude") {
		return "anthropic"
	}
	return "openai"
}

// metered counts and limits the use of a model.
func metered(cfg *config.Config, engine llms.Model, state store.State, purpose string) (llms.Model, error) {
	return spend.NewMeter(engine, state, purpose, limits(cfg), nil)
}

func limits(cfg *config.Config) spend.Limits {
	return spend.Limits{TokensPerDay: int64(cfg.Models.TokensPerDay)}
}

// summariser returns the summariser of the settings, or nil for the extractive
// one. The model is made at its first call: reading the record must not need a
// key.
func summariser(cfg *config.Config, state store.State) summary.Summariser {
	if cfg.Summary.Model == "" {
		return nil
	}
	return &lazySummariser{make: sync.OnceValues(func() (summary.Summariser, error) {
		engine, err := Provided(cfg, cfg.Summary.Provider, cfg.Summary.Model)
		if err != nil {
			return nil, err
		}
		if engine, err = metered(cfg, engine, state, "summary"); err != nil {
			return nil, err
		}
		return summary.NewModel(engine, summary.WithInstructions(cfg.Summary.CustomInstructions))
	})}
}

type lazySummariser struct {
	make func() (summary.Summariser, error)
}

// Summarise implements [summary.Summariser].
func (l *lazySummariser) Summarise(ctx context.Context, r summary.Request) (summary.Result, error) {
	s, err := l.make()
	if err != nil {
		return summary.Result{}, err
	}
	return s.Summarise(ctx, r)
}

// lazyEngine is a metered model that is made at its first call: reading the
// record must not need a key.
type lazyEngine struct {
	name string
	make func() (llms.Model, error)
}

func newLazyEngine(cfg *config.Config, state store.State, model, purpose string) *lazyEngine {
	return &lazyEngine{name: model, make: sync.OnceValues(func() (llms.Model, error) {
		return Model(cfg, state, model, purpose)
	})}
}

// Name implements [llms.Model].
func (l *lazyEngine) Name() string { return l.name }

// Stream implements [llms.Model].
func (l *lazyEngine) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		engine, err := l.make()
		if err != nil {
			yield(llms.Event{}, err)
			return
		}
		for event, err := range engine.Stream(ctx, r) {
			if !yield(event, err) {
				return
			}
		}
	}
}
