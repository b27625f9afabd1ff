package mcpserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/mcpserver"
)

// A request of any length costs no more than the largest that is allowed.
func TestARequestIsBounded(t *testing.T) {
	r := newRecord(t)
	server := httptest.NewServer(r.serve(r.config()).Handler(mcpserver.HTTPOptions{}))
	defer server.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("a", 17<<20) + `"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := server.Client().Do(request)
	if err != nil {
		return // the connection was closed in the middle of it
	}
	defer response.Body.Close()
	if response.StatusCode < 400 {
		t.Errorf("a request of %d bytes was taken: %s", len(body), response.Status)
	}
}
