package ingest

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

// stored is a message of the view, by what it says.
type stored struct {
	id   store.MessageID
	hash [sha256.Size]byte
}

// align finds how a history without ids lies over what is stored.
func (in *Ingester) align(ctx context.Context, id store.ConversationID, history []Input, full bool) (matched, error) {
	hashes := lazyHashes(history)
	if !full {
		tail, err := in.tail(ctx, id, window)
		if err != nil {
			return matched{}, err
		}
		if m, ok := matchTail(tail, hashes); ok {
			return m, nil
		}
	}
	all, err := in.tail(ctx, id, 0)
	if err != nil {
		return matched{}, err
	}
	return matchAll(all, hashes), nil
}

// tail returns the newest messages of the active branch, oldest first: n of
// them, or with 0 all, those beneath summaries included.
func (in *Ingester) tail(ctx context.Context, id store.ConversationID, n int) ([]stored, error) {
	view, err := in.store.View(ctx, id, store.Window{Newest: n})
	if err != nil {
		return nil, err
	}
	var nodes []store.Node
	for _, it := range view.Items {
		if it.IsSummary() && n > 0 {
			nodes = nodes[:0] // the messages after the last summary are a run
			continue
		}
		nodes = append(nodes, it.Node)
	}
	var all []stored
	for _, node := range nodes {
		if all, err = in.appendStored(ctx, all, node); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (in *Ingester) appendStored(ctx context.Context, all []stored, n store.Node) ([]stored, error) {
	if n.IsSummary() {
		sources, err := in.store.Sources(ctx, n.Summary)
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			if all, err = in.appendStored(ctx, all, s); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	for m, err := range in.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{n.Message}}) {
		if err != nil {
			return nil, err
		}
		said, err := in.original(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, stored{id: m.ID, hash: identity(said)})
	}
	return all, nil
}

// original returns a message as it was said, externalised content included.
func (in *Ingester) original(ctx context.Context, m store.Message) (llms.Message, error) {
	if !hasRef(m.Body.Parts) {
		return m.Body, nil
	}
	record, err := in.store.Record(ctx, m.ID)
	if err != nil {
		return llms.Message{}, err
	}
	said, err := llms.Decode(m.Format, m.Body.Role, record)
	if err != nil {
		// A record of a host's own shape: its references are all there is to
		// compare, and they name what they stand for.
		return m.Body, nil
	}
	return said, nil
}

func hasRef(parts []llms.Part) bool {
	return slices.ContainsFunc(parts, func(p llms.Part) bool {
		return p.Ref != nil || p.Result != nil && hasRef(p.Result.Output)
	})
}

// lazyHashes returns the identity of each message of a history, computed when
// it is first asked for.
func lazyHashes(history []Input) hashes {
	memo := make([]*[sha256.Size]byte, len(history))
	return hashes{n: len(history), at: func(i int) [sha256.Size]byte {
		if memo[i] == nil {
			sum := identity(history[i].Message)
			memo[i] = &sum
		}
		return *memo[i]
	}}
}

type hashes struct {
	n  int
	at func(i int) [sha256.Size]byte
}

// matchTail looks for the whole of a window of stored messages near the end
// of the history. It only answers when there is no doubt.
func matchTail(tail []stored, h hashes) (matched, bool) {
	if len(tail) < window {
		return matched{}, false
	}
	for end := h.n; end >= len(tail) && end > h.n-4*window; end-- {
		if runBefore(tail, h, end) == len(tail) {
			return matched{same: end}, true
		}
	}
	return matched{}, false
}

// runBefore counts how many messages before end are those at the end of what
// is stored.
func runBefore(tail []stored, h hashes, end int) int {
	n := 0
	for n < len(tail) && n < end && h.at(end-1-n) == tail[len(tail)-1-n].hash {
		n++
	}
	return n
}

// matchAll finds the longest run of history messages that ends what is
// stored; failing that, the longest common beginning.
func matchAll(all []stored, h hashes) matched {
	if len(all) == 0 {
		return matched{}
	}
	best, end := longestRun(all, h)
	if best == len(all) || best == h.n || best >= sure {
		return matched{loose: end - best, same: best}
	}
	shared := 0
	for shared < len(all) && shared < h.n && h.at(shared) == all[shared].hash {
		shared++
	}
	if shared == 0 {
		return matched{doubtful: best}
	}
	m := matched{same: shared}
	if shared < len(all) && shared < h.n {
		m.rewind = &all[shared-1].id
	}
	return m
}

// sure is how many messages in a row must be equal to be taken as the same
// messages, unless they are all there is on either side. One "ok" proves
// nothing.
const sure = 3

// longestRun returns the longest run of history messages that are the newest
// stored ones, and where it ends. It is the Z-function of both read
// backwards, so that repeated messages do not make it quadratic.
func longestRun(all []stored, h hashes) (best, end int) {
	n := len(all)
	text := make([][sha256.Size]byte, 0, n+1+h.n)
	for i := n - 1; i >= 0; i-- {
		text = append(text, all[i].hash)
	}
	text = append(text, [sha256.Size]byte{}) // no message has this hash
	for i := h.n - 1; i >= 0; i-- {
		text = append(text, h.at(i))
	}
	z := make([]int, len(text))
	for i, l, r := 1, 0, 0; i < len(text); i++ {
		if i < r {
			z[i] = min(r-i, z[i-l])
		}
		for i+z[i] < len(text) && text[z[i]] == text[i+z[i]] {
			z[i]++
		}
		if i+z[i] > r {
			l, r = i, i+z[i]
		}
	}
	for i := n + 1; i < len(text); i++ {
		if z[i] > best {
			best, end = z[i], h.n-(i-n-1)
		}
	}
	return best, end
}
