package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lossless-context/lcm/llms"
)

// Embedder is an embedding model of OpenAI or of a compatible server. It
// implements [llms.Embedder].
type Embedder struct{ model *Model }

var _ llms.Embedder = (*Embedder)(nil)

// NewEmbedder returns an embedding model. It reads the same fields of the
// Config as [New] does; API, MaxTokens, IdleTimeout and NewID do not apply.
func NewEmbedder(c Config) (*Embedder, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Embedder{m}, nil
}

// Name implements [llms.Embedder].
func (e *Embedder) Name() string { return e.model.Name() }

// maxEmbeddingBytes limits the answer that is read: 2,048 vectors of 4,096
// numbers fit.
const maxEmbeddingBytes = 256 << 20

// Embed implements [llms.Embedder] with one call of /v1/embeddings.
func (e *Embedder) Embed(ctx context.Context, texts []string) (llms.Embeddings, error) {
	if len(texts) == 0 {
		return llms.Embeddings{}, nil
	}
	m := e.model
	body, err := json.Marshal(map[string]any{"model": m.config.Model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return llms.Embeddings{}, invalid(err)
	}
	var answer *http.Response
	// See stream for why the call goes through the service of package responses.
	_, err = m.service.New(ctx, responses.ResponseNewParams{}, option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&answer), option.WithMiddleware(toEmbeddings))
	var raw []byte
	if err == nil {
		defer answer.Body.Close()
		raw, err = io.ReadAll(io.LimitReader(answer.Body, maxEmbeddingBytes))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return llms.Embeddings{}, llms.Canceled(ctx, provider)
	case err != nil:
		return llms.Embeddings{}, m.failure(err)
	}
	out, err := readEmbeddings(raw, len(texts))
	if err != nil {
		return llms.Embeddings{}, llms.Classify(llms.Failure{Provider: provider, Message: err.Error(), Secrets: []string{m.config.APIKey}})
	}
	return out, nil
}

// toEmbeddings sends a request for the path of the Responses API to that of
// embeddings.
func toEmbeddings(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	r.URL = r.URL.JoinPath("../embeddings")
	return next(r)
}

// readEmbeddings reads the answer to n texts, and refuses one that is not
// complete.
func readEmbeddings(raw []byte, n int) (llms.Embeddings, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return llms.Embeddings{}, fmt.Errorf("the server's answer is not that of an embeddings API: %w", err)
	}
	if len(answer.Data) != n {
		return llms.Embeddings{}, fmt.Errorf("the server returned %d vectors for %d texts", len(answer.Data), n)
	}
	out := llms.Embeddings{Vectors: make([][]float32, n)}
	out.Usage.InputTokens = max(answer.Usage.PromptTokens, answer.Usage.TotalTokens)
	size := len(answer.Data[0].Embedding)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= n || out.Vectors[d.Index] != nil || len(d.Embedding) != size || size == 0 {
			return llms.Embeddings{}, fmt.Errorf("the server's vectors are incomplete: number %d has %d dimensions, the first %d", d.Index, len(d.Embedding), size)
		}
		out.Vectors[d.Index] = d.Embedding
	}
	return out, nil
}
