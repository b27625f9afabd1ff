package proxy

import (
	"net/http"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/hosts/codex"
	"github.com/lossless-context/lcm/internal/hosts/opencode"
)

// identity names the session of a request, as the host's transcripts name it. Without
// one the request passes unchanged.
func identity(h http.Header) (host, session string) {
	if id := h.Get("X-Claude-Code-Session-Id"); id != "" {
		if agent := h.Get("X-Claude-Code-Agent-Id"); agent != "" {
			id += "/agent-" + strings.TrimPrefix(agent, "agent-")
		}
		return claude.Name, id
	}
	if id := h.Get("Thread-Id"); id != "" {
		return codex.Name, id
	}
	if id := h.Get("X-Session-Id"); strings.HasPrefix(id, "ses_") {
		return opencode.Name, id
	}
	if id := h.Get("Session-Id"); id != "" {
		return codex.Name, id
	}
	return "", ""
}

// subscription reports whether a request has a subscription login instead of an API
// key.
func subscription(h http.Header) bool {
	return strings.HasPrefix(h.Get("Authorization"), "Bearer sk-ant-oat") ||
		strings.Contains(h.Get("Anthropic-Beta"), "oauth") ||
		h.Get("Chatgpt-Account-Id") != ""
}
