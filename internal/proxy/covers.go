package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/summary"
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

// covers reads the summaries of a view.
func (r coverReader) covers(ctx context.Context, v store.View) (all []*overlay.Cover, err error) {
	for _, it := range v.Items {
		if !it.IsSummary() {
			continue
		}
		c, err := r.cover(ctx, it.Summary, it.Depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		for one := range c.All {
			r.known[one.ID] = one
		}
	}
	return all, nil
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
	c.Text = assemble.RenderSummary(sum, sources) + r.images(ctx, sum.Files)
	return c, nil
}

// maxImages is how many images are named with a summary.
const maxImages = 10

// images names the images beneath a summary, and how to see them again: a model cannot
// search them.
func (r coverReader) images(ctx context.Context, files []store.PayloadID) string {
	var found []string
	for _, id := range files {
		p, err := r.store.Payload(ctx, id)
		if err == nil && strings.HasPrefix(p.MIME, "image/") && len(found) < maxImages {
			found = append(found, fmt.Sprintf("%s (%s)", id, safetext.Line(strings.TrimSpace(p.Name+" "+p.MIME))))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "\n[Images that are no longer shown: " + strings.Join(found, ", ") + ". To see one again, read its file again, or run `lcm describe ID --raw > FILE` and look at FILE.]"
}

// unusable reports whether an error is one of the record itself. Others pass with time.
func unusable(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}
