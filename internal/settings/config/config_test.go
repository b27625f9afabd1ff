package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// world is a made-up machine: environment, one configuration file, a home.
func world(env map[string]string, file string) Options {
	return Options{
		Home:   "/home/ada",
		Getenv: func(name string) string { return env[name] },
		ReadFile: func(name string) ([]byte, error) {
			if file == "" {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(file), nil
		},
	}
}

func load(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := load(t, world(nil, ""))
	if got, want := c.Storage.DatabasePath, filepath.FromSlash("/home/ada/.local/share/lcm/lcm.db"); got != want {
		t.Errorf("database path %q, want %q", got, want)
	}
	if got, want := c.File, filepath.FromSlash("/home/ada/.config/lcm/config.toml"); got != want {
		t.Errorf("file %q, want %q", got, want)
	}
	want := Context{TokenBudget: 128000, SoftThreshold: 0.75, HardThreshold: 0.95, FreshTailCount: 64, Tokenizer: "estimate"}
	if diff := cmp.Diff(want, c.Context); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	wantCompaction := Compaction{LeafChunkTokens: 12000, Background: BackgroundExtractive}
	if diff := cmp.Diff(wantCompaction, c.Compaction); diff != "" {
		t.Errorf("compaction (-want +got):\n%s", diff)
	}
	for _, s := range Table() {
		if got := c.Origin(s.Key); got != FromDefault {
			t.Errorf("%s comes from %q, want the default", s.Key, got)
		}
	}
}

// A file of an earlier version is read.
func TestRetiredSettings(t *testing.T) {
	file := ""
	for _, key := range retired {
		file += key + " = 8\n"
	}
	c := load(t, world(nil, file+"compaction.leaf_chunk_tokens = 6000\n"))
	if c.Compaction.LeafChunkTokens != 6000 || !slices.Equal(slices.Sorted(slices.Values(c.Retired)), slices.Sorted(slices.Values(retired))) {
		t.Errorf("%+v, retired: %v", c.Compaction, c.Retired)
	}
	if _, err := c.Get("compaction.leaf_min_fanout"); err == nil || !strings.Contains(err.Error(), "no longer") {
		t.Errorf("a setting of an earlier version: %v", err)
	}
	for _, key := range retired {
		if _, ok := lookup(key); ok {
			t.Errorf("%s is retired and a setting", key)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const key = "compaction.leaf_chunk_tokens"
	env := map[string]string{"LCM_LEAF_CHUNK_TOKENS": "7000"}
	file := "[compaction]\nleaf_chunk_tokens = 6000\n"
	flags := map[string]string{key: "8000"}
	tests := []struct {
		name   string
		flags  map[string]string
		env    map[string]string
		file   string
		want   int
		source Source
	}{
		{"default", nil, nil, "", 12000, FromDefault},
		{"file", nil, nil, file, 6000, FromFile},
		{"environment over file", nil, env, file, 7000, FromEnv},
		{"flag over all", flags, env, file, 8000, FromFlag},
		{"an empty variable is not set", nil, map[string]string{"LCM_LEAF_CHUNK_TOKENS": ""}, file, 6000, FromFile},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := world(tt.env, tt.file)
			o.Flags = tt.flags
			c := load(t, o)
			if c.Compaction.LeafChunkTokens != tt.want || c.Origin(key) != tt.source {
				t.Errorf("got %d from %s, want %d from %s", c.Compaction.LeafChunkTokens, c.Origin(key), tt.want, tt.source)
			}
		})
	}
}

func TestEveryFormOfEveryKind(t *testing.T) {
	env := load(t, world(map[string]string{
		"LCM_SUMMARY_TIMEOUT_MS":      "1500",
		"LCM_CONTEXT_THRESHOLD":       "0.5",
		"LCM_IGNORE_SESSION_PATTERNS": "cron:*, ,heartbeat",
		"LCM_SYNCHRONOUS":             "relaxed",
	}, ""))
	file := load(t, world(nil, `
summary = { timeout_ms = 1_500 }
[context]
context_threshold = 0.5
[ingest]
ignore_session_patterns = [
  "cron:*", # nightly
  'heartbeat',
]
[storage]
"synchronous" = "relaxed"
`))
	for _, c := range []*Config{env, file} {
		if c.Summary.Timeout != 1500*time.Millisecond || c.Context.SoftThreshold != 0.5 || c.Storage.Synchronous != "relaxed" {
			t.Errorf("wrong values: %+v", c)
		}
		if diff := cmp.Diff([]string{"cron:*", "heartbeat"}, c.Ingest.IgnoreSessionPatterns); diff != "" {
			t.Errorf("patterns (-want +got):\n%s", diff)
		}
	}
	if whole := load(t, world(nil, "[context]\nhard_threshold = 1\n")); whole.Context.HardThreshold != 1 {
		t.Errorf("an integer for a number gave %v", whole.Context.HardThreshold)
	}
}

func TestPlaces(t *testing.T) {
	tests := []struct {
		name       string
		env        map[string]string
		file, data string
	}{
		{"XDG", map[string]string{"XDG_CONFIG_HOME": "/x/c", "XDG_DATA_HOME": "/x/d"}, "/x/c/lcm/config.toml", "/x/d/lcm/lcm.db"},
		{"relative XDG is ignored", map[string]string{"XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d"}, "/home/ada/.config/lcm/config.toml", "/home/ada/.local/share/lcm/lcm.db"},
		{"named", map[string]string{"LCM_CONFIG": "~/my.toml", "LCM_DATABASE_PATH": "~/my.db"}, "/home/ada/my.toml", "/home/ada/my.db"},
		{"relative database", map[string]string{"LCM_DATABASE_PATH": "here.db"}, "/home/ada/.config/lcm/config.toml", "here.db"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, world(tt.env, "# empty\n"))
			if got := filepath.ToSlash(c.File); got != tt.file {
				t.Errorf("file %q, want %q", got, tt.file)
			}
			if got := filepath.ToSlash(c.Storage.DatabasePath); got != tt.data {
				t.Errorf("database %q, want %q", got, tt.data)
			}
		})
	}
}

func TestErrorsSayWhereAndWhatToDo(t *testing.T) {
	const file = "/home/ada/.config/lcm/config.toml"
	tests := []struct {
		name  string
		flags map[string]string
		env   map[string]string
		file  string
		want  []string
	}{
		{name: "out of range in the file", file: "# mine\n\n[context]\ncontext_threshold = 75\n",
			want: []string{file + ":4: context.context_threshold: 75 is out of range; give a number from 0.01 to 1"}},
		{name: "wrong type", file: "[compaction]\nleaf_chunk_tokens = \"many\"\n",
			want: []string{file + `:2: compaction.leaf_chunk_tokens: "many" is not allowed; give an integer, at least 1`}},
		{name: "a table where a value belongs", file: "[log.level]\nx = 1\n",
			want: []string{file + ":1: log.level: map[x:1] is not allowed; give one of debug, info, warn, error"}},
		{name: "unknown key", file: "[compaction]\nleaf_chunk_token = 5\n",
			want: []string{file + ":2: compaction.leaf_chunk_token: there is no such setting; `lcm config` lists them all"}},
		{name: "unknown section", file: "[zebra]\nstripes = 5\n",
			want: []string{file + ":2: zebra.stripes: there is no such setting; `lcm config` lists them all"}},
		{name: "syntax", file: "[log]\nlevel = \n",
			want: []string{file + ":2: ", "the file must be TOML"}},
		{name: "environment", env: map[string]string{"LCM_TOKENIZER": "bpe"},
			want: []string{`environment variable LCM_TOKENIZER: context.tokenizer: "bpe" is not allowed; give one of estimate, o200k, cl100k`}},
		{name: "environment, not a number", env: map[string]string{"LCM_TOKEN_BUDGET": "128k"},
			want: []string{`environment variable LCM_TOKEN_BUDGET: context.token_budget: "128k" is not allowed; give an integer, at least 1`}},
		{name: "flag", flags: map[string]string{"context.fresh_tail_count": "-1"},
			want: []string{"command line: context.fresh_tail_count: -1 is out of range; give an integer, at least 0"}},
		{name: "unknown flag", flags: map[string]string{"context.budget": "1"},
			want: []string{"command line: context.budget: there is no such setting"}},
		{name: "settings that disagree", file: "[context]\ncontext_threshold = 0.9\n", env: map[string]string{"LCM_HARD_THRESHOLD": "0.8"},
			want: []string{"context.context_threshold (from the file) must not exceed context.hard_threshold (from the environment)"}},
		{name: "everything at once", file: "[log]\nlevel = 3\n", env: map[string]string{"LCM_LOG_FORMAT": "xml"},
			want: []string{file + ":2: log.level: 3 is not allowed", "LCM_LOG_FORMAT"}},
		{name: "not a number at all", file: "[context]\nhard_threshold = nan\n",
			want: []string{file + ":2: context.hard_threshold: NaN is out of range"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := world(tt.env, tt.file)
			o.Flags = tt.flags
			_, err := Load(o)
			if err == nil {
				t.Fatal("Load succeeded, want an error")
			}
			for _, want := range tt.want {
				if got := filepath.ToSlash(err.Error()); !strings.Contains(got, want) {
					t.Errorf("error is\n  %s\nwant it to hold\n  %s", got, want)
				}
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	o := world(nil, "")
	o.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrPermission }
	if _, err := Load(o); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Load with an unreadable file: %v, want a permission error", err)
	}
	named := world(map[string]string{"LCM_CONFIG": "/nowhere.toml"}, "")
	if _, err := Load(named); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "LCM_CONFIG") {
		t.Errorf("Load with a named file that is missing: %v, want an error that mentions LCM_CONFIG", err)
	}
}
