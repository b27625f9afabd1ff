package mcpserver

import (
	"bytes"
	"io"
	"net/http"

	"github.com/lossless-context/lcm/internal/kit/httpbody"
)

// readingBody reads the whole body of a request before it is handled. A hundred clients
// that each sent eight megabytes slowly took close to a gigabyte of memory.
func readingBody(bodies *httpbody.Reader, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		content, release, err := bodies.Read(w, r)
		defer release()
		if err != nil {
			code := httpbody.Status(err)
			if code == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "5")
			}
			http.Error(w, err.Error(), code)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
		next.ServeHTTP(w, r)
	})
}
