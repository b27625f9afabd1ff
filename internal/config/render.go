package config

import (
	"fmt"
	"strings"
)

// Redacted is shown in place of a secret.
const Redacted = "(secret)"

// Value is a setting with its value, for display and for JSON.
type Value struct {
	Key    string `json:"key"`
	Env    string `json:"env"`
	Value  any    `json:"value"` // Redacted for a secret
	Origin Source `json:"origin"`
}

// Values returns every setting with its value, in the order of the table.
func (c *Config) Values() []Value {
	values := make([]Value, 0, len(table))
	for _, s := range table {
		values = append(values, Value{Key: s.Key, Env: s.Env, Value: s.shown(s.get(c)), Origin: c.origin[s.Key]})
	}
	return values
}

// shown hides a secret that is set.
func (s Setting) shown(value any) any {
	if s.Secret && value != "" {
		return Redacted
	}
	return value
}

// Get returns the value of one key as text, in the form of the environment.
func (c *Config) Get(key string) (string, error) {
	s, ok := lookup(key)
	if !ok {
		return "", unknown(&Error{Source: FromFlag, Key: key})
	}
	return s.text(s.get(c)), nil
}

// text formats a value in the form of the environment.
func (s Setting) text(value any) string {
	switch value := s.shown(value).(type) {
	case []string:
		return strings.Join(value, ",")
	case float64:
		return number(value)
	default:
		return fmt.Sprint(value)
	}
}

// Render formats every setting as a configuration file, each with the source of
// its value. The result is itself a valid file, in which secrets are comments.
func (c *Config) Render() string {
	var b strings.Builder
	section := ""
	for _, s := range table {
		if s.Section() != section {
			if section != "" {
				b.WriteByte('\n')
			}
			section = s.Section()
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		if s.Secret && s.get(c) != "" {
			b.WriteString("# ") // a file made of the output must not set it
		}
		fmt.Fprintf(&b, "%s = %s", s.Name(), literal(s.shown(s.get(c))))
		switch c.origin[s.Key] {
		case FromDefault:
			b.WriteString("  # default")
		case FromFile:
			b.WriteString("  # from " + oneLine(c.File))
		case FromEnv:
			b.WriteString("  # from " + s.Env)
		case FromFlag:
			b.WriteString("  # from the command line")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// oneLine removes line breaks from a path, so that it cannot end its comment.
func oneLine(path string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(path, "?"))
}

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
	"sync":       "The team's server, `lcm sync` and `--team`.",
	"proxy":      "The proxy between agents and models, `lcm run` and `lcm proxy`.",
	"log":        "What the program says about its own work.",
}

// Markdown formats the documentation of all settings: docs/CONFIG.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from config/table.go by "go generate ./internal/config"; edit that. -->

A setting comes from a flag, else the environment, else the configuration file, else its default. The file is
` + "`$LCM_CONFIG`, else `lcm/config.toml` in `$XDG_CONFIG_HOME`, else in `~/.config`. It need not exist, unless `LCM_CONFIG`\nnames it" + `.

    lcm config                                  # every setting, its value and where it comes from
    lcm config get compaction.leaf_chunk_tokens
    lcm config set compaction.leaf_chunk_tokens 16000

The keys below are those of the file: ` + "`leaf_chunk_tokens` in the table `[compaction]`" + `. A key that is not listed here, a
value of the wrong type or out of range is an error. Lists are comma-separated in the environment and arrays in
the file.

Agents that a Go program makes with ` + "`agents.NewAgent`" + ` are configured there: see [AGENTS_CONFIG.md](AGENTS_CONFIG.md).
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
