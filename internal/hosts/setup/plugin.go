package setup

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
)

// PluginHost is a host that can also have lcm as a plugin. A plugin has the entries that setup
// would write. What it starts has --plugin with the host's name, and does nothing where setup
// has written the same entry ([HasHooks], [HasServer]).
type PluginHost interface {
	Host
	// Plugin returns the files of the plugin, by their paths in its directory; skill is the
	// text of [Options].
	Plugin(version, skill string) (map[string]string, error)
	// HasPlugin reports whether the program has the plugin, and has it turned on.
	HasPlugin(m hosts.Machine) bool
}

// PluginAbout describes the plugins to users.
const PluginAbout = "Lossless context memory: every message of earlier sessions, word for word"

// Starter is the name of the script in a plugin that starts lcm.
const Starter = "lcm.sh"

var (
	//go:embed plugin/lcm.sh
	starter string
	//go:embed plugin/recall.md
	recallText string
	//go:embed plugin/status.md
	statusText string
)

// PluginFiles adds the files of a plugin to others: the entries of a host, with the MCP server in
// the file server and the hooks in the file hooks, and the script that starts lcm. root is how
// the program names the directory of a plugin.
func PluginFiles(h Host, files map[string]string, root, skill, server, hooks string) error {
	o := Options{Binary: root + "/" + Starter, Args: []string{"--plugin", h.About().Name}, Skill: skill}
	for _, e := range h.Entries("", o) {
		file := filepath.ToSlash(e.path)
		switch {
		case e.what == statusName: // plugins have none
			continue
		case e.server:
			file = server
		case !e.whole:
			file = hooks
		}
		content, err := e.put([]byte(files[file]))
		if err != nil {
			return fmt.Errorf("%s of the plugin for %s: %w", file, h.About().Title, err)
		}
		files[file] = string(content)
	}
	files[Starter] = starter
	return nil
}

// RecallPrompt returns the text of a plugin's command that recalls; arguments stands for what the
// user types after it.
func RecallPrompt(arguments string) string {
	return strings.Replace(recallText, "ARGUMENTS", arguments, 1)
}

// StatusPrompt returns the text of a plugin's command about the state of lcm; output stands for
// what the script that starts lcm prints for "status".
func StatusPrompt(output string) string { return strings.Replace(statusText, "OUTPUT", output, 1) }

// pluginOf reports whether a host has the plugin.
func pluginOf(m hosts.Machine, h Host) bool {
	p, ok := h.(PluginHost)
	return ok && p.HasPlugin(m)
}

// skillInPlugin reports whether a host has the plugin, and the plugin lcm's skill.
func skillInPlugin(m hosts.Machine, h Host) bool {
	if !pluginOf(m, h) {
		return false
	}
	files, _ := h.(PluginHost).Plugin("", "any") // without files there is no skill
	for _, content := range files {
		if strings.Contains(content, skillSign) {
			return true
		}
	}
	return false
}
