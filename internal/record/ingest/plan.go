package ingest

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// plan says which messages of a history are stored, and where the others go.
type plan struct {
	conv    store.Conversation // as it was read
	branch  *branch
	origins []store.Origin
	history []input
	hashes  []hash
	known   []*stored // those of the history that are known
	loose   map[int]string
	doubt   map[int]bool
}

// last returns the index of the last known message that is not hidden, or -1.
func (p *plan) last() int {
	for i, s := range slices.Backward(p.known) {
		if s != nil && !s.hidden {
			return i
		}
	}
	return -1
}

func (p *plan) first() int {
	return slices.IndexFunc(p.known, func(s *stored) bool { return s != nil && !s.hidden })
}

// plan compares a history with the stored messages. inherited says that a fork may be
// rewound to inherited messages outside its view.
func (in *Ingester) plan(ctx context.Context, conv store.Conversation, history []input, inherited bool) (*plan, error) {
	p := &plan{conv: conv, history: history, known: make([]*stored, len(history)), loose: map[int]string{}, doubt: map[int]bool{}}
	var err error
	if p.branch, err = in.branch(ctx, conv.ID); err != nil {
		return nil, err
	}
	if p.origins, err = store.Origins(ctx, in.store, conv); err != nil {
		return nil, err
	}
	if err := in.byID(ctx, p.origins, history, p.known); err != nil {
		return nil, err
	}
	if !inherited {
		if err := p.forgetUnreached(ctx); err != nil {
			return nil, err
		}
	}
	return p, in.byContent(ctx, p)
}

// forgetUnreached treats inherited messages outside the active branch as
// unknown: the origin may have rewound past them before the fork.
func (p *plan) forgetUnreached(ctx context.Context) error {
	reached, err := p.branch.set(ctx)
	if err != nil {
		return err
	}
	for i, s := range p.known {
		if s != nil && s.conv != p.conv.ID && !s.hidden && !reached[s.id] {
			p.known[i] = nil
		}
	}
	return nil
}

// byContent aligns the messages without an id with the messages of the active
// branch that no id of the history names.
func (in *Ingester) byContent(ctx context.Context, p *plan) error {
	at, certain := p.nameless()
	if len(at) == 0 {
		return nil
	}
	active, err := p.branch.all(ctx)
	if err != nil {
		return err
	}
	named := p.named()
	all, err := in.load(ctx, slices.DeleteFunc(slices.Clone(active), func(id store.MessageID) bool { return named[id] }))
	if err != nil {
		return err
	}
	p.hashes = make([]hash, len(at))
	for i, n := range at {
		p.hashes[i] = p.history[n].identity()
	}
	main, repeat := align(all, p.hashes)
	if certain < len(at) {
		if best, end, _ := longestRun(all, p.hashes); best < sure || end <= certain {
			main, repeat = align(all, p.hashes[:certain])
		}
	}
	if repeat != nil {
		q := *p
		q.known, q.loose = slices.Clone(p.known), map[int]string{}
		if err := in.assign(ctx, &q, at, all, *repeat); err != nil {
			return err
		}
		if !slices.ContainsFunc(at[:len(repeat.of)], func(n int) bool { return q.known[n] == nil }) {
			p.known, p.loose = q.known, q.loose
			return nil
		}
	}
	return in.assign(ctx, p, at, all, main)
}

// nameless lists the messages without an id. Those from index certain on follow
// a message with a new id: a short match does not prove that they are stored.
func (p *plan) nameless() (at []int, certain int) {
	end := len(p.history)
	for i := len(p.history) - 1; i >= 0 && (p.history[i].ID == "" || p.known[i] == nil); i-- {
		if p.history[i].ID != "" {
			end = i
		}
	}
	for i, m := range p.history {
		if m.ID != "" {
			continue
		}
		if at = append(at, i); i < end {
			certain = len(at)
		}
	}
	return at, certain
}

// named returns the stored messages of the history.
func (p *plan) named() map[store.MessageID]bool {
	named := map[store.MessageID]bool{}
	for _, s := range p.known {
		if s != nil {
			named[s.id] = true
		}
	}
	return named
}

// assign applies an alignment to the messages at the given indexes, and looks up
// the unmatched ones before its end among those kept outside the view.
func (in *Ingester) assign(ctx context.Context, p *plan, at []int, all []stored, a alignment) error {
	for i, n := range a.of {
		if n >= 0 {
			p.known[at[i]] = &all[n]
		}
	}
	for i := range a.doubtful {
		p.doubt[at[i]] = true
	}
	last := p.last()
	count := map[hash]int{}
	var ids []string
	for i, n := range at {
		if n > last || p.known[n] != nil {
			continue
		}
		h := p.hashes[i]
		count[h]++
		// A stable id makes the next Sync of the same head find it stored.
		p.loose[n] = fmt.Sprintf("lcm-sync:%s:%d", hex.EncodeToString(h[:12]), count[h])
		ids = append(ids, p.loose[n])
	}
	found, err := in.natives(ctx, p.origins, ids)
	if err != nil {
		return err
	}
	for n, id := range p.loose {
		if m := found[id]; len(m) > 0 {
			p.known[n] = &m[0]
		}
	}
	return nil
}
