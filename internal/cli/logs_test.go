package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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

// A log file is begun anew when it is full, and no line is lost on the way,
// whoever else logs to it.
func TestLogsRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "lcm.log")
	a, b := &logFile{path: path, limit: 1000}, &logFile{path: path, limit: 1000}
	for _, l := range []*logFile{a, b} {
		if err := l.open(); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("x", 99) + "\n"
	for range 15 {
		for _, l := range []*logFile{a, b} {
			if _, err := l.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
	}
	total := 0
	names, _ := filepath.Glob(path + "*")
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || info.Size() > 2000 {
			t.Errorf("%s has mode %v and %d bytes", name, info.Mode(), info.Size())
		}
		total += int(info.Size())
	}
	if total != 30*len(line) || len(names) < 2 || len(names) > 1+keptLogs {
		t.Errorf("%v hold %d bytes, %d were logged", names, total, 30*len(line))
	}
}
