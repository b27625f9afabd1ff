//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// credential is the key of the user's account. The API refuses requests without it.
const credential = "sk-ant-api03-REALLY-SECRET-0123456789abcdef"

// pathSecret is the first part of the proxy's paths.
var pathSecret = regexp.MustCompile(`127\.0\.0\.1:\d+/[0-9a-f]{32}`)

// TestRunSecrets looks for the credential in everything that lcm writes and in the
// command lines of all processes, and knocks at the proxy's door as a stranger.
func TestRunSecrets(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, h := range agents {
		t.Run(h.name(), func(t *testing.T) {
			var listed, strangers []string
			b := newRunBed(t, h, proxied(sceneBudget), apiOptions{Key: credential})
			for i, v := range b.env {
				if name, _, _ := strings.Cut(v, "="); name == "ANTHROPIC_API_KEY" || name == "ANY" {
					b.env[i] = name + "=" + credential
				}
			}
			config := filepath.Join(b.home, ".config", "opencode", "opencode.jsonc")
			if raw, err := os.ReadFile(config); err == nil {
				b.write(config, strings.Replace(string(raw), `"apiKey": "x"`, `"apiKey": "`+credential+`"`, 1))
			}
			b.logs(12, 28_000)
			if h.name() == "claude" {
				b.flags = []string{"--model", "claude-sonnet-4-6"}
			}
			running := b.prepared(b.command("Print logs. play:slow1a", false))
			b.start(running)
			b.await(func(r apiRecord) bool { return r.Step == 9 }) // its command sleeps
			listed = commandLines(t)
			strangers = b.knock()
			_ = running.Process.Kill()
			_ = running.Wait() // it reports the signal
			for _, problem := range strangers {
				t.Error(problem)
			}
			for _, line := range listed {
				if strings.Contains(line, credential) || pathSecret.MatchString(line) {
					t.Errorf("a secret is in the process list: %.300s", line)
				}
			}
			b.valid()
			b.unwritten(credential)
			for _, row := range b.rows(filepath.Join(b.home, ".local", "share", "lcm", "lcm.db")) {
				if strings.Contains(fmt.Sprint(row.forms), credential) {
					t.Errorf("the credential is in the record: %.300s", row.forms)
				}
			}
		})
	}
}

// commandLines are the command lines of all processes.
func commandLines(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range found {
		if raw, err := os.ReadFile(path); err == nil { // a process may have ended
			all = append(all, string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '})))
		}
	}
	if len(all) == 0 {
		t.Fatal("no processes are listed")
	}
	return all
}

// unwritten checks that no file of the home but the host's own holds a secret.
func (b *runBed) unwritten(secret string) {
	b.Helper()
	files := 0
	err := filepath.WalkDir(b.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(path, "lcm") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if bytes.Contains(raw, []byte(secret)) {
			b.Errorf("%s has the credential", path)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if files < 2 {
		b.Errorf("only %d files of lcm were found", files)
	}
	b.Logf("%d files of lcm do not have the credential", files)
}

var proxyPort = regexp.MustCompile(`^\s*\d+: 0100007F:([0-9A-F]{4}) 00000000:0000 0A`)

// knock asks each port that is open on loopback, but the API's, as a stranger would. It
// returns what was answered that should not be.
func (b *runBed) knock() []string {
	b.Helper()
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		b.Fatal(err)
	}
	upstream := strings.TrimPrefix(b.url, "http://")
	var problems []string
	asked := 0
	for line := range strings.Lines(string(raw)) {
		m := proxyPort.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		port := hexNumber(m[1])
		address := net.JoinHostPort("127.0.0.1", port)
		if address == upstream {
			continue
		}
		asked++
		for _, c := range []struct{ name, path, host, origin string }{
			{"without the secret", "/anthropic/v1/messages", address, ""},
			{"with a wrong secret", "/0123456789abcdef0123456789abcdef/anthropic/v1/messages", address, ""},
			{"with a foreign Host", "/", "evil.example:" + port, ""},
			{"from a web page", "/", address, "http://evil.example"},
		} {
			r, err := http.NewRequest(http.MethodPost, "http://"+address+c.path, strings.NewReader("{}"))
			if err != nil {
				b.Fatal(err)
			}
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				continue // not HTTP
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusForbidden {
				problems = append(problems, c.name+": "+address+" answers "+answer.Status)
			}
		}
	}
	if asked == 0 {
		problems = append(problems, "no port of the proxy was found")
	}
	return problems
}

func hexNumber(s string) string {
	n, err := strconv.ParseUint(s, 16, 16)
	if err != nil {
		return "0"
	}
	return strconv.FormatUint(n, 10)
}
