package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
)

// sessionHeader is the header of MCP for the id of a session.
const sessionHeader = "Mcp-Session-Id"

// handsOutIDs is around a stateless endpoint. It answers the handshake with a session id
// that contains the host's name. The client sends the id with every further request, so
// that any server knows the host without keeping a session.
func handsOutIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil { // bodyReader holds it in memory
			r.Body = io.NopCloser(bytes.NewReader(body))
			var handshake struct {
				Method string
				Params struct{ ClientInfo struct{ Name string } }
			}
			if json.Unmarshal(body, &handshake) == nil && handshake.Method == "initialize" {
				w.Header().Set(sessionHeader, hostOfClient(handshake.Params.ClientInfo.Name)+"-"+rand.Text())
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostOfID returns the host in a session id of handsOutIDs, or "".
func hostOfID(id string) string {
	name, _, _ := strings.Cut(id, "-")
	if _, err := all.Named[hosts.Host](name); err != nil {
		return ""
	}
	return name
}

// sessionID returns the session id that a client sent with a request over HTTP.
func sessionID(r mcp.Request) string {
	if extra := r.GetExtra(); extra != nil {
		return extra.Header.Get(sessionHeader)
	}
	return ""
}
