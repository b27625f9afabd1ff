package lookup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/llms"
)

// DefaultEmbedTimeout is how long a search waits for an embedding model.
const DefaultEmbedTimeout = 1500 * time.Millisecond

const (
	// maxEmbedBytes is how much of a text is embedded: more than most models read.
	maxEmbedBytes = 2000
	// embedBatch is how many texts one call has. The vectors of a call are stored
	// before the next one, so that a slow server answers after a few searches.
	embedBatch = 16
	// embedPause is how long an embedding model is not asked after a failure.
	embedPause = 30 * time.Second
	// maxQuestions bounds the vectors of questions that are kept in memory.
	maxQuestions = 256
)

// WithReranker orders the first matches of full-text questions with r.
func WithReranker(r *Reranker) Option { return func(s *Service) { s.reranker = r } }

// Reranker orders the first matches of a full-text question by words and meaning.
// A nil Reranker leaves them as they are. It is safe for concurrent use.
type Reranker struct {
	embedder llms.Embedder
	vectors  store.VectorIndex
	timeout  time.Duration

	mu        sync.Mutex
	questions map[string][]int8
	failed    error     // of the last call
	until     time.Time // the model is not asked before this
}

// NewReranker returns a reranker on an embedding model, which embeds the question
// and the texts of its first matches. vectors keeps the vectors of messages, and weak
// searches look there. A search waits for timeout at most ([DefaultEmbedTimeout] if 0)
// and otherwise keeps the order of the words, with a note.
func NewReranker(e llms.Embedder, vectors store.VectorIndex, timeout time.Duration) *Reranker {
	if timeout <= 0 {
		timeout = DefaultEmbedTimeout
	}
	return &Reranker{embedder: e, vectors: vectors, timeout: timeout, questions: map[string][]int8{}}
}

// WordsOnly begins the note of a search whose matches were not ordered by
// meaning, because the embedding model failed.
const WordsOnly = "ordered by words only"

// Search is the search of a store, with the first matches of a full-text question
// ordered by words and meaning. Where the words found nothing strong, messages
// join them whose vectors are near the question's. A question with identifiers or
// operators keeps the order of the words: it asks for texts that have them.
func (r *Reranker) Search(ctx context.Context, from Store, q store.Search) (store.Found, error) {
	first := q.After.Offset == 0
	if q.Mode != store.FullText || q.Sort != store.ByRelevance || q.Summaries || q.After.Offset >= rerankFirst && !q.After.Joined {
		return from.Search(ctx, q)
	}
	wide := q
	wide.Limit, wide.After.Offset = max(rerankFirst, q.After.Offset+q.Limit), 0
	found, err := from.Search(ctx, wide)
	if err != nil {
		return found, err
	}
	reranked := !first && q.After.Reranked
	if r != nil && (first || q.After.Reranked) && asksForMeaning(q.Pattern) {
		if found, reranked, err = r.orWords(ctx, from, wide, found, first); err != nil {
			return found, err
		}
	}
	if err := sourcesFirst(ctx, from, q.Pattern, found.Hits[:min(sourcesRanked, len(found.Hits))]); err != nil {
		return found, err
	}
	return pageOf(found, q, reranked), nil
}

// orWords orders the first matches by meaning, or where the model fails leaves them in the order of the words.
func (r *Reranker) orWords(ctx context.Context, from Store, q store.Search, words store.Found, first bool) (store.Found, bool, error) {
	found, reranked, err := r.byMeaning(ctx, from, q, words)
	switch {
	case err != nil && ctx.Err() != nil:
		return store.Found{}, false, ctx.Err()
	case err != nil && !first:
		// The first page had another order: its messages would come again, and
		// others never.
		return store.Found{}, false, refuse("begin anew without a cursor", "the embedding model that ordered the first page does not answer: %w", err)
	case err != nil:
		found = words
		found.Notes = append(found.Notes, fmt.Sprintf("%s: the embedding model %s failed: %s", WordsOnly, r.embedder.Name(), prose.Clip(err.Error(), 200)))
	}
	return found, reranked || !first, nil
}

// byMeaning adds messages to a search whose words are weak, and orders the first
// matches. It reports false where their order is that of the words.
func (r *Reranker) byMeaning(ctx context.Context, from Store, q store.Search, words store.Found) (found store.Found, reranked bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %v", r.timeout))
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx) // "no answer within", whichever call failed first
		}
	}()
	worth := meaningWorth
	found, joined, err := r.join(ctx, from, q, words)
	if err != nil {
		return found, false, err
	}
	if joined > 0 {
		worth *= weakness(words)
	}
	top := found.Hits[:min(rerankFirst, len(words.Hits))+joined]
	if reranked, err = r.rerank(ctx, from, q.Pattern, top, worth); err != nil || !reranked {
		return found, joined > 0, err
	}
	least := 0.0 // scores fall over the whole list
	if rest := found.Hits[len(top):]; len(rest) > 0 {
		least = rest[0].Score
	}
	for i := range top {
		top[i].Score = max(top[i].Score, least)
	}
	return found, true, nil
}

// asksForMeaning reports a question in words, more than one, without identifiers
// and operators.
func asksForMeaning(pattern string) bool {
	words, err := search.ParseQuery(pattern)
	return err == nil && words.Plain() && len(words.Words()) > 1
}

// pageOf cuts a page out of the first hits of a search.
func pageOf(found store.Found, q store.Search, reranked bool) store.Found {
	offset := min(q.After.Offset, len(found.Hits))
	end := min(offset+q.Limit, len(found.Hits))
	for i := range found.Hits {
		found.Hits[i].After.Offset, found.Hits[i].After.Reranked = i+1, reranked
	}
	if found.Next != nil && len(found.Hits) > 0 {
		found.Next = &found.Hits[len(found.Hits)-1].After
	}
	if end < len(found.Hits) {
		found.Hits = found.Hits[:end]
		found.Next = &found.Hits[end-1].After
	}
	found.Hits = found.Hits[offset:]
	return found
}

// rerank orders hits by words and meaning, and sets their scores so. It reports
// false where it left them as they are.
func (r *Reranker) rerank(ctx context.Context, from Store, question string, hits []store.Hit, worth float64) (bool, error) {
	if len(hits) < 2 {
		return false, nil
	}
	texts, err := readTexts(ctx, from, hits)
	if err != nil {
		return false, err
	}
	if err := r.embed(ctx, texts, r.call); err != nil {
		return false, err
	}
	asked, err := r.question(ctx, question)
	if err != nil {
		return false, err
	}
	list := make([]rankedText, len(hits))
	for i, h := range hits {
		t := texts[h.Message]
		list[i] = rankedText{score: h.Score, self: t.vector}
		if b := texts[t.before]; b != nil {
			list[i].before = b.vector
		}
		if a := texts[t.after]; a != nil {
			list[i].after = a.vector
		}
	}
	scores, ok := blendScores(asked, list, worth)
	if !ok {
		return false, nil
	}
	before := slices.Clone(hits)
	for i, at := range byScore(scores) {
		hits[i] = before[at]
		hits[i].Score = scores[at]
	}
	return true, nil
}

// messageText is the text of a message to be embedded.
type messageText struct {
	id            store.MessageID
	flags         store.Flag
	before, after store.MessageID // the messages next to it, if they are hits too
	text          string          // empty: there is nothing to embed
	hash          store.TextHash
	vector        []int8
}

// readTexts reads the texts of hits.
func readTexts(ctx context.Context, from Store, hits []store.Hit) (map[store.MessageID]*messageText, error) {
	q := store.MessageQuery{NoRaw: true}
	for _, h := range hits {
		q.IDs = append(q.IDs, h.Message)
	}
	type place struct {
		conversation store.ConversationID
		seq          int64
	}
	texts := map[store.MessageID]*messageText{}
	at := map[place]store.MessageID{}
	for m, err := range from.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		texts[m.ID] = newMessageText(m)
		at[place{m.Conversation, m.Seq}] = m.ID
	}
	for p, id := range at {
		texts[id].before, texts[id].after = at[place{p.conversation, p.seq - 1}], at[place{p.conversation, p.seq + 1}]
	}
	return texts, nil
}

func newMessageText(m store.Message) *messageText {
	t := &messageText{id: m.ID, flags: m.Flags}
	// The parts are masked one by one, as when they are stored: joined, the end of one may hide
	// a secret in the next. A message that cannot be masked has no text, and is not sent.
	if shown, err := ingest.Shown(ingest.Privacy{Redact: privacy.Search}, m.Body); err == nil {
		t.text = sendable(shown.SearchText())
	}
	t.hash = sha256.Sum256([]byte(t.text))
	return t
}

// sendable returns the part of a text that may leave the machine: without secrets
// and private blocks, whatever the settings were when it was stored.
func sendable(text string) string {
	if clean, _ := (privacy.Redactor{Secrets: true}).Text([]byte(text)); clean != nil {
		text = string(clean)
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), maxEmbedBytes)], ""))
}

// embed fills in the vectors of texts, from the cache as far as it has them, else
// from call.
func (r *Reranker) embed(ctx context.Context, texts map[store.MessageID]*messageText, call func(context.Context, []string) ([][]int8, error)) error {
	byHash := map[store.TextHash][]*messageText{}
	var hashes []store.TextHash
	for _, t := range texts {
		if t.text == "" {
			continue
		}
		if byHash[t.hash] == nil {
			hashes = append(hashes, t.hash)
		}
		byHash[t.hash] = append(byHash[t.hash], t)
	}
	set := func(h store.TextHash, v []int8) {
		for _, t := range byHash[h] {
			t.vector = v
		}
	}
	kept, err := r.vectors.Vectors(ctx, r.embedder.Name(), hashes)
	if err != nil {
		return err
	}
	for h, v := range kept {
		set(h, signed(v))
	}
	hashes = slices.DeleteFunc(hashes, func(h store.TextHash) bool { return kept[h] != nil })
	slices.SortFunc(hashes, func(a, b store.TextHash) int { return int(byHash[a][0].id - byHash[b][0].id) })
	for batch := range slices.Chunk(hashes, embedBatch) {
		words := make([]string, len(batch))
		for i, h := range batch {
			words[i] = byHash[h][0].text
		}
		vectors, err := call(ctx, words)
		if err != nil {
			return err
		}
		var fresh []store.MessageVector
		for i, h := range batch {
			set(h, vectors[i])
			if vectors[i] != nil {
				fresh = append(fresh, store.MessageVector{Message: byHash[h][0].id, Flags: byHash[h][0].flags, Text: h, Vector: bytesOf(vectors[i])})
			}
		}
		if err := r.keep(ctx, fresh); err != nil {
			return err
		}
	}
	return nil
}

// keep stores vectors where the store can be written.
func (r *Reranker) keep(ctx context.Context, fresh []store.MessageVector) error {
	err := r.vectors.PutVectors(ctx, r.embedder.Name(), fresh)
	if errors.Is(err, store.ErrReadOnly) {
		return nil
	}
	return err
}

// question returns the vector of a question.
func (r *Reranker) question(ctx context.Context, text string) ([]int8, error) {
	text = sendable(text)
	r.mu.Lock()
	known, ok := r.questions[text]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	vectors, err := r.call(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.questions) >= maxQuestions {
		clear(r.questions)
	}
	r.questions[text] = vectors[0]
	return vectors[0], nil
}

// call embeds texts. After a failure it refuses for a while, so that not every
// search waits for a server that is away.
func (r *Reranker) call(ctx context.Context, texts []string) ([][]int8, error) {
	r.mu.Lock()
	failed, until := r.failed, r.until
	r.mu.Unlock()
	if failed != nil && time.Now().Before(until) {
		return nil, failed
	}
	out, err := r.ask(ctx, texts)
	if errors.Is(err, context.Canceled) { // the caller has left; the model did not fail
		return nil, err
	}
	r.mu.Lock()
	r.failed, r.until = err, time.Now().Add(embedPause)
	r.mu.Unlock()
	return out, err
}

// ask embeds texts.
func (r *Reranker) ask(ctx context.Context, texts []string) ([][]int8, error) {
	got, err := r.embedder.Embed(ctx, texts)
	if err == nil && len(got.Vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(got.Vectors), len(texts))
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := make([][]int8, len(texts))
	for i, v := range got.Vectors {
		out[i] = quantise(v)
	}
	return out, nil
}

// signed and bytesOf convert vectors from and to the bytes that are stored.
func signed(v []byte) []int8 {
	out := make([]int8, len(v))
	for i, b := range v {
		out[i] = int8(b)
	}
	return out
}

func bytesOf(v []int8) []byte {
	out := make([]byte, len(v))
	for i, b := range v {
		out[i] = byte(b)
	}
	return out
}
