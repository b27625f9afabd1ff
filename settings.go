package lcm

import (
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
)

// WithSettings applies the user's settings as the command does: environment
// variables (LCM_MAX_EXPAND_TOKENS and others) over the settings file over the
// defaults; docs/CONFIG.md lists them. It leaves out the settings that choose
// models and tokenizers: pass those with [WithExpansionModel], [WithEmbedder],
// [WithSummariser] and [WithCounter]. Options after it win.
func WithSettings() Option {
	return func(s *settings) error {
		cfg, err := config.Load(config.Options{})
		if err != nil {
			return err
		}
		v := engineconfig.Of(cfg)
		for _, o := range []Option{
			WithBudget(v.Budget), WithThresholds(v.Soft, v.Hard), WithLowThreshold(v.Low), WithPolicy(v.Policy), WithBounds(v.Bounds),
			WithLargeContent(v.LargeContent), WithPrivacy(v.Privacy), WithExpansionLimits(v.Limits),
		} {
			if err := o(s); err != nil {
				return err
			}
		}
		return nil
	}
}
