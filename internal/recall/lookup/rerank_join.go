package lookup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

const (
	// strongMatch is the score of the first match, as a share of the score of a
	// text with all words of the question, from which on vectors add nothing. Of
	// questions in the words of their answers, one in ten is below it, of questions
	// in other words nine in ten are; see docs/BENCHMARKS.md.
	strongMatch = 0.3
	// mostWeakness bounds how much more meaning counts where words are weak.
	mostWeakness = 10
	// joinNearest is how many of the nearest messages join.
	joinNearest = 20
	// readNearest is how many of the nearest messages are read to find those that
	// the search asks for: others are of another time or speaker.
	readNearest = 200
	// rankedWhole is more than a ranking by words has.
	rankedWhole = 1000
)

// strength is the score of the first match as a share of the score of a text that
// has every word of the question.
func strength(words store.Found) float64 {
	const saturated = 2.2 // BM25 of a word that fills a text
	if len(words.Hits) == 0 {
		return 0
	}
	all := rarity(words)
	if all == 0 {
		return 1
	}
	return words.Hits[0].Score / (saturated * all)
}

// weakness is how much more meaning counts than where words found something
// strong.
func weakness(words store.Found) float64 {
	s := max(strength(words)/strongMatch, 1e-3)
	return min(mostWeakness, max(1, 1/(s*s)))
}

// join adds the messages that are nearest to a question to matches by words that
// are weak: behind the first ones, which are ordered anew. It returns how many it
// added or moved there.
func (r *Reranker) join(ctx context.Context, from Store, q store.Search, words store.Found) (store.Found, int, error) {
	if q.Tool != "" || strength(words) >= strongMatch {
		return words, 0, nil
	}
	if has, err := r.vectors.HasVectors(ctx, r.embedder.Name()); err != nil || !has {
		return words, 0, err
	}
	asked, err := r.question(ctx, q.Pattern)
	if err != nil || asked == nil {
		return words, 0, err
	}
	near, err := r.vectors.Nearest(ctx, store.NearestQuery{
		Model: r.embedder.Name(), Vector: bytesOf(asked), Conversations: q.Conversations, Limit: readNearest, Until: time.Now().Add(r.timeout / 2),
	})
	if err != nil {
		return words, 0, err
	}
	add, err := nearestHits(ctx, from, q, near.Messages)
	if err != nil || len(add) == 0 {
		return words, 0, err
	}
	found := words
	if words.Next != nil { // a message must not come again on a later page
		q.Limit = max(q.Limit, rankedWhole)
		if found, err = from.Search(ctx, q); err != nil {
			return words, 0, err
		}
	}
	if near.Left > 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("compared by meaning with the newest %s only: there was no time for %s more",
			prose.Count(near.Compared, "message", "messages"), prose.Number(near.Left)))
	}
	if len(words.Hits) == 0 { // only their vectors order them
		for i := range add {
			add[i].Score = 1
		}
	}
	found, joined := putBehind(found, min(rerankFirst, len(words.Hits)), add)
	return found, joined, nil
}

// nearestHits returns the first of the nearest messages that a search asks for.
func nearestHits(ctx context.Context, from Store, q store.Search, near []store.MessageID) (hits []store.Hit, err error) {
	for m, err := range from.Messages(ctx, store.MessageQuery{IDs: near, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		at := m.Body.Time
		if at.IsZero() {
			at = m.Stored
		}
		_, only := slices.BinarySearch(q.Only, m.ID)
		if q.Only != nil && !only || !q.Everything && m.Flags.Bookkeeping(m.Body.Role) || len(q.Roles) > 0 && !slices.Contains(q.Roles, m.Body.Role) ||
			at.Before(q.Since) || !q.Before.IsZero() && !at.Before(q.Before) ||
			q.After.Through > 0 && int64(m.ID) > q.After.Through || slices.Contains(q.Except, m.ID) {
			continue
		}
		hits = append(hits, store.Hit{ID: store.ID{Message: m.ID}, Conversation: m.Conversation, Time: at, Role: m.Body.Role, Meaning: true})
		if len(hits) == joinNearest {
			break
		}
	}
	return hits, nil
}

// putBehind puts hits behind the first n of a search, except those that are among
// them. One that comes later in the search is moved.
func putBehind(found store.Found, n int, add []store.Hit) (store.Found, int) {
	at := map[store.MessageID]int{}
	for i, h := range found.Hits {
		at[h.Message] = i
	}
	moved := map[store.MessageID]bool{}
	hits := slices.Clone(found.Hits[:n])
	for _, h := range add {
		i, known := at[h.Message]
		switch {
		case known && i < n:
			continue
		case known:
			h = found.Hits[i]
			moved[h.Message] = true
		default:
			h.After = cursorOf(found)
			found.Matched++
		}
		hits = append(hits, h)
	}
	joined := len(hits) - n
	for _, h := range found.Hits[n:] {
		if !moved[h.Message] {
			hits = append(hits, h)
		}
	}
	for i := range hits {
		hits[i].After.Joined = true
	}
	found.Hits = hits
	return found, joined
}

// cursorOf returns the part of a cursor that all hits of a ranking have.
func cursorOf(found store.Found) store.Cursor {
	if len(found.Hits) == 0 {
		return store.Cursor{}
	}
	return found.Hits[0].After
}
