package spend_test

import (
	"context"
	"testing"

	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/llms"
)

// embedder is an embedding model that reports tokens, or fails.
type embedder struct {
	tokens, calls int
	fail          *llms.Error
}

func (e *embedder) Name() string { return "test/embedder" }

func (e *embedder) Embed(_ context.Context, texts []string) (llms.Embeddings, error) {
	e.calls++
	if e.fail != nil {
		return llms.Embeddings{}, e.fail
	}
	return llms.Embeddings{Vectors: make([][]float32, len(texts)), Usage: llms.Usage{InputTokens: e.tokens}}, nil
}

// Embeddings count in the ledger and towards the cap of the day. A server that
// reports no tokens is estimated.
func TestEmbeddingsAreCountedAndCapped(t *testing.T) {
	b := newBed(t)
	engine := &embedder{tokens: 60}
	m, err := spend.NewEmbedderMeter(engine, b.db, "embedding", spend.Limits{TokensPerDay: 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"the lighthouse keeper wrote the log", "every evening at nine"}
	if out, err := m.Embed(t.Context(), texts); err != nil || len(out.Vectors) != 2 {
		t.Fatalf("%v, %v", out, err)
	}
	engine.tokens = 0
	if _, err := m.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	all, err := spend.Usage(t.Context(), b.db)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	e := all[0]
	if e.Purpose != "embedding" || e.Model != "test/embedder" || e.Calls != 2 || e.InputTokens != 60 || e.EstimatedTokens < 8 || e.EstimatedTokens > 30 {
		t.Errorf("the ledger has %+v", e)
	}
	engine.tokens = 60
	for range 3 {
		_, err = m.Embed(t.Context(), texts)
	}
	if llms.ClassOf(err) != llms.ClassQuota || engine.calls > 4 {
		t.Errorf("%d calls, the last with %v", engine.calls, err)
	}
}
