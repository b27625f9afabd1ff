package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store"
)

// patterns is how many patterns of each kind are searched for.
const patterns = 30

// search times the kinds of search, and sets some of them beside other ways of
// finding the same.
func (b *bench) search(ctx context.Context) error {
	if err := b.db.Reindex(ctx); err != nil {
		return err
	}
	for _, k := range b.kinds() {
		s, err := b.time(ctx, k)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		b.Searches = append(b.Searches, s)
	}
	if err := b.describe(ctx); err != nil {
		return err
	}
	if err := b.beside(ctx); err != nil {
		return err
	}
	return nil
}

// kind is a kind of search and the time it may take at any size.
type kind struct {
	name   string
	target float64
	query  func(rng *rand.Rand) store.Search
}

func (b *bench) kinds() []kind {
	full := func(pattern string) store.Search { return store.Search{Mode: store.FullText, Pattern: pattern} }
	return []kind{
		{"selective word", 150, func(rng *rand.Rand) store.Search { return full(b.rare(rng)) }},
		{"phrase", 150, func(rng *rand.Rand) store.Search {
			return full(`"` + pick(rng) + " " + pick(rng) + " " + pick(rng) + `"`)
		}},
		{"Chinese", 150, func(rng *rand.Rand) store.Search { return full(pickFrom(rng, chinese)) }},
		{"six-word question", 300, func(rng *rand.Rand) store.Search {
			return full("why did the " + strings.Join([]string{pick(rng), pick(rng), pick(rng), pick(rng), pick(rng), b.rare(rng)}, " ") + "?")
		}},
		{"common word", 300, func(rng *rand.Rand) store.Search { return full(pickFrom(rng, common)) }},
		{"one conversation", 30, func(rng *rand.Rand) store.Search {
			q := full(pick(rng) + " " + pick(rng) + " " + b.rare(rng))
			if len(b.convs) > 1 {
				q.Conversations = []store.ConversationID{b.convs[rng.IntN(len(b.convs))]}
			} else {
				q.Limit = 10
			}
			return q
		}},
		{"selective regex", 150, func(rng *rand.Rand) store.Search {
			return store.Search{Mode: store.Regex, Pattern: b.selective(rng)}
		}},
	}
}

// common are words of the corpus that occur in a large part of all messages
// and that no search leaves out as too general.
var common = []string{"server", "client", "request", "response", "error", "timeout", "worker", "token", "buffer"}

// rare takes a number out of one message: few other messages have it.
func (b *bench) rare(rng *rand.Rand) string {
	return rareWord.FindString(message(2 + 4*rng.IntN(max(1, b.Messages/4))).SearchText())
}

var rareWord = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// selective is an expression with a literal that few messages have.
func (b *bench) selective(rng *rand.Rand) string {
	w := b.rare(rng)
	return `\w+\(\w+, ` + w[:len(w)-1] + `[0-9a-f]`
}

func (b *bench) time(ctx context.Context, k kind) (Search, error) {
	rng := rand.New(rand.NewPCG(7, uint64(len(k.name))))
	out := Search{Name: k.name, Target: k.target}
	var times []time.Duration
	for range patterns {
		q := k.query(rng)
		if q.Limit == 0 {
			q.Limit = 50
		}
		at := time.Now()
		found, err := b.db.Search(ctx, q)
		if err != nil {
			return out, err
		}
		times = append(times, time.Since(at))
		out.Hits += len(found.Hits)
	}
	slices.Sort(times)
	out.P50, out.P95 = millis(times[len(times)/2]), millis(times[len(times)*95/100])
	return out, nil
}

// describe times looking messages up by id.
func (b *bench) describe(ctx context.Context) error {
	service, err := recall.New(b.db)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(8, 8))
	out := Search{Name: "describe", Target: 5}
	var times []time.Duration
	for range 4 * patterns {
		id := fmt.Sprintf("msg_%d", 1+rng.IntN(b.Messages))
		at := time.Now()
		if _, err := service.Describe(ctx, recall.DescribeRequest{ID: id, Where: recall.Where{AllConversations: true}}); err != nil {
			return err
		}
		times = append(times, time.Since(at))
	}
	slices.Sort(times)
	out.P50, out.P95 = millis(times[len(times)/2]), millis(times[len(times)*95/100])
	b.Searches = append(b.Searches, out)
	return nil
}

// beside compares with a plain loop over all texts, with the same texts in
// memory, and with the statement that peers use.
func (b *bench) beside(ctx context.Context) error {
	texts, err := b.texts(ctx)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(9, 9))
	selective := regexp.MustCompile(b.selective(rng))
	at := time.Now()
	for _, t := range texts {
		selective.Match(t)
	}
	if p95 := b.Searches[len(b.Searches)-2].P95; p95 > 0 { // the selective expressions
		b.ScanRatio = millis(time.Since(at)) / p95
	}
	// An expression without a literal: nothing that an index could look up.
	plain := regexp.MustCompile(`[0-9]{3}[a-f][0-9]{3}\b`)
	inMemory := matchAll(plain, texts)
	at = time.Now()
	found, err := b.db.Search(ctx, store.Search{Mode: store.Regex, Pattern: plain.String(), Limit: 50, CountTo: 1 << 40, Echo: true})
	if err != nil {
		return err
	}
	b.MemoryRatio = time.Since(at).Seconds() / inMemory.took.Seconds()
	if found.Matched != inMemory.matched {
		return fmt.Errorf("%s matches %d messages, a loop finds %d", plain, found.Matched, inMemory.matched)
	}
	var peers, ours time.Duration
	for _, word := range common {
		took, err := b.peer.common(word)
		if err != nil {
			return err
		}
		peers += took
		at := time.Now()
		if _, err := b.db.Search(ctx, store.Search{Mode: store.FullText, Pattern: word, Sort: store.ByRecency, Limit: 50}); err != nil {
			return err
		}
		ours += time.Since(at)
	}
	b.PeerRatio = peers.Seconds() / ours.Seconds()
	return nil
}

func (b *bench) texts(ctx context.Context) ([][]byte, error) {
	var all [][]byte
	for _, id := range b.convs {
		for m, err := range b.db.Messages(ctx, store.MessageQuery{Conversation: id}) {
			if err != nil {
				return nil, err
			}
			all = append(all, []byte(m.Body.SearchText()))
		}
	}
	return all, nil
}

type matching struct {
	took    time.Duration
	matched int
}

// matchAll matches texts on all cores.
func matchAll(re *regexp.Regexp, texts [][]byte) matching {
	at := time.Now()
	workers := runtime.GOMAXPROCS(0)
	counts := make([]int, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(texts); i += workers {
				if re.Match(texts[i]) {
					counts[w]++
				}
			}
		})
	}
	wg.Wait()
	m := matching{took: time.Since(at)}
	for _, c := range counts {
		m.matched += c
	}
	return m
}
