package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/config"
	"github.com/lossless-context/lcm/ingest"
	"github.com/lossless-context/lcm/redact"
)

// privacy is what the settings want kept out of the record.
func privacy(cfg *config.Config) ingest.Privacy {
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

// ignoredFailure says what to do about a session that the settings exclude.
func ignoredFailure(err error) error {
	return failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
}
