package cache

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// A host compacts when a request would leave less than compactRoom of its window
// (Claude Code: 20,000 for the answer and 13,000 more), and goes on with a summary
// of compactSummary tokens.
const (
	compactRoom    = 33_000
	compactSummary = 5_000
)

// request is a prompt of a replayed session.
type request struct {
	at     time.Time
	blocks []Block
}

// blockOf returns the block of a message.
func blockOf(m llms.Message) (Block, error) {
	data, err := wire.Encode(llms.FormatLCM, m)
	return Block{Hash: sha256.Sum256(data), Tokens: llms.CountMessage(llms.Estimate, m)}, err
}

func blocksOf(ms []llms.Message) ([]Block, error) {
	blocks := make([]Block, len(ms))
	for i, m := range llms.WithoutRecords(ms) {
		var err error
		if blocks[i], err = blockOf(m); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

func tokens(blocks []Block) (n int) {
	for _, b := range blocks {
		n += b.Tokens
	}
	return n
}

// asks reports whether the messages up to the i-th are a request: the model
// speaks next.
func asks(ms []llms.Message, i int) bool {
	return ms[i].Role != llms.RoleAssistant && (i+1 == len(ms) || ms[i+1].Role == llms.RoleAssistant)
}

// system is the block of the system prompt and the tools.
func system(size int) Block { return Block{Hash: sha256.Sum256([]byte("system")), Tokens: size} }

// plain returns the requests of the plain history, until one does not fit the
// window.
func plain(s Session, window, systemTokens int) ([]request, error) {
	blocks, err := blocksOf(s.Messages)
	if err != nil {
		return nil, err
	}
	var requests []request
	total := systemTokens
	for i, m := range s.Messages {
		if total += blocks[i].Tokens; total > window {
			break
		}
		if asks(s.Messages, i) {
			requests = append(requests, request{m.Time, append([]Block{system(systemTokens)}, blocks[:i+1]...)})
		}
	}
	return requests, nil
}

// compacted returns the requests of a host that compacts, with the requests for
// its summaries among them.
func compacted(s Session, window, systemTokens int) ([]request, error) {
	blocks, err := blocksOf(s.Messages)
	if err != nil {
		return nil, err
	}
	var requests []request
	history := []Block{system(systemTokens)}
	for i, m := range s.Messages {
		history = append(history, blocks[i])
		if !asks(s.Messages, i) {
			continue
		}
		if tokens(history) > window-compactRoom && len(history) > 3 {
			order := Block{Hash: sha256.Sum256([]byte("summarise")), Tokens: 500}
			before := history[:len(history)-1]
			requests = append(requests, request{m.Time, append(before[:len(before):len(before)], order)})
			text := Block{Hash: sha256.Sum256(fmt.Appendf(nil, "summary %d", i)), Tokens: compactSummary}
			history = []Block{system(systemTokens), text, blocks[i]}
		}
		requests = append(requests, request{m.Time, append([]Block(nil), history...)})
	}
	return requests, nil
}

// folded returns the requests of an agent on lcm, with a database of its own.
// Folding in the background ends before the next request, as it does with
// extractive summaries.
func folded(ctx context.Context, s Session, budget, systemTokens int, progress harness.Progress, options ...lcm.Option) (requests []request, err error) {
	record, err := harness.Temp(ctx, "", sqlite.Options{Relaxed: true}, options...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := record.Close(ctx); err == nil {
			err = closed
		}
	}()
	session := record.Engine.Session("cache")
	from := 0
	for i, m := range s.Messages {
		if !asks(s.Messages, i) {
			continue
		}
		if err := session.Append(ctx, s.Messages[from:i+1]...); err != nil {
			return nil, err
		}
		from = i + 1
		if err := record.Engine.Settle(ctx); err != nil {
			return nil, err
		}
		view, err := session.Context(ctx, budget)
		if err != nil {
			return nil, err
		}
		blocks, err := blocksOf(view.Messages)
		if err != nil {
			return nil, err
		}
		requests = append(requests, request{m.Time, append([]Block{system(systemTokens)}, blocks...)})
		progress.Tell(int64(i), int64(len(s.Messages)), s.Name)
	}
	return requests, nil
}
