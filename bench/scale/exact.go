package scale

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
)

// newest is how many of the newest matches are compared one by one.
const newest = 50

// exact holds the index to the truth: for varied expressions, the number of
// matches and the newest of them must be those of a loop over all texts.
func (b *bench) exact(ctx context.Context, texts []text) error {
	rng := rand.New(rand.NewPCG(10, 10))
	for n := range b.Expressions {
		b.Progress.Say("%d messages in %d conversations: %d of %d expressions are found as by a loop", b.Messages, b.Conversations, n, b.Expressions)
		re := regexp.MustCompile(b.expression(rng, n))
		want := matchAll(re, texts).ids
		found, err := b.DB.Search(ctx, store.Search{Mode: store.Regex, Pattern: re.String(), Limit: newest, CountTo: 1 << 40, Everything: true})
		if err != nil {
			return fmt.Errorf("%s: %w", re, err)
		}
		if found.Matched != len(want) || found.AtLeast {
			return fmt.Errorf("%s matches %d messages (at least: %v), a loop finds %d", re, found.Matched, found.AtLeast, len(want))
		}
		got := make([]store.MessageID, len(found.Hits))
		for i, h := range found.Hits {
			got[i] = h.Message
		}
		if want = want[:min(newest, len(want))]; !slices.Equal(want, got) {
			return fmt.Errorf("%s: the newest matches are %v, a loop finds %v", re, got, want)
		}
		b.Compared++
	}
	return nil
}

// expression makes the n-th expression: literals, choices, classes, anchors,
// without regard to case, other scripts, with many matches, few and none.
func (b *bench) expression(rng *rand.Rand, n int) string {
	rare := b.rare(rng)
	x, y := harness.Pick(rng), harness.Pick(rng)
	return []string{
		rare,
		x + " " + y,
		`(?i)` + x + `_` + y + `\(`,
		`\b` + x + `/` + y + `\.go:[0-9]+`,
		rare[:6] + `.*\n`,
		`(` + x + `|` + y + `)_(` + y + `|` + x + `)\(`,
		`^` + x + ` .*` + y,
		harness.PickFrom(rng, harness.Chinese) + `.?` + harness.PickFrom(rng, harness.Chinese),
		`[0-9]{5} ` + x,
		`(?m)^ +[0-9]+\t` + x + `_\w+\(` + y,
		x + `qq` + y,
		y + `\.$`,
		rare[2:6] + `|` + rare[3:7] + x,
	}[n%13]
}

// text is the searched text of one message.
type text struct {
	id   store.MessageID
	said []byte
}

// texts loads all messages, newest first.
func (b *bench) texts(ctx context.Context) ([]text, error) {
	var all []text
	for _, id := range append(slices.Clone(b.convs), b.small) {
		for m, err := range b.DB.Messages(ctx, store.MessageQuery{Conversation: id}) {
			if err != nil {
				return nil, err
			}
			all = append(all, text{m.ID, []byte(m.Body.SearchText())})
		}
	}
	slices.SortFunc(all, func(x, y text) int { return cmp.Compare(y.id, x.id) })
	return all, nil
}

type matching struct {
	took time.Duration
	ids  []store.MessageID // newest first
}

// matchAll matches texts on all cores.
func matchAll(re *regexp.Regexp, texts []text) matching {
	at := time.Now()
	workers := runtime.GOMAXPROCS(0)
	hit := make([]bool, len(texts))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(texts); i += workers {
				hit[i] = re.Match(texts[i].said)
			}
		})
	}
	wg.Wait()
	m := matching{took: time.Since(at)}
	for i, t := range texts {
		if hit[i] {
			m.ids = append(m.ids, t.id)
		}
	}
	return m
}
