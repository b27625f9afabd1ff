//go:build unix

package config_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// A pipe in the place of the settings is an error, and nobody waits for a writer.
func TestPipeInsteadOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := config.Load(config.Options{Home: t.TempDir(), Getenv: func(name string) string {
		if name == "LCM_CONFIG" {
			return path
		}
		return ""
	}})
	if !errors.Is(err, regularfile.ErrNotRegular) {
		t.Error(err)
	}
}
