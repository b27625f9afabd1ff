package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
)

// Config holds the values of all settings. [Table] documents each.
type Config struct {
	Storage    Storage
	Ingest     Ingest
	Context    Context
	Compaction Compaction
	Summary    Summary
	Models     Models
	Recall     Recall
	Agents     Agents
	MCP        MCP
	Hooks      Hooks
	Tools      Tools
	Sync       Sync
	Proxy      Proxy
	Log        Log

	// File is the path of the configuration file, which may not exist.
	File string

	// Retired are the keys in that file that nothing reads any more.
	Retired []string

	// DatabasePassword is the password that Storage.DatabasePath had. The program moves
	// it here, so that nothing prints it and no program that it starts inherits it.
	DatabasePassword string

	origin map[string]Source
}

// Storage says where and how the record is stored.
type Storage struct {
	DatabasePath string        `key:"storage.database_path"` // never empty after Load
	Synchronous  string        `key:"storage.synchronous"`
	BusyTimeout  time.Duration `key:"storage.busy_timeout_ms"`
}

// Ingest says how messages are stored.
type Ingest struct {
	LargeFileTokenThreshold int      `key:"ingest.large_file_token_threshold"`
	IgnoreSessionPatterns   []string `key:"ingest.ignore_session_patterns"`
	IgnoreProjectPatterns   []string `key:"ingest.ignore_project_patterns"`
	Redact                  string   `key:"ingest.redact"`
}

// Context sets the size of the view and when it is compacted.
type Context struct {
	TokenBudget    int     `key:"context.token_budget"`
	SoftThreshold  float64 `key:"context.context_threshold"`
	HardThreshold  float64 `key:"context.hard_threshold"`
	LowThreshold   float64 `key:"context.low_threshold"` // 0 is 0.4 of the soft threshold
	FreshTailCount int     `key:"context.fresh_tail_count"`
	Tokenizer      string  `key:"context.tokenizer"`
}

// Compaction sets the shape of the summary DAG and the bounds of the work.
type Compaction struct {
	LeafChunkTokens int    `key:"compaction.leaf_chunk_tokens"`
	Background      string `key:"compaction.background"` // one of the constants Background…
}

// How the sessions of hosts are compacted in the background.
const (
	BackgroundOff        = "off"
	BackgroundExtractive = "extractive"
	BackgroundModel      = "model"
)

// Summary says which model writes summaries, and its budget.
type Summary struct {
	Model              string        `key:"summary.model"`
	Provider           string        `key:"summary.provider"`
	CustomInstructions string        `key:"summary.custom_instructions"`
	Timeout            time.Duration `key:"summary.timeout_ms"`
	MaxCallsPerWindow  int           `key:"summary.max_calls_per_window"`
}

// Models says how models are reached, and their budget.
type Models struct {
	TokensPerDay     int    `key:"models.tokens_per_day"`
	AnthropicAPIKey  string `key:"models.anthropic_api_key"`
	AnthropicBaseURL string `key:"models.anthropic_base_url"`
	OpenAIAPIKey     string `key:"models.openai_api_key"`
	OpenAIBaseURL    string `key:"models.openai_base_url"`
}

// Recall bounds questions about the record.
type Recall struct {
	ExpansionModel    string        `key:"recall.expansion_model"`
	MaxExpandTokens   int           `key:"recall.max_expand_tokens"`
	MaxModelTokens    int           `key:"recall.max_model_tokens"`
	DelegationTimeout time.Duration `key:"recall.delegation_timeout_ms"`
}

// Agents says which models lcm's own agents use.
type Agents struct {
	SubAgentModel string `key:"subagents.model"`
}

// MCP configures `lcm mcp`.
type MCP struct {
	MaxResultTokens int    `key:"mcp.max_result_tokens"`
	Token           string `key:"mcp.token"`
}

// Hooks configures the context that lcm gives to agents.
type Hooks struct {
	PromptRecall bool `key:"hooks.prompt_recall"`
}

// Sync configures `lcm sync` and the searches of the team's server.
type Sync struct {
	URL                    string   `key:"sync.url"`
	Token                  string   `key:"sync.token"`
	Machine                string   `key:"sync.machine"`
	PrivateProjectPatterns []string `key:"sync.private_project_patterns"`
	Hook                   bool     `key:"sync.hook"`
	RemoteLCM              string   `key:"sync.remote_lcm"`
}

// Tools says what becomes of the output of an agent's tools.
type Tools struct {
	ShortenAbove int `key:"tools.shorten_above"` // 0 is never
}

// Proxy configures `lcm run`.
type Proxy struct {
	Budget int `key:"proxy.budget"` // 0 is the default
}

// Log configures the log.
type Log struct {
	Level  string `key:"log.level"`
	Format string `key:"log.format"`
	File   string `key:"log.file"`
}

// Source says where a value came from.
type Source string

// The sources, from the weakest to the strongest.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "environment"
	FromFlag    Source = "flag"
)

// Options is the environment of Load. The zero Options is the real one.
type Options struct {
	// Flags are values from the command line, by key.
	Flags map[string]string
	// Getenv is os.Getenv when nil. An empty variable counts as not set.
	Getenv func(string) string
	// ReadFile reads regular files when nil. For a missing file it must return
	// fs.ErrNotExist.
	ReadFile func(string) ([]byte, error)
	// Home is the user's home directory, os.UserHomeDir when empty.
	Home string
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// maxFile is more than any file of settings has.
const maxFile = 1 << 20

func (o Options) readFile(name string) ([]byte, error) {
	if o.ReadFile == nil {
		content, _, err := regularfile.Read(name, maxFile) // a pipe would wait for a writer
		return content, err
	}
	return o.ReadFile(name)
}

func (o Options) home() (string, error) {
	if o.Home != "" {
		return o.Home, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory (set HOME, or LCM_CONFIG and LCM_DATABASE_PATH): %w", err)
	}
	return home, nil
}

// Path returns the path of the configuration file, whether or not it exists.
func (o Options) Path() (string, error) {
	if file := o.getenv("LCM_CONFIG"); file != "" {
		return o.expand(file)
	}
	return o.xdg("XDG_CONFIG_HOME", ".config", "config.toml")
}

// xdg returns the path of a file of lcm in an XDG base directory. It ignores
// relative base directories, as the XDG specification demands.
func (o Options) xdg(variable, fallback, file string) (string, error) {
	base := o.getenv(variable)
	if !filepath.IsAbs(base) {
		home, err := o.home()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, filepath.FromSlash(fallback))
	}
	return filepath.Join(base, "lcm", file), nil
}

// DataDir returns the directory of the default database.
func (o Options) DataDir() (string, error) { return o.xdg("XDG_DATA_HOME", ".local/share", "") }

// expand replaces a leading "~/" by the home directory.
func (o Options) expand(file string) (string, error) {
	rest, ok := strings.CutPrefix(filepath.ToSlash(file), "~/")
	if !ok {
		return file, nil
	}
	home, err := o.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, filepath.FromSlash(rest)), nil
}

// Load loads every setting. It reports all problems at once, each as an [*Error].
func Load(o Options) (*Config, error) {
	path, err := o.Path()
	if err != nil {
		return nil, err
	}
	src, err := o.readFile(path)
	if err != nil {
		// A file that the user named must exist; the default one need not.
		if !errors.Is(err, fs.ErrNotExist) || o.getenv("LCM_CONFIG") != "" {
			return nil, fmt.Errorf("read the configuration (create %s with `lcm config set`, or unset LCM_CONFIG to use the default file): %w", path, err)
		}
		src = nil
	}
	file, err := parseFile(path, src)
	if err != nil {
		return nil, err
	}
	c := &Config{File: path, Retired: file.retired, origin: make(map[string]Source, len(table))}
	if err := c.fill(o, file); err != nil {
		return nil, err
	}
	if err := c.agree(); err != nil {
		return nil, err
	}
	return c, c.resolve(o)
}

// fill sets each setting to the value of its strongest source.
func (c *Config) fill(o Options, file *document) error {
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(o.Flags)) {
		if _, ok := lookup(key); !ok {
			wrong = append(wrong, unknown(&Error{Source: FromFlag, Key: key}))
		}
	}
	for _, s := range table {
		value, from, err := s.pick(o, file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		s.set(c, value)
		c.origin[s.Key] = from
	}
	return errors.Join(wrong...)
}

// pick returns the value of the strongest source that has one.
func (s Setting) pick(o Options, file *document) (any, Source, error) {
	where := &Error{Key: s.Key, Allowed: s.Allowed()}
	var value any
	var err error
	if text, ok := o.Flags[s.Key]; ok {
		where.Source = FromFlag
		value, err = s.parse(text)
	} else if text := o.getenv(s.Env); text != "" {
		where.Source, where.Variable = FromEnv, s.Env
		value, err = s.parse(text)
	} else if raw, ok := file.values[s.Key]; ok {
		where.Source, where.File, where.Line = FromFile, file.path, file.line(s.Key)
		value, err = s.convert(raw)
	} else {
		where.Source = FromDefault
		value, err = s.parse(s.Default)
	}
	if err != nil {
		where.Problem = err.Error()
		return nil, "", where
	}
	return value, where.Source, nil
}

// agree checks settings that depend on each other.
func (c *Config) agree() error {
	var wrong []error
	below := func(low, high string, ok bool) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s (from the %s) must not exceed %s (from the %s): change one of them",
				low, c.origin[low], high, c.origin[high]))
		}
	}
	below("context.context_threshold", "context.hard_threshold", c.Context.SoftThreshold <= c.Context.HardThreshold)
	below("context.low_threshold", "context.context_threshold", c.Context.LowThreshold <= c.Context.SoftThreshold)
	return errors.Join(wrong...)
}

// resolve replaces defaults that depend on other values.
func (c *Config) resolve(o Options) (err error) {
	if c.Storage.DatabasePath == "" {
		c.Storage.DatabasePath, err = o.xdg("XDG_DATA_HOME", ".local/share", "lcm.db")
	} else {
		c.Storage.DatabasePath, err = o.expand(c.Storage.DatabasePath)
	}
	if err == nil && c.Log.File != "" {
		c.Log.File, err = o.expand(c.Log.File)
	}
	return err
}

// Origin returns the source of a key's value, or "" for an unknown key.
func (c *Config) Origin(key string) Source { return c.origin[key] }
