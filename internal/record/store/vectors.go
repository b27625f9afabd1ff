package store

import (
	"context"
	"crypto/sha256"
	"time"
)

// VectorIndex stores the embedding vectors of messages, and finds messages by them.
// Vectors are derived from texts: they may be lost, and made again.
//
// A vector is stored twice: by the hash of its text, so that a text is embedded once, and
// in a block, which [VectorIndex.Nearest] compares. The index has a message only after
// somebody has put its block.
type VectorIndex interface {
	// Vectors returns the stored vectors of a model, by the hash of the text that
	// each was made of. Texts without a vector are missing from the result.
	Vectors(ctx context.Context, model string, texts []TextHash) (map[TextHash][]byte, error)
	// PutVectors stores vectors of a model. A vector is removed when its message
	// is erased or masked. One whose message was erased or masked since its text was
	// read is not stored.
	PutVectors(ctx context.Context, model string, vectors []MessageVector) error
	// HasVectors reports whether there are blocks of a model.
	HasVectors(ctx context.Context, model string) (bool, error)
	// Nearest compares a vector with those of the messages in conversations
	// (none: all), the newest first, and returns the most similar ones.
	Nearest(ctx context.Context, q NearestQuery) (Nearest, error)

	// A block has messages of all conversations. So a scope that does not cover every
	// project refuses the methods below.

	// VectorStatus counts the vectors of a model.
	VectorStatus(ctx context.Context, model string) (VectorStatus, error)
	// PendingBlocks lists the blocks that lack messages, the newest first.
	PendingBlocks(ctx context.Context, model string) ([]VectorBlock, error)
	// BlockMessages lists the messages of a block that are not erased.
	BlockMessages(ctx context.Context, b VectorBlock) ([]MessageID, error)
	// PutBlock replaces a block. Vectors of erased messages are not stored. If a
	// message was masked since its text was read, the block ends before it, and the
	// rest is pending. A block is removed when one of its messages is erased or masked.
	PutBlock(ctx context.Context, model string, b VectorBlock, vectors []MessageVector) error
}

// TextHash is the SHA-256 of a text that was embedded.
type TextHash [sha256.Size]byte

// MessageVector is the vector of a text of a message, one signed byte for each
// dimension.
type MessageVector struct {
	Message MessageID
	// Flags are those of the message when its text was read. Erasing and masking
	// change them.
	Flags  Flag
	Text   TextHash
	Vector []byte
}

// VectorBlock is a run of message numbers whose vectors are stored together.
type VectorBlock struct {
	Number  int64
	Through MessageID // the last message that exists
	New     int64     // how many numbers of messages the index does not have
}

// VectorStatus counts the vectors of an index.
type VectorStatus struct {
	Messages int64 // with a vector
	Bytes    int64 // of their vectors
}

// WaitingMessages is about how many messages blocks lack.
func WaitingMessages(pending []VectorBlock) (n int64) {
	for _, b := range pending {
		n += b.New
	}
	return n
}

// NearestQuery asks for the messages whose vectors are most similar to one.
type NearestQuery struct {
	Model         string
	Vector        []byte           // one signed byte for each dimension
	Conversations []ConversationID // none: all of them
	Limit         int
	Until         time.Time // when to stop comparing
}

// Nearest are the messages of the most similar vectors, the best first.
type Nearest struct {
	Messages []MessageID
	Compared int64 // vectors
	Left     int64 // vectors that were not compared, because time was up
}
