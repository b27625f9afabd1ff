package fromconfig_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// embeddingServer answers embedding calls, and keeps the keys that it was sent.
type embeddingServer struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newEmbeddingServer(t *testing.T) *embeddingServer {
	t.Helper()
	s := &embeddingServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("Authorization"))
		s.mu.Unlock()
		var data []string
		for i, text := range body.Input {
			data = append(data, fmt.Sprintf(`{"index": %d, "embedding": [%d, %d]}`, i, len(text)%7, 1+strings.Count(text, "1")))
		}
		fmt.Fprintf(w, `{"data": [%s], "usage": {"prompt_tokens": 5}}`, strings.Join(data, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

const question = "fathoms of the anchor"

// The settings choose the embedding model, its server and its key, and searches and
// questions use it. The key of another provider stays at home.
func TestTheEmbeddingModel(t *testing.T) {
	server := newEmbeddingServer(t)
	for _, test := range []struct {
		env  map[string]string
		want string // the key that was sent; "none": nothing was sent
	}{
		{nil, "none"},
		{map[string]string{"LCM_EMBEDDINGS_BASE_URL": server.URL + "/v1"}, "none"},
		{map[string]string{"LCM_EMBEDDINGS_MODEL": "m", "LCM_EMBEDDINGS_BASE_URL": server.URL + "/v1"}, ""},
		{map[string]string{"LCM_EMBEDDINGS_MODEL": "m", "LCM_EMBEDDINGS_BASE_URL": server.URL + "/v1", "LCM_EMBEDDINGS_API_KEY": "k"}, "Bearer k"},
		{map[string]string{"LCM_EMBEDDINGS_MODEL": "m", "OPENAI_BASE_URL": server.URL + "/v1"}, "Bearer test"},
	} {
		server.keys = nil
		e, s, _ := configuredEngine(t, nil, test.env)
		found := search(t, e, recall.Where{AllConversations: true})
		if test.want == "none" {
			if len(server.keys) > 0 {
				t.Errorf("%v: a model was called", test.env)
			}
			continue
		}
		if len(server.keys) == 0 || server.keys[0] != test.want {
			t.Errorf("%v: the keys were %q, want %q", test.env, server.keys, test.want)
		}
		if len(found.Notes) > 0 {
			t.Errorf("%v: %q", test.env, found.Notes)
		}
		used, err := spend.Usage(t.Context(), e.Store())
		if err != nil || len(used) != 1 || used[0].Purpose != "embedding" || used[0].Model != "openai/m" || used[0].InputTokens != 5*int64(len(server.keys)) {
			t.Errorf("the ledger has %+v, %v", used, err)
		}
		calls := len(server.keys)
		if a := ask(t, s); len(a.Citations) == 0 || len(server.keys) == calls {
			t.Errorf("a question has %d citations after %d more calls", len(a.Citations), len(server.keys)-calls)
		}
	}
}

// Where the embedding model is away, questions are answered by words, with a note.
func TestWithoutTheEmbeddingModel(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"connection refused":  {"LCM_EMBEDDINGS_MODEL": "m", "LCM_EMBEDDINGS_BASE_URL": "http://127.0.0.1:1/v1"},
		"there is no API key": {"LCM_EMBEDDINGS_MODEL": "m", "LCM_EMBEDDINGS_BASE_URL": "https://api.openai.com/v1", "OPENAI_API_KEY": " "},
	} {
		t.Setenv("OPENAI_API_KEY", "")
		e, s, _ := configuredEngine(t, nil, env)
		found := search(t, e, recall.Where{AllConversations: true})
		if len(found.Matches) == 0 || len(found.Notes) != 1 || !strings.HasPrefix(found.Notes[0], lookup.WordsOnly) || !strings.Contains(found.Notes[0], name) {
			t.Errorf("%d matches, notes %q", len(found.Matches), found.Notes)
		}
		a := ask(t, s)
		if len(a.Citations) == 0 || len(a.Notes) == 0 || !strings.HasPrefix(a.Notes[0], lookup.WordsOnly) {
			t.Errorf("%d citations, notes %q", len(a.Citations), a.Notes)
		}
	}
}

func search(t *testing.T, e *lcm.Engine, in recall.Where) recall.GrepAnswer {
	t.Helper()
	found, err := e.Grep(t.Context(), recall.GrepRequest{Pattern: question, Mode: store.FullText, Kinds: recall.InMessages, Where: in})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
