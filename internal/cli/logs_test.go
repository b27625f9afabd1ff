package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/settings/config"
)

// Nothing that is a secret, or looks like one, gets into a log or an error.
func TestLogsHoldNoSecrets(t *testing.T) {
	const own, shaped = "correct-horse-battery", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		a := newProgram(nil, &bytes.Buffer{}, &out)
		cfg := &config.Config{Log: config.Log{Level: "info", Format: format}}
		cfg.Models.AnthropicAPIKey = own
		log := a.logger(cfg)
		log.Info("asked with "+own, "key", own, "err", errors.New("401: "+own), "token", shaped)
		a.hide = concealer(cfg)
		a.report(errors.New("the provider says: " + own + " and " + shaped))
		if strings.Contains(out.String(), own) || strings.Contains(out.String(), shaped) {
			t.Errorf("%s: %s", format, out.String())
		}
		if !strings.Contains(out.String(), "asked with") || !strings.Contains(out.String(), "the provider says") {
			t.Errorf("%s says too little: %s", format, out.String())
		}
	}
}
