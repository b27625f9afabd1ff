package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// patterns is how many patterns of each kind are searched for.
const patterns = 30

// search times the kinds of search, and sets some of them beside other ways of
// finding the same.
func (b *bench) search(ctx context.Context) error {
	if err := b.DB.Reindex(ctx); err != nil {
		return err
	}
	for _, k := range b.kinds() {
		rng := rand.New(rand.NewPCG(7, uint64(len(k.name))))
		err := b.timed(k.name, k.target, patterns, func() (int, error) {
			q := k.query(rng)
			q.Limit = 50
			found, err := b.DB.Search(ctx, q)
			return len(found.Hits), err
		})
		if err != nil {
			return err
		}
	}
	if err := b.recall(ctx); err != nil {
		return err
	}
	texts, err := b.texts(ctx)
	if err != nil {
		return err
	}
	if err := b.beside(ctx, texts); err != nil {
		return err
	}
	return b.exact(ctx, texts)
}

// kind is a kind of search and the time it may take at any size.
type kind struct {
	name   string
	target float64
	query  func(rng *rand.Rand) store.Search
}

const selectiveRegex = "selective regex"

func (b *bench) kinds() []kind {
	full := func(pattern string) store.Search { return store.Search{Mode: store.FullText, Pattern: pattern} }
	return []kind{
		{"selective word", 150, func(rng *rand.Rand) store.Search { return full(b.rare(rng)) }},
		{"phrase", 150, func(rng *rand.Rand) store.Search { return full(`"` + b.phrase(rng) + `"`) }},
		{"Chinese", 150, func(rng *rand.Rand) store.Search { return full(harness.PickFrom(rng, harness.Chinese)) }},
		{"six-word question", 300, func(rng *rand.Rand) store.Search {
			return full("why did the " + strings.Join([]string{harness.Pick(rng), harness.Pick(rng), harness.Pick(rng), harness.Pick(rng), harness.Pick(rng), b.rare(rng)}, " ") + "?")
		}},
		{"common word", 300, func(rng *rand.Rand) store.Search { return full(harness.PickFrom(rng, common)) }},
		{"one conversation", 30, func(rng *rand.Rand) store.Search {
			q := full(harness.Pick(rng) + " " + harness.Pick(rng) + " " + harness.Pick(rng))
			q.Conversations = []store.ConversationID{b.small}
			return q
		}},
		{selectiveRegex, 150, func(rng *rand.Rand) store.Search {
			return store.Search{Mode: store.Regex, Pattern: b.selective(rng)}
		}},
	}
}

// common are words of the corpus that occur in a large part of all messages
// and that no search leaves out as too general.
var common = []string{"time", "carrier", "parcel", "minutes", "index", "test", "rows", "fingerprint", "nothing"}

// rare takes a number out of one message: few other messages have it.
func (b *bench) rare(rng *rand.Rand) string {
	return rareWord().FindString(harness.Message(2 + 4*rng.IntN(max(1, b.Messages/4))).SearchText())
}

var rareWord = lazyregexp.New(`0x[0-9a-f]{6,}`)

// phrase takes three words that stand side by side out of a message.
func (b *bench) phrase(rng *rand.Rand) string {
	for {
		all := strings.Fields(harness.Message(3 + 4*rng.IntN(max(1, b.Messages/4))).PlainText())
		at := rng.IntN(max(1, len(all)-3))
		words := strings.Join(all[at:min(at+3, len(all))], " ")
		if plainWords().MatchString(words) {
			return words
		}
	}
}

var plainWords = lazyregexp.New(`^[a-z]+( [a-z]+)+$`)

// selective is an expression with a literal that few messages have.
func (b *bench) selective(rng *rand.Rand) string {
	w := b.rare(rng)
	return `\w+\(\w+, ` + w[:len(w)-1] + `[0-9a-f]`
}

// recall times the calls of an agent: a search with its snippets and covering
// summaries, and looking messages up by id.
func (b *bench) recall(ctx context.Context) error {
	service, err := lookup.New(b.DB)
	if err != nil {
		return err
	}
	where := recall.Where{AllConversations: true}
	rng := rand.New(rand.NewPCG(8, 8))
	err = b.timed("question, with snippets", 300, patterns, func() (int, error) {
		_, err := service.Grep(ctx, recall.GrepRequest{Pattern: "why did the " + harness.Pick(rng) + " " + harness.Pick(rng) + " " + b.rare(rng) + "?", Mode: store.FullText, Where: where})
		return 0, err
	})
	if err != nil {
		return err
	}
	return b.timed("describe", 5, 4*patterns, func() (int, error) {
		_, err := service.Describe(ctx, recall.DescribeRequest{ID: store.ID{Message: store.MessageID(1 + rng.IntN(b.Messages))}, Where: where})
		return 0, err
	})
}

// timed runs a search several times and adds its row to the report.
func (b *bench) timed(name string, target float64, times int, run func() (hits int, err error)) error {
	took := make([]time.Duration, times)
	total := 0
	for i := range took {
		at := time.Now()
		hits, err := run()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took[i] = time.Since(at)
		total += hits
	}
	b.Searches = append(b.Searches, Search{Name: name, Target: target, Hits: total, P50: harness.Quantile(took, 0.5), P95: harness.Quantile(took, 0.95)})
	return nil
}

// beside compares with a plain loop over all texts, with the same texts in
// memory, and with the statement that peers use.
func (b *bench) beside(ctx context.Context, texts []text) error {
	rng := rand.New(rand.NewPCG(9, 9))
	selective := regexp.MustCompile(b.selective(rng))
	at := time.Now()
	for _, t := range texts {
		selective.Match(t.said)
	}
	scan := harness.Millis(time.Since(at))
	for _, s := range b.Searches {
		if s.Name == selectiveRegex && s.P95 > 0 {
			b.ScanRatio = scan / s.P95
		}
	}
	if err := b.byMemory(ctx, texts); err != nil {
		return err
	}
	var peers, ours time.Duration
	for _, word := range common {
		took, err := b.peer.common(word)
		if err != nil {
			return err
		}
		peers += took
		at := time.Now()
		if _, err := b.DB.Search(ctx, store.Search{Mode: store.FullText, Pattern: word, Sort: store.ByRecency, Limit: 50}); err != nil {
			return err
		}
		ours += time.Since(at)
	}
	b.PeerRatio = peers.Seconds() / ours.Seconds()
	return nil
}

// turns is how often a search and a loop over memory are timed in turn. A
// machine that is busy with other things slows now the one, now the other: the
// median of their ratios is reported.
const turns = 5

// byMemory times an expression without a literal, nothing that an index could
// look up, beside the same expression over the same texts in memory.
func (b *bench) byMemory(ctx context.Context, texts []text) error {
	plain := regexp.MustCompile(`[0-9]{3}[a-f][0-9]{3}\b`)
	ratios := make([]float64, turns)
	for i := range ratios {
		inMemory := matchAll(plain, texts)
		at := time.Now()
		found, err := b.DB.Search(ctx, store.Search{Mode: store.Regex, Pattern: plain.String(), Limit: 50, CountTo: 1 << 40, Everything: true})
		if err != nil {
			return err
		}
		ratios[i] = time.Since(at).Seconds() / inMemory.took.Seconds()
		if found.Matched != len(inMemory.ids) {
			return fmt.Errorf("%s matches %d messages, a loop finds %d", plain, found.Matched, len(inMemory.ids))
		}
	}
	slices.Sort(ratios)
	b.MemoryRatio = ratios[turns/2]
	return nil
}
