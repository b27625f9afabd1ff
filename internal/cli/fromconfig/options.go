package fromconfig

import (
	"cmp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/tiktoken"
)

// Options returns the options of an engine for the settings. The counter is that
// of [Counter]. state, which is the store, counts the use of models.
func Options(cfg *config.Config, state store.State, counter llms.Counter) []lcm.Option {
	v := engineconfig.Of(cfg)
	options := []lcm.Option{
		lcm.WithCounter(counter),
		lcm.WithBudget(v.Budget),
		lcm.WithThresholds(v.Soft, v.Hard),
		lcm.WithLowThreshold(v.Low),
		lcm.WithPolicy(lcm.Policy{
			ViewPolicy: lcm.ViewPolicy(v.Policy.Policy), LeafChunkTokens: v.Policy.LeafChunkTokens,
		}),
		lcm.WithBounds(lcm.Bounds(v.Bounds)),
		lcm.WithLargeContent(v.LargeContent),
		lcm.WithPrivacy(v.Privacy),
		lcm.WithAskLimits(v.Limits),
	}
	if s := summariser(cfg, state); s != nil {
		options = append(options, lcm.WithSummariser(s))
	}
	if model := cmp.Or(cfg.Recall.ExpansionModel, cfg.Agents.SubAgentModel); model != "" {
		options = append(options, lcm.WithAskModel(newLazyEngine(cfg, state, model, "expansion")))
	}
	return options
}

// Counter returns the token counter of the settings.
func Counter(cfg *config.Config) (llms.Counter, error) {
	if cfg.Context.Tokenizer == "estimate" {
		return llms.Estimate, nil
	}
	return tiktoken.New(cfg.Context.Tokenizer)
}
