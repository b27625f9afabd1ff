package all_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
)

// Nothing outside of a host's own directory is read: a link that leads there
// is named where a session was to be found behind it, and not followed.
func TestLinksThatLeadOutside(t *testing.T) {
	const (
		secret  = "outside-secret"
		prompt  = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","message":{"role":"user","content":"see tool-results/out.txt"}}` + "\n"
		hidden  = `{"type":"user","uuid":"u2","parentUuid":null,"sessionId":"s2","message":{"role":"user","content":"` + secret + `"}}` + "\n"
		rollout = `{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + secret + `"}]}}` + "\n"
		claude  = ".claude/projects/p/"
		codex   = ".codex/sessions/2026/01/02"
		data    = ".local/share/opencode/"
	)
	for name, c := range map[string]struct {
		inside  map[string]string // the host's files
		outside map[string]string // files elsewhere
		link    string            // where the link is, to the directory or file elsewhere
		to      string
		silent  bool // the link leads to no session, so it is not reported
	}{
		"claude: a project":     {nil, map[string]string{"p/s2.jsonl": hidden}, ".claude/projects/q", "p", false},
		"claude: a session":     {map[string]string{claude + "s1.jsonl": prompt}, map[string]string{"s2.jsonl": hidden}, claude + "s2.jsonl", "s2.jsonl", false},
		"claude: subagents":     {map[string]string{claude + "s1.jsonl": prompt, claude + "s1/x": ""}, map[string]string{"a/agent-1.jsonl": hidden}, claude + "s1/subagents", "a", false},
		"claude: a directory":   {map[string]string{claude + "s1.jsonl": prompt}, map[string]string{"s1/subagents/agent-1.jsonl": hidden, "s1/tool-results/out.txt": secret}, claude + "s1", "s1", false},
		"claude: tool-results":  {map[string]string{claude + "s1.jsonl": prompt, claude + "s1/x": ""}, map[string]string{"t/out.txt": secret}, claude + "s1/tool-results", "t", true},
		"claude: a result":      {map[string]string{claude + "s1.jsonl": prompt, claude + "s1/tool-results/x": ""}, map[string]string{"out.txt": secret}, claude + "s1/tool-results/out.txt", "out.txt", true},
		"claude: a description": {map[string]string{claude + "s1/subagents/agent-1.jsonl": prompt, claude + "s1.jsonl": prompt}, map[string]string{"m": `{"description":"` + secret + `"}`}, claude + "s1/subagents/agent-1.meta.json", "m", true},
		"codex: a rollout":      {map[string]string{codex + "/x": ""}, map[string]string{"r": rollout}, codex + "/rollout-2026-01-02T03-04-05-t1.jsonl", "r", false},
		"codex: a day":          {map[string]string{".codex/sessions/2026/01/x": ""}, map[string]string{"02/rollout-2026-01-02T03-04-05-t1.jsonl": rollout}, codex, "02", false},
		"codex: all of them":    {map[string]string{".codex/x": ""}, map[string]string{"2026/01/02/rollout-2026-01-02T03-04-05-t1.jsonl": rollout}, ".codex/sessions", ".", false},
		"codex: the archive":    {map[string]string{".codex/x": ""}, map[string]string{"rollout-2026-01-02T03-04-05-t1.jsonl": rollout}, ".codex/archived_sessions", ".", false},
		"opencode: a database":  {map[string]string{data + "x": ""}, map[string]string{"o.db": secret}, data + "opencode.db", "o.db", false},
	} {
		t.Run(name, func(t *testing.T) {
			home, elsewhere := t.TempDir(), t.TempDir()
			for dir, files := range map[string]map[string]string{home: c.inside, elsewhere: c.outside} {
				for path, content := range files {
					path = filepath.Join(dir, path)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			at := filepath.Join(home, c.link)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(elsewhere, c.to), at); err != nil {
				t.Skip(err)
			}
			told := false
			for _, h := range all.Hosts() {
				if !strings.HasPrefix(name, h.About().Name) {
					continue
				}
				for tr, err := range h.Transcripts(t.Context(), h.Find(hosts.Machine{Home: home})) {
					if err != nil {
						told = told || strings.Contains(err.Error(), "symbolic link out of")
						continue
					}
					for rec, err := range h.Read(t.Context(), tr, hosts.Position{}) {
						if err != nil {
							t.Fatal(err)
						}
						if strings.Contains(string(rec.Raw.Bytes), secret) {
							t.Errorf("%s of %s says %q", rec.ID, tr.Path, rec.Raw.Bytes)
						}
					}
				}
			}
			if told == c.silent {
				t.Errorf("it is told that a link leads outside: %v", told)
			}
		})
	}
}
