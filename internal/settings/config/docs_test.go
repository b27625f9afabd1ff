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
	"embeddings": "The optional embedding model that orders matches by meaning.",
	"recall":     "Questions about the record.",
	"subagents":  "Agents that work for agents.",
	"chat":       "Talking in a terminal.",
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

A setting comes from a flag, else the environment, else the configuration file, else its default. The file is
` + "`$LCM_CONFIG`, else `lcm/config.toml` in `$XDG_CONFIG_HOME`, else in `~/.config`. It need not exist, unless `LCM_CONFIG`\nnames it" + `.

    lcm config                                  # every setting, its value and where it comes from
    lcm config get compaction.leaf_chunk_tokens
    lcm config set compaction.leaf_chunk_tokens 16000

The keys below are those of the file: ` + "`leaf_chunk_tokens` in the table `[compaction]`" + `. A key that is not listed here, a
value of the wrong type or out of range is an error. Lists are comma-separated in the environment and arrays in
the file.

Agents of a Go program are configured there: ` + "`go doc ./agents AgentConfig`" + `, [DISCOVERABLE.md](DISCOVERABLE.md).
`)
	section := ""
	for _, s := range table {
		if s.Section() != section {
			section = s.Section()
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", section, sections[section])
			b.WriteString("| Key | Environment | Default | Allowed | Meaning |\n|---|---|---|---|---|\n")
		}
		value := "(empty)"
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", s.Key, s.Env, value, s.Allowed(), s.Doc)
	}
	return b.String()
}
