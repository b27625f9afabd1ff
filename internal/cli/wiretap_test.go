package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// wiretap passes requests on to the server, keeps them, and cuts some off.
type wiretap struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	rand   *rand.Rand
	cut    float64 // share of requests that are cut off
	target string
	sent   bytes.Buffer // requests as they were sent, and their bodies unpacked
}

func newWiretap(t *testing.T, r *rand.Rand) *wiretap {
	w := &wiretap{t: t, rand: r}
	w.Server = httptest.NewServer(http.HandlerFunc(w.pass))
	t.Cleanup(w.Close)
	return w
}

func (w *wiretap) pass(rw http.ResponseWriter, r *http.Request) {
	raw, err := httputil.DumpRequest(r, true)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.sent.Write(raw)
	if r.Header.Get("Content-Encoding") == teamsync.Encoding {
		z, err := zstd.NewReader(bytes.NewReader(body))
		if err == nil {
			_, err = io.Copy(&w.sent, z)
			z.Close()
		}
		if err != nil {
			w.t.Errorf("a body cannot be unpacked: %v", err)
		}
	}
	target, chance, before := w.target, w.rand.Float64() < w.cut, w.rand.IntN(2) == 0
	w.mu.Unlock()
	if chance && before {
		panic(http.ErrAbortHandler) // the server gets nothing
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+target+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	got, err := http.DefaultTransport.RoundTrip(out)
	if err != nil || chance {
		if err == nil {
			got.Body.Close()
		}
		panic(http.ErrAbortHandler) // the server has done it, and the laptop does not know
	}
	defer got.Body.Close()
	rw.WriteHeader(got.StatusCode)
	_, _ = io.Copy(rw, got.Body)
}

// Texts that must never cross the wire, in any spelling.
var neverSent = []string{"blockword7391", "hiddenproject5512", "ignoredproject8843", "AKIAQ3EGUZZ5X7T2LMN4"}

// checkWire searches everything that was sent for private texts.
func (tm *team) checkWire() {
	tm.t.Helper()
	tm.wire.mu.Lock()
	defer tm.wire.mu.Unlock()
	sent := tm.wire.sent.Bytes()
	if !bytes.Contains(sent, []byte("shared says number 3-word")) {
		tm.t.Error("the wire lacks what was pushed: nothing is searched")
	}
	for _, word := range neverSent {
		for _, form := range []string{word, strings.ToUpper(word), hex.EncodeToString([]byte(word)), base64.StdEncoding.EncodeToString([]byte(word))[:12]} {
			if bytes.Contains(sent, []byte(form)) {
				tm.t.Errorf("%s crossed the wire", word)
			}
		}
	}
}
