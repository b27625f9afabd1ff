package llms

import "context"

// Embedder turns texts into vectors: texts of similar meaning have vectors of
// similar direction. An Embedder is safe for concurrent use, and its errors are
// of type [*Error] and hold no key.
type Embedder interface {
	// Name returns the provider and the model, such as
	// "openai/nomic-embed-text". Vectors of different names do not compare.
	Name() string
	// Embed returns one vector for each text, in order, all of one length.
	Embed(ctx context.Context, texts []string) (Embeddings, error)
}

// Embeddings are the vectors of a call of an [Embedder].
type Embeddings struct {
	Vectors [][]float32 // one for each text, in order
	Usage   Usage       // zero where the server reports none
}
