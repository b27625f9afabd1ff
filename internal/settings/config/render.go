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
