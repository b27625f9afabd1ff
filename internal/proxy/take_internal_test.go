package proxy

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
)

// The last long request is the one that is folded for: one of at most half its size, such as for a title, is none.
func TestTakeKeepsTheLongRequest(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	one, err := apiform.Parse(apiform.Messages, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		last   *apiform.Request
		budget int
		want   bool
	}{
		"the first": {nil, 0, true}, "half": {&apiform.Request{Units: 2 * one.Units}, 0, false}, "more than half": {&apiform.Request{Units: 2*one.Units - 1}, 0, true},
		"half, of an engine": {&apiform.Request{Units: 2 * one.Units}, 1000, true},
	} {
		s := &session{server: plainServer(t), last: c.last, lastSent: 7, foldedOut: true, index: overlay.NewIndex()}
		req, err := s.take(&call{server: s.server, session: s, budget: c.budget}, nil, apiform.Messages, body)
		if err != nil || (s.last == req) != c.want || (s.lastSent == 0) != c.want || s.foldedOut == c.want {
			t.Errorf("%s: taken %v, sent %d, folded out %v, %v", name, s.last == req, s.lastSent, s.foldedOut, err)
		}
	}
}

// Codex is told not to estimate the reasoning of messages that gave way, in its form of the API only.
func TestReasoningIncluded(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		dropped int
		observe bool
		want    string
	}{
		"folded": {"/v1/responses", 1, false, "true"}, "unchanged": {"/v1/responses", 0, false, ""}, "observed": {"/v1/responses", 1, true, ""}, "another form": {"/v1/messages", 1, false, ""},
	} {
		server := plainServer(t)
		server.Observe = c.observe
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: &http.Request{URL: &url.URL{Path: c.path}}}
		(&call{server: server, session: &session{server: server}, made: Composition{Dropped: c.dropped}}).watch(resp)
		if got := resp.Header.Get("X-Reasoning-Included"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
