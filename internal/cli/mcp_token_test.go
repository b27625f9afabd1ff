package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	servedAt   = regexp.MustCompile(`serving MCP at (http://\S+/mcp)`)
	shownToken = regexp.MustCompile(`Authorization: Bearer (\w{26,})\)`)
)

// serveHTTP runs `lcm mcp --http` and returns what it said until it serves, and
// where that is.
func serveHTTP(t *testing.T) (said, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, errs := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := run(ctx, newProgram(strings.NewReader(""), io.Discard, errs), []string{"mcp", "--http", "0"})
		errs.Close()
		done <- code
	}()
	lines := bufio.NewScanner(in)
	for url == "" && lines.Scan() {
		said += lines.Text() + "\n"
		if m := servedAt.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go io.Copy(io.Discard, in)
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return said, url
}

func statusOf(t *testing.T, url, token string) int {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// A server over HTTP always has a token, also on this machine: that of the settings, else
// one that is made and shown.
func TestMCPOverHTTPAlwaysHasAToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a dir")
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "LCM_DATABASE_PATH": filepath.Join(dir, "lcm.db"), "LCM_MCP_TOKEN": "", "NO_COLOR": "1"} {
		t.Setenv(key, value)
	}
	said, url := serveHTTP(t)
	shown := shownToken.FindStringSubmatch(said)
	if url == "" || shown == nil {
		t.Fatalf("it does not serve, or shows no token:\n%s", said)
	}
	for token, want := range map[string]int{"": 401, "wrong": 401, shown[1]: 200} {
		if got := statusOf(t, url, token); got != want {
			t.Errorf("with the token %q: %d, want %d", token, got, want)
		}
	}
	own := strings.Repeat("k", 48)
	t.Setenv("LCM_MCP_TOKEN", own)
	said, url = serveHTTP(t)
	if shownToken.MatchString(said) || statusOf(t, url, own) != 200 || statusOf(t, url, shown[1]) != 401 {
		t.Errorf("with a token of the settings: %s", said)
	}
}
