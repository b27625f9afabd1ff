// Package engineconfig turns the settings of package config into values for an
// engine. lcm.WithSettings and the command use it, so a setting means the same in
// a program that embeds the engine.
package engineconfig

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/recall"
)

// Values are the settings of an engine, without models and tokenizers: those
// link providers.
type Values struct {
	Budget       int
	Soft, Hard   float64 // thresholds
	Low          float64 // 0 is 0.4 of Soft
	Policy       compact.Policy
	Bounds       compact.Bounds
	LargeContent int
	Privacy      ingest.Privacy
	Limits       recall.Limits
}

// Of returns the values of the settings.
func Of(cfg *config.Config) Values {
	return Values{
		Budget: cfg.Context.TokenBudget,
		Soft:   cfg.Context.SoftThreshold, Hard: cfg.Context.HardThreshold, Low: cfg.Context.LowThreshold,
		Policy:       policy(cfg),
		Bounds:       compact.Bounds{SummaryTimeout: cfg.Summary.Timeout, MaxCalls: cfg.Summary.MaxCallsPerWindow},
		LargeContent: cfg.Ingest.LargeFileTokenThreshold,
		Privacy:      Privacy(cfg),
		Limits: recall.Limits{
			ExpandTokens: cfg.Recall.MaxExpandTokens,
			ModelTokens:  cfg.Recall.MaxModelTokens, Timeout: cfg.Recall.DelegationTimeout,
		},
	}
}

// Privacy returns the privacy settings.
func Privacy(cfg *config.Config) ingest.Privacy {
	p := ingest.Privacy{IgnoreSessions: cfg.Ingest.IgnoreSessionPatterns, Redact: privacy.Mode(cfg.Ingest.Redact)}
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
	return compact.Policy{
		// A policy's 0 means its default, a setting's 0 means none. The newest
		// round is in the fresh tail in any case.
		Policy:          assemble.Policy{FreshTail: max(1, cfg.Context.FreshTailCount)},
		LeafChunkTokens: cfg.Compaction.LeafChunkTokens,
	}
}
