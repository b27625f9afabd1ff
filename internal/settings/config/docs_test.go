package config

import (
	"fmt"
	"strings"
)

// sections describes each section, for the generated documentation.
var sections = map[string]string{
	"storage":    "Where and how the record is kept.",
	"ingest":     "How messages become rows.",
	"context":    "The size of the view that a model sees, and when it must shrink.",
	"compaction": "The shape of the DAG of summaries, and the bounds on the work.",
	"summary":    "Who writes summaries, and what that may cost.",
	"models":     "How models are reached, and what they may cost. Without a model nothing here matters and nothing leaves the machine.",
	"recall":     "Questions about the record.",
	"subagents":  "Agents that work for agents.",
	"mcp":        "The server for agents, `lcm mcp`.",
	"hooks":      "What agents are told on their events, `lcm hook`.",
	"tools":      "What becomes of the output of an agent's tools.",
	"sync":       "The team's server, `lcm sync` and `--team`.",
	"proxy":      "The proxy between agents and models, `lcm run`.",
	"log":        "What the program says about its own work.",
}

// markdown formats the documentation of all settings: docs/CONFIG.md.
func markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from config/table.go by "go generate ./internal/settings/config"; edit that. -->

A setting comes from a flag, else the environment, else the file ` + "`$LCM_CONFIG`, `$XDG_CONFIG_HOME/lcm/config.toml` or `~/.config/lcm/config.toml`" + `, else its default.
` + "`context.token_budget` is `token_budget` in the table `[context]` of the file." + ` An unknown key, a wrong type and a value out of range are errors. Lists are
comma-separated in the environment and arrays in the file. Times are in milliseconds. A leading ` + "`~/`" + ` is the home
directory. The file need not exist, unless ` + "`LCM_CONFIG`" + ` names it.

    lcm config                                  # every setting, its value and where it comes from
    lcm config get compaction.leaf_chunk_tokens
    lcm config set compaction.leaf_chunk_tokens 16000

Agents of a Go program are configured there: ` + "`go doc ./agents AgentConfig`" + `, [DISCOVERABLE.md](DISCOVERABLE.md).
`)
	section := ""
	for _, s := range table {
		if s.Section() != section {
			section = s.Section()
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", section, sections[section])
		}
		value := ""
		if s.Default != "" {
			value = ", default `" + s.Default + "`"
		}
		if s.Kind == Int || s.Kind == Float || len(s.Enum) > 0 {
			value += ", " + s.Allowed()
		}
		fmt.Fprintf(&b, "- `%s` (`%s`%s): %s\n", s.Key, s.Env, value, s.Doc)
	}
	return b.String()
}
