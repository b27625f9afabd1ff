package proxy

import (
	"net/http"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/launch"
)

// identity names the host and the session of a request, as the host's transcripts name it.
// Without them the request passes unchanged.
func identity(h http.Header) (host, session string) {
	for _, host := range all.Those[launch.Host]() {
		if id := host.Session(h); id != "" {
			return host.About().Name, id
		}
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
