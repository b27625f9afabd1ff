package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetKeepsTheRestOfTheFile(t *testing.T) {
	tests := []struct {
		name, src, key, value, want string
	}{
		{"in place, with its comment",
			"# mine\n[log]\nlevel   = 'warn' # quiet\nformat = \"text\"\n", "log.level", "debug",
			"# mine\n[log]\nlevel   = \"debug\" # quiet\nformat = \"text\"\n"},
		{"after the section's last entry",
			"[log]\nlevel = \"warn\"\n\n[context]\ntoken_budget = 5000\n", "log.format", "json",
			"[log]\nlevel = \"warn\"\nformat = \"json\"\n\n[context]\ntoken_budget = 5000\n"},
		{"under an empty header", "[log]\n# nothing yet\n", "log.level", "info", "[log]\nlevel = \"info\"\n# nothing yet\n"},
		{"new section", "[log]\nlevel = \"warn\"", "context.hard_threshold", "1",
			"[log]\nlevel = \"warn\"\n\n[context]\nhard_threshold = 1.0\n"},
		{"new file", "", "summary.timeout_ms", "90000", "[summary]\ntimeout_ms = 90000\n"},
		{"dotted keys", "log.level = \"warn\"\n", "log.format", "json", "log.level = \"warn\"\nlog.format = \"json\"\n"},
		{"array of several lines",
			"[ingest]\nignore_session_patterns = [\n  \"a#b\", # first\n  \"c]\",\n] # done\nlarge_file_token_threshold = 900\n",
			"ingest.ignore_session_patterns", "cron:*,x",
			"[ingest]\nignore_session_patterns = [\"cron:*\", \"x\"] # done\nlarge_file_token_threshold = 900\n"},
		{"Windows line ends", "[log]\r\nlevel = \"warn\"\r\n", "log.format", "json", "[log]\r\nlevel = \"warn\"\r\nformat = \"json\"\r\n"},
		{"a long string that looks like a file",
			"[storage]\ndatabase_path = '''\n[log]\nlevel = 1'''\n", "log.level", "info",
			"[storage]\ndatabase_path = '''\n[log]\nlevel = 1'''\n\n[log]\nlevel = \"info\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Set([]byte(tt.src), tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Set (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct{ name, src, key, value, want string }{
		{"unknown key", "", "log.leval", "info", "`lcm config` lists them all"},
		{"bad value", "", "log.level", "loud", "give one of debug, info, warn, error"},
		{"broken file", "[log\n", "log.level", "info", "repair the file first"},
		{"a layout it cannot edit", "log = { level = \"warn\" }\n", "log.format", "json", "line 1 holds log in braces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Set([]byte(tt.src), tt.key, tt.value)
			if err == nil {
				t.Fatalf("Set gave\n%s\nwant an error", got)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want it to hold %q", err, tt.want)
			}
		})
	}
}

func TestSetFile(t *testing.T) {
	dir := t.TempDir()
	o := Options{Home: dir, Getenv: func(string) string { return "" }}
	for _, kv := range [][2]string{{"log.level", "info"}, {"context.token_budget", "9000"}, {"log.level", "error"}} {
		if _, err := SetFile(o, kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t, o)
	if c.Log.Level != "error" || c.Context.TokenBudget != 9000 {
		t.Errorf("read back level %q and budget %d", c.Log.Level, c.Context.TokenBudget)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".config", "lcm", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v (%v), want the file alone", left, err)
	}
	info, err := os.Stat(c.File)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v (%v), want the owner alone to read it", info.Mode(), err)
	}
	if _, err := SetFile(o, "log.level", "loud"); err == nil {
		t.Error("a bad value was written")
	}
}

func TestSetFileRefusesAContradiction(t *testing.T) {
	o := Options{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	_, err := SetFile(o, "context.context_threshold", "0.99")
	if err == nil || !strings.Contains(err.Error(), "must not exceed context.hard_threshold") {
		t.Fatalf("SetFile: %v, want an error that names the other setting", err)
	}
	if _, err := Load(o); err != nil {
		t.Errorf("the file was spoilt all the same: %v", err)
	}

	// A file that contradicts itself already can be repaired.
	path, err := SetFile(o, "log.level", "info")
	if err != nil {
		t.Fatal(err)
	}
	bad := "[context]\ncontext_threshold = 0.99\n[log]\nlevel = \"loud\"\n"
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kv := range [][2]string{{"log.level", "info"}, {"context.context_threshold", "0.7"}} {
		if _, err := SetFile(o, kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	load(t, o)
}

func TestRenderReadsBack(t *testing.T) {
	o := world(map[string]string{"LCM_LOG_LEVEL": "debug", "LCM_IGNORE_SESSION_PATTERNS": `a"b,c\d`}, "[log]\nformat = \"json\"\n")
	o.Flags = map[string]string{"context.token_budget": "4242"}
	first := load(t, o)
	text := first.Render()
	for _, want := range []string{"level = \"debug\"  # from LCM_LOG_LEVEL\n", "format = \"json\"  # from " + first.File + "\n",
		"token_budget = 4242  # from the command line\n", "leaf_chunk_tokens = 12000  # default\n", "hard_threshold = 0.95  # default\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("Render lacks %q in:\n%s", want, text)
		}
	}
	second := load(t, world(nil, text))
	for _, v := range first.Values() {
		a, err := first.Get(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := second.Get(v.Key); a != b {
			t.Errorf("%s read back as %q, want %q", v.Key, b, a)
		}
	}
	if _, err := first.Get("no.such"); err == nil {
		t.Error("Get of an unknown key succeeded, want an error")
	}
}
