package needle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Options adjust a run. The zero value takes about a minute.
type Options struct {
	Sizes    []int  // of the haystacks, in tokens (32,000 to 1,000,000)
	Seed     uint64 // of everything that is made up
	Dir      string // for the databases (a temporary one)
	Progress harness.Progress
}

// DefaultSizes are those of the zero Options.
var DefaultSizes = []int{32_000, 128_000, 512_000, 1_000_000}

// MaxDepth is the most levels of summaries that lie over a needle.
const MaxDepth = 3

// fan is how many nodes a summary is made from.
const fan = 12

// Measure hides the needles and looks for them.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	if len(o.Sizes) == 0 {
		o.Sizes = DefaultSizes
	}
	if slices.Min(o.Sizes) < 1 {
		return r, errors.New("the size of a haystack must be at least one token")
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "lcm-needle-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	r.Seed = o.Seed
	for _, size := range o.Sizes {
		if err := measureSize(ctx, o, size, &r); err != nil {
			return r, fmt.Errorf("%d tokens: %w", size, err)
		}
	}
	return r, nil
}

// measureSize makes a database with one haystack for each depth.
func measureSize(ctx context.Context, o Options, size int, r *Report) (err error) {
	db, err := sqlite.Open(ctx, filepath.Join(o.Dir, fmt.Sprintf("needle-%d.db", size)), sqlite.Options{Relaxed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	in, err := ingest.New(db, nil, 500)
	if err != nil {
		return err
	}
	svc, err := lookup.New(db)
	if err != nil {
		return err
	}
	for depth := range MaxDepth + 1 {
		o.Progress.Say("%d tokens under %d levels of summaries", size, depth)
		rng := rand.New(rand.NewPCG(o.Seed, uint64(size)<<8|uint64(depth)))
		h := grow(rng, size, llms.Estimate)
		hunt := hunt{db: db, svc: svc, size: size, depth: depth}
		if err := hunt.store(ctx, in, h); err != nil {
			return err
		}
		if err := hunt.fold(ctx); err != nil {
			return err
		}
		for i, n := range h.needles {
			for _, mode := range []store.Mode{store.Regex, store.FullText} {
				f, err := hunt.find(ctx, n, hunt.ids[i], mode)
				if err != nil {
					return err
				}
				r.Finds = append(r.Finds, f)
			}
		}
	}
	return nil
}

// hunt is one haystack in a database.
type hunt struct {
	db          *sqlite.DB
	svc         *lookup.Service
	size, depth int
	where       recall.Where
	ids         []string // of the needles' messages
}

func (h *hunt) store(ctx context.Context, in *ingest.Ingester, stack haystack) error {
	c, err := h.db.Open(ctx, store.NewConversation{Key: fmt.Sprintf("haystack %d", h.depth)})
	if err != nil {
		return err
	}
	h.where.Current = c.ID
	var ids []store.MessageID
	for part := range slices.Chunk(stack.messages, 1000) {
		done, err := in.Append(ctx, c.ID, ingest.Messages(part...)...)
		if err != nil {
			return err
		}
		for _, a := range done.Messages {
			ids = append(ids, a.ID)
		}
	}
	for _, n := range stack.needles {
		h.ids = append(h.ids, ids[n.message].String())
	}
	return nil
}

// fold lays levels of summaries over the whole haystack. A summary costs no
// time: it says which nodes it covers.
func (h *hunt) fold(ctx context.Context) error {
	for level := range h.depth {
		v, err := h.db.View(ctx, h.where.Current, store.Window{})
		if err != nil {
			return err
		}
		err = h.db.Update(ctx, h.where.Current, func(w store.Writer) error {
			for over := range slices.Chunk(v.Items, fan) {
				_, err := w.Fold(ctx, store.NewSummary{Over: over, Wording: store.Wording{
					Body:   fmt.Sprintf("%d nodes from %s to %s.\n%severything", len(over), over[0].ID, over[len(over)-1].ID, summary.Footer),
					Tokens: 30, Level: summary.Fallback, Method: "instant",
				}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("fold level %d: %w", level, err)
		}
	}
	return nil
}

// page is how many matches an agent asks for.
const page = 5

// find looks for a needle by its key, and reads on until its value is in hand.
func (h *hunt) find(ctx context.Context, n needle, id string, mode store.Mode) (Find, error) {
	f := Find{Size: h.size, Depth: h.depth, Lane: n.lane, Position: n.position, Mode: mode}
	r := recall.GrepRequest{Pattern: regexp.QuoteMeta(n.key), Mode: mode, Limit: page, Where: h.where}
	if mode == store.FullText {
		r.Pattern = fmt.Sprintf("What is the access phrase of %s?", n.key)
	}
	start := time.Now()
	a, err := h.svc.Grep(ctx, r)
	if err != nil {
		return f, err
	}
	f.Elapsed = time.Since(start)
	f.Calls, f.Tokens = 1, llms.Estimate.Count(a.Text())
	f.Rank = 1 + slices.IndexFunc(a.Matches, func(m recall.Match) bool { return m.ID.String() == id })
	if f.Rank == 0 {
		return f, nil
	}
	f.InHand = strings.Contains(a.Matches[f.Rank-1].Snippet, n.value)
	d := recall.DescribeRequest{ID: a.Matches[f.Rank-1].ID, Where: h.where, MaxTokens: 2000}
	for read := ""; !f.InHand; {
		more, err := h.svc.Describe(ctx, d)
		if err != nil {
			return f, err
		}
		f.Calls, f.Tokens = f.Calls+1, f.Tokens+llms.Estimate.Count(more.Text())
		read += more.Content
		f.InHand = strings.Contains(read, n.value)
		if d.Cursor = more.NextCursor; d.Cursor == "" {
			break
		}
	}
	return f, nil
}
