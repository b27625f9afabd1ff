package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

// configured holds lcm's entries in a host's settings.
type configured struct {
	server []string   // the command of the MCP server
	hooks  [][]string // the commands of the hooks, or only their programs
}

// parsed parses a settings file; a missing one is empty.
func parsed(path string) (*edit.JSON, error) {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d, err := edit.ParseJSON(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// hooksIn lists lcm's commands among the hooks in a file.
func hooksIn(path, host string) ([][]string, error) {
	d, err := parsed(path)
	if err != nil {
		return nil, err
	}
	var events map[string][]hookGroup
	if d.Get("hooks") == nil || json.Unmarshal(d.Get("hooks"), &events) != nil {
		return nil, nil // an unknown shape
	}
	var all [][]string
	for _, name := range sortedKeys(events) {
		for _, g := range events[name] {
			for _, h := range g.Hooks {
				if isOwnHook(host, h.Command) {
					all = append(all, []string{programOf(h.Command)})
				}
			}
		}
	}
	return all, nil
}

func claudeConfigured(state, settings string) (c configured, err error) {
	d, err := parsed(state)
	if err != nil {
		return c, err
	}
	var server struct {
		Command string
		Args    []string
	}
	if raw := d.Get("mcpServers", "lcm"); raw != nil && json.Unmarshal(raw, &server) == nil && server.Command != "" {
		c.server = append([]string{server.Command}, server.Args...)
	}
	c.hooks, err = hooksIn(settings, "claude")
	return c, err
}

func codexConfigured(dir string) (c configured, err error) {
	path := filepath.Join(dir, "config.toml")
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	server, err := edit.HasTable(src, []string{"mcp_servers", "lcm"})
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if command, ok := server["command"].(string); ok {
		c.server = []string{command}
		args, _ := server["args"].([]any)
		for _, a := range args {
			if s, ok := a.(string); ok {
				c.server = append(c.server, s)
			}
		}
	}
	c.hooks, err = hooksIn(filepath.Join(dir, "hooks.json"), "codex")
	return c, err
}

func opencodeConfigured(dir string) (c configured, err error) {
	d, err := parsed(opencodeFile(dir))
	if err != nil {
		return c, err
	}
	var server struct{ Command []string }
	if raw := d.Get("mcp", "lcm"); raw != nil && json.Unmarshal(raw, &server) == nil {
		c.server = server.Command
	}
	plugin, err := os.ReadFile(filepath.Join(dir, "plugins", "lcm.js"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(plugin)) {
		var command []string
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "const COMMAND = "); ok && json.Unmarshal([]byte(rest), &command) == nil {
			c.hooks = append(c.hooks, command)
		}
	}
	return c, nil
}
