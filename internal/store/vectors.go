package store

import (
	"context"
	"crypto/sha256"
)

// VectorCache stores the embedding vectors of messages. They are derived from
// texts and may be lost. Not every [Store] has a cache.
type VectorCache interface {
	// Vectors returns the stored vectors of a model, by the hash of the text that
	// each was made of. Texts without a vector are missing from the result.
	Vectors(ctx context.Context, model string, texts []TextHash) (map[TextHash][]byte, error)
	// PutVectors stores vectors of a model. A vector is removed when its message
	// is erased or masked; the vector of an erased message is not stored.
	PutVectors(ctx context.Context, model string, vectors []MessageVector) error
}

// TextHash is the SHA-256 of a text that was embedded.
type TextHash [sha256.Size]byte

// MessageVector is the vector of a text of a message, one signed byte for each
// dimension.
type MessageVector struct {
	Message MessageID
	Text    TextHash
	Vector  []byte
}
