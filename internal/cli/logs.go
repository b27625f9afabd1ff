package cli

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// logger returns the log that the settings ask for, without secrets.
func (p *program) logger(cfg *config.Config) *slog.Logger {
	if p.log != nil {
		return p.log
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelWarn // the table allows no other text
	}
	w := p.err
	if p.logTo != nil {
		w = p.logTo
	}
	if cfg.Log.File != "" {
		if file, err := openLog(cfg.Log.File); err != nil {
			p.warn("nothing is logged to %s: %v", safetext.Line(cfg.Log.File), err)
		} else {
			w = file
		}
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: discreet(cfg)}
	p.log = slog.New(slog.NewTextHandler(w, o))
	if cfg.Log.Format == "json" {
		p.log = slog.New(slog.NewJSONHandler(w, o))
	}
	return p.log
}

// discreet removes keys of the settings, and texts that look like a secret, from attributes.
func discreet(cfg *config.Config) func([]string, slog.Attr) slog.Attr {
	hide := concealer(cfg)
	return func(_ []string, at slog.Attr) slog.Attr {
		switch v := at.Value.Any().(type) {
		case string:
			at.Value = slog.StringValue(hide(v))
		case error:
			at.Value = slog.StringValue(hide(v.Error()))
		case fmt.Stringer:
			if at.Value.Kind() == slog.KindAny {
				at.Value = slog.StringValue(hide(v.String()))
			}
		}
		return at
	}
}

// concealer returns a function that takes secrets out of a text.
func concealer(cfg *config.Config) func(string) string {
	var known []string
	for _, key := range []string{cfg.Models.AnthropicAPIKey, cfg.Models.OpenAIAPIKey, cfg.MCP.Token, cfg.Sync.Token, cfg.DatabasePassword} {
		if len(key) >= 8 { // a shorter one would hide ordinary words
			known = append(known, key, "[secret]")
		}
	}
	keys := strings.NewReplacer(known...)
	return func(text string) string {
		return hideShapes(keys.Replace(text))
	}
}

// hideShapes masks texts that look like a secret.
func hideShapes(text string) string {
	if clean, _ := masksSecrets.Text([]byte(text)); clean != nil {
		return string(clean)
	}
	return text
}

// openLog opens a file that several processes log to. Each line is one write.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// logFlags adds the flags of the log.
func (p *program) logFlags(root *cobra.Command) {
	p.logging = map[string]*string{}
	for _, f := range []struct{ flag, key, usage string }{
		{"log-level", "log.level", "the lowest level that is logged: debug, info, warn or error"},
		{"log-format", "log.format", "the format of the log: text or json"},
		{"log-file", "log.file", "the file of the log (default: standard error)"},
	} {
		p.logging[f.key] = root.PersistentFlags().String(f.flag, "", f.usage)
	}
}
