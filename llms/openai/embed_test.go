package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

// embedder returns an embedder on a server with the given answer, and the requests
// that the server got.
func embedder(t *testing.T, answer http.HandlerFunc) (*openai.Embedder, *[]string) {
	t.Helper()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), body))
		answer(w, r)
	}))
	client, closeIdle := llmtest.Client()
	t.Cleanup(func() { closeIdle(); server.Close() })
	e, err := openai.NewEmbedder(openai.Config{Model: "embed-test", APIKey: "sk-of-the-test", BaseURL: server.URL + "/v1", HTTPClient: client, MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return e, &got
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// One call embeds all texts. The server may list the vectors in any order.
func TestEmbed(t *testing.T) {
	e, got := embedder(t, says(200, `{"object": "list", "model": "x", "data": [
		{"object": "embedding", "index": 1, "embedding": [0, 2]}, {"object": "embedding", "index": 0, "embedding": [1, 0.5]}],
		"usage": {"prompt_tokens": 7, "total_tokens": 7}}`))
	out, err := e.Embed(t.Context(), []string{"a harbour", "a \"ship\""})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(out.Vectors) != "[[1 0.5] [0 2]]" || out.Usage.InputTokens != 7 || e.Name() != "openai/embed-test" {
		t.Errorf("%v, %+v, %s", out.Vectors, out.Usage, e.Name())
	}
	if len(*got) != 1 || !strings.HasPrefix((*got)[0], "POST /v1/embeddings Bearer sk-of-the-test {") {
		t.Fatalf("the server got %q", *got)
	}
	var body struct {
		Model          string
		Input          []string
		EncodingFormat string `json:"encoding_format"`
	}
	if err := json.Unmarshal([]byte((*got)[0][strings.Index((*got)[0], "{"):]), &body); err != nil {
		t.Fatal(err)
	}
	if body.Model != "embed-test" || len(body.Input) != 2 || body.Input[1] != `a "ship"` || body.EncodingFormat != "float" {
		t.Errorf("the server was asked %+v", body)
	}
}

// An answer without a vector for each text is an error, not a wrong order.
func TestEmbedRefusesIncompleteAnswers(t *testing.T) {
	for _, body := range []string{
		`<html>login</html>`,
		`{"data": []}`,
		`{"data": [{"index": 0, "embedding": [1, 2]}]}`,
		`{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]}`,
		`{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}`,
		`{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}`,
		`{"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]}`,
	} {
		e, _ := embedder(t, says(200, body))
		if out, err := e.Embed(t.Context(), []string{"one", "two"}); err == nil {
			t.Errorf("%s: %v", body, out)
		}
	}
}

func TestEmbedFailures(t *testing.T) {
	e, got := embedder(t, says(401, `{"error": {"message": "Incorrect API key provided: sk-of-the-test", "type": "invalid_request_error"}}`))
	_, err := e.Embed(t.Context(), []string{"one"})
	if llms.ClassOf(err) != llms.ClassAuth || strings.Contains(err.Error(), "sk-of-the-test") {
		t.Errorf("a refused key: %v", err)
	}
	if len(*got) != 1 {
		t.Errorf("it was tried %d times", len(*got))
	}
	hang, release := context.WithCancel(context.Background())
	e, _ = embedder(t, func(http.ResponseWriter, *http.Request) { <-hang.Done() })
	t.Cleanup(release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = e.Embed(ctx, []string{"one"}); llms.ClassOf(err) != llms.ClassCanceled {
		t.Errorf("a slow server: %v", err)
	}
	if out, err := e.Embed(ctx, nil); err != nil || out.Vectors != nil {
		t.Errorf("no texts: %v, %v", out, err)
	}
}
