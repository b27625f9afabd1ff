package proxy

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
)

// coverReader reads summaries with everything beneath them. It reads those that it knows
// again only if their text has changed.
type coverReader struct {
	store store.Reader
	known map[store.SummaryID]*overlay.Cover
}

// remember adds the summaries of a plan to those that are known.
func (r coverReader) remember(p *overlay.Plan) {
	if p == nil {
		return
	}
	for _, c := range p.Covers {
		for one := range c.All {
			r.known[one.ID] = one
		}
	}
}

// cover reads a summary of a depth below the given one: in a damaged record a summary
// might be beneath itself. A summary that cannot be shown has no text, so that those
// beneath it are used.
func (r coverReader) cover(ctx context.Context, id store.SummaryID, below int) (*overlay.Cover, error) {
	c := &overlay.Cover{ID: id}
	sum, err := store.First(r.store.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}))
	if unusable(err) || err == nil && sum.Depth >= below {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if old, ok := r.known[id]; ok && old.Revision == sum.Revision {
		return old, nil
	}
	c.Revision = sum.Revision
	sources, err := r.store.Sources(ctx, id)
	if unusable(err) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	for _, n := range sources {
		if !n.IsSummary() {
			c.Messages = append(c.Messages, n.Message)
			continue
		}
		source, err := r.cover(ctx, n.Summary, sum.Depth)
		if err != nil {
			return nil, err
		}
		c.Summaries = append(c.Summaries, source)
	}
	if sum.Method == store.MethodErased || c.Count() != sum.Messages {
		return c, nil
	}
	if sum.Kind != summary.Condensed {
		sources = nil // a leaf does not list its messages
	}
	c.Text = assemble.RenderSummary(sum, sources)
	return c, nil
}

// changed reports whether the text of a summary of a plan has changed or is gone.
func (r coverReader) changed(ctx context.Context, p *overlay.Plan) (bool, error) {
	if p == nil {
		return false, nil
	}
	for _, c := range p.Covers {
		sum, err := store.First(r.store.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{c.ID}}))
		if unusable(err) || err == nil && sum.Revision != c.Revision {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// unusable reports whether an error is one of the record itself. Others pass with time.
func unusable(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}
