package mcpserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/mcpserver"
)

const token = "correct horse battery staple"

// listen serves over HTTP on the loopback interface and returns the address.
func (r *record) listen(o mcpserver.HTTPOptions) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	s := r.serve(r.config())
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeHTTP(ctx, l, o) }()
	r.t.Cleanup(func() {
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("serve: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			r.t.Errorf("it took %s to end", took)
		}
	})
	return "http://" + l.Addr().String() + mcpserver.Path
}

// bearer sends a token with every request.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.RoundTripper.RoundTrip(r)
}

func TestToolsOverHTTP(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Hour, user("the needle"))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for range 2 {
		hc := &http.Client{Transport: bearer{transport}}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: r.listen(mcpserver.HTTPOptions{Token: token}), HTTPClient: hc}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, session)
		if got := c.where(nil); got.Total != 1 {
			t.Errorf("got %+v", got)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhoMayAskOverHTTP(t *testing.T) {
	r := newRecord(t)
	guarded := r.listen(mcpserver.HTTPOptions{Token: token, Origins: []string{"https://app.example"}})
	own := strings.TrimSuffix(guarded, mcpserver.Path)
	tests := []struct {
		name   string
		url    string
		header map[string]string
		want   int
	}{
		{"a server without a token", r.listen(mcpserver.HTTPOptions{}), nil, 401},
		{"an empty token", r.listen(mcpserver.HTTPOptions{}), map[string]string{"Authorization": "Bearer "}, 401},
		{"a page of its own origin", guarded, map[string]string{"Authorization": "Bearer " + token, "Origin": own}, 200},
		{"a page of an origin that was let in", guarded, map[string]string{"Authorization": "Bearer " + token, "Origin": "https://app.example"}, 200},
		{"a page without the token", guarded, map[string]string{"Origin": own}, 401},
		{"a page of another port", guarded, map[string]string{"Authorization": "Bearer " + token, "Origin": "http://127.0.0.1:1"}, 403},
		{"a page from a file", guarded, map[string]string{"Authorization": "Bearer " + token, "Origin": "null"}, 403},
		{"no token", guarded, nil, 401},
		{"another token", guarded, map[string]string{"Authorization": "Bearer wrong"}, 401},
		{"the beginning of the token", guarded, map[string]string{"Authorization": "Bearer correct"}, 401},
		{"another scheme", guarded, map[string]string{"Authorization": "Basic " + token}, 401},
		{"the token", guarded, map[string]string{"Authorization": "bearer " + token}, 200},
		{"the token, by any name", guarded, map[string]string{"Authorization": "Bearer " + token, "Host": "memory.example"}, 200},
		{"the token, from another origin", guarded, map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}, 403},
		{"another path", own + "/other", map[string]string{"Authorization": "Bearer " + token}, 404},
		{"another path, no token", own + "/other", nil, 401},
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, test := range tests {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, test.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range test.header {
			if k == "Host" {
				req.Host = v
				continue
			}
			req.Header.Set(k, v)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.want {
			t.Errorf("%s: %d %s, want %d", test.name, resp.StatusCode, said, test.want)
		}
		if strings.Contains(string(said), token) || test.want == 401 && resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s", test.name, said)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages are let in", test.name)
		}
	}
}

func TestAddresses(t *testing.T) {
	tests := []struct{ addr, token, want string }{
		{"8765", token, "127.0.0.1:8765"},
		{":8765", token, "127.0.0.1:8765"},
		{"localhost:8765", token, "localhost:8765"},
		{"[::1]:8765", token, "[::1]:8765"},
		{"127.0.0.1:0", token, "127.0.0.1:0"},
		{"0.0.0.0:8765", token, "0.0.0.0:8765"},
		{"8765", "", ""},
		{"127.0.0.1:8765", "", ""},
		{"0.0.0.0:8765", "", ""},
		{"0.0.0.0:8765", "short", ""},
		{"a:b:c", token, ""},
	}
	for _, test := range tests {
		got, err := mcpserver.HTTPOptions{Token: test.token}.CheckAddress(test.addr)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q with token %q: %q, %v", test.addr, test.token, got, err)
		}
	}
}

// Over HTTP as much can be asked as by pipe, and no more.
func TestSizeOfRequestsOverHTTP(t *testing.T) {
	url := newRecord(t).listen(mcpserver.HTTPOptions{Token: token})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for size, want := range map[int]int{15 << 20: http.StatusOK, 17 << 20: http.StatusRequestEntityTooLarge} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(strings.Repeat(" ", size)+body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := bearer{transport}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", size, resp.Status, want)
		}
	}
}
