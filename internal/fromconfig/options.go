package fromconfig

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/delegation"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/redact"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/tiktoken"
)

// Options returns the options of an engine for the settings. The counter is that
// of [Counter]. state, which is the store, counts the use of models.
func Options(cfg *config.Config, state store.State, counter llms.Counter) []lcm.Option {
	options := []lcm.Option{
		lcm.WithCounter(counter),
		lcm.WithBudget(cfg.Context.TokenBudget),
		lcm.WithThresholds(cfg.Context.SoftThreshold, cfg.Context.HardThreshold),
		lcm.WithPolicy(policy(cfg)),
		lcm.WithBounds(bounds(cfg)),
		lcm.WithLargeContent(cfg.Ingest.LargeFileTokenThreshold),
		lcm.WithPrivacy(Privacy(cfg)),
		lcm.WithExpansionLimits(delegation.Limits{
			ExpandTokens: cfg.Recall.MaxExpandTokens, PageTokens: cfg.Recall.PageTokens,
			ModelTokens: cfg.Recall.MaxModelTokens, Timeout: cfg.Recall.DelegationTimeout,
		}),
	}
	if s := summariser(cfg, state); s != nil {
		options = append(options, lcm.WithSummariser(s))
	}
	if model := cmp.Or(cfg.Recall.ExpansionModel, cfg.Agents.SubAgentModel); model != "" {
		options = append(options, lcm.WithExpansionModel(newLazyEngine(cfg, state, model, "expansion")))
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

// Privacy returns the privacy settings.
func Privacy(cfg *config.Config) ingest.Privacy {
	p := ingest.Privacy{IgnoreSessions: cfg.Ingest.IgnoreSessionPatterns, Redact: redact.Mode(cfg.Ingest.Redact)}
	home, err := os.UserHomeDir()
	for _, pattern := range cfg.Ingest.IgnoreProjectPatterns {
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok && err == nil {
			pattern = filepath.Join(home, rest)
		}
		p.IgnoreProjects = append(p.IgnoreProjects, pattern)
	}
	return p
}

func policy(cfg *config.Config) compact.Policy {
	c := cfg.Compaction
	p := compact.Policy{
		// A policy's 0 means its default, a setting's 0 means none. The newest
		// round is in the fresh tail in any case.
		Policy:                 assemble.Policy{FreshTail: max(1, cfg.Context.FreshTailCount), FreshTailTokens: cfg.Context.FreshTailMaxTokens},
		LeafChunkTokens:        c.LeafChunkTokens,
		LeafTargetTokens:       c.LeafTargetTokens,
		CondensedTargetTokens:  c.CondensedTargetTokens,
		LeafMinFanout:          c.LeafMinFanout,
		CondensedMinFanout:     c.CondensedMinFanout,
		CondensedMinFanoutHard: c.CondensedMinFanoutHard,
		MaxDepth:               c.SweepMaxDepth,
		ExtractiveOnAuth:       cfg.Summary.ExtractiveOnAuth,
		MaxOverageFactor:       cfg.Summary.MaxOverageFactor,
	}
	if c.SweepMaxDepth == 0 { // only messages are summarised
		p.LeafMinFanout = math.MaxInt32
	}
	return p
}

func bounds(cfg *config.Config) compact.Bounds {
	return compact.Bounds{
		MaxPasses:      cfg.Compaction.MaxSweepIterations,
		Deadline:       cfg.Compaction.SweepDeadline,
		SummaryTimeout: cfg.Summary.Timeout,
		MaxCalls:       cfg.Summary.MaxCallsPerWindow,
		CallWindow:     cfg.Summary.CallWindow,
		SpendBackoff:   cfg.Summary.SpendBackoff,
	}
}
