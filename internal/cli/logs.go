package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// How large a log file grows, and how many older ones are kept.
const (
	maxLogBytes = 10 << 20
	keptLogs    = 3
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
		file := &logFile{path: cfg.Log.File, limit: maxLogBytes}
		if err := file.open(); err != nil {
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

// logFile is a file that several processes log to. Each line is one write.
type logFile struct {
	path  string
	limit int64

	mu   sync.Mutex
	f    *os.File
	size int64
}

func (l *logFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if l.f != nil {
		_ = l.f.Close() // every line was written when it was logged
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write implements [io.Writer].
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > l.limit && l.size > 0 {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

// rotate begins a new file, unless another process has done so.
func (l *logFile) rotate() error {
	mine, err := l.f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(l.path)
	if err == nil && os.SameFile(mine, there) && there.Size() >= l.limit/2 {
		for n := keptLogs; n > 1; n-- {
			_ = os.Rename(fmt.Sprintf("%s.%d", l.path, n-1), fmt.Sprintf("%s.%d", l.path, n)) // it may not be there
		}
		if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return l.open()
}

// writable reports why a log file cannot be written to.
func writable(path string) error {
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return err
	}
	return l.f.Close()
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
		_ = root.PersistentFlags().MarkHidden(f.flag) // on every command, and rarely needed: docs/OPERATIONS.md tells of them
	}
}
