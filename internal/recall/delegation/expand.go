package delegation

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

//go:embed prompts/lcm_expand.md
var expandText string

type expandArgs struct {
	SummaryIDs      []string             `json:"summaryIds,omitempty" description:"Summaries to expand (sum_…): those you were given, and any beneath them"`
	MessageIDs      []string             `json:"messageIds,omitempty" description:"Messages to read (msg_…)"`
	FileIDs         []string             `json:"fileIds,omitempty" description:"Stored files to read (file_…) that belong to messages you may read"`
	Query           string               `json:"query,omitempty" description:"Words to find summaries with, among those you may expand; used when there are no ids"`
	ConversationID  store.ConversationID `json:"conversationId,omitempty" description:"One of the conversations you were given"`
	IncludeMessages bool                 `json:"includeMessages" default:"true" description:"Whether to go down to the messages, or to read only the summaries on the way"`
	MaxDepth        int                  `json:"maxDepth,omitempty" minimum:"1" description:"How many steps to go down (default: down to the messages)"`
	TokenCap        int                  `json:"tokenCap,omitempty" minimum:"1" description:"Size of the page in tokens, if smaller than a whole one"`
	Cursor          string               `json:"cursor,omitempty" description:"Where the page before ended; pass the same other arguments again"`
}

// Tools returns the tools of the holder of the grant: lcm_expand, lcm_describe
// and lcm_grep. None of them reaches anything outside the grant.
func (g *Grant) Tools() []core.Tool {
	return []core.Tool{
		granted(g, toolname.Expand, expandText, g.expand),
		granted(g, toolname.Describe, describeText, g.describe),
		granted(g, toolname.Grep, grepText, g.grep),
	}
}

// granted makes a tool of a grant. Calls take turns: each is charged before the next one.
func granted[In any](g *Grant, name, text string, run func(context.Context, In) (string, error)) core.Tool {
	return core.MustTool(core.MustToolInfo(name, text), func(ctx context.Context, in In) (core.Result, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := g.usable(); err != nil {
			return core.Result{}, err
		}
		answer, err := run(ctx, in)
		return core.TextResult(answer), err
	})
}

// expand serves one page.
func (g *Grant) expand(ctx context.Context, in expandArgs) (string, error) {
	if err := g.allowConversation(in.ConversationID); err != nil {
		return "", err
	}
	if len(in.SummaryIDs)+len(in.MessageIDs)+len(in.FileIDs) == 0 {
		if err := g.find(ctx, &in); err != nil {
			return "", err
		}
	}
	what, err := g.resolve(ctx, in)
	if err != nil {
		return "", err
	}
	size := g.pageSize()
	if in.Cursor != "" {
		size = g.rest()
	}
	if in.TokenCap > 0 {
		size = min(size, max(in.TokenCap, minPage))
	}
	p := g.newPage(size)
	if err := p.fill(ctx, in, what); err != nil {
		return "", err
	}
	if len(p.pieces) == 0 && len(p.skipped) > 0 && p.next == "" {
		return "", errors.New(strings.Join(p.skipped, "; "))
	}
	if err := g.settle(ctx, p); err != nil {
		return "", err
	}
	g.served.unread = p.next != ""
	if p.next != "" && g.spent() {
		g.served.cut = true
	}
	return p.text(), nil
}

// pageSize is how many tokens a page may have, unless it continues another one.
func (g *Grant) pageSize() int { return min(g.allows.PageTokens, g.rest()) }

// rest is how many tokens may still be served. A page that continues another one has
// all of them: every page costs a call of the model that repeats all pages before, so
// that many small ones cost the square of what is read.
func (g *Grant) rest() int { return min(g.left, g.meter.room()) }

// spent reports whether nothing can be served after the page that was just settled.
func (g *Grant) spent() bool { return g.left < minPage || g.meter.lastPage() }

// settle charges a page and records its pieces as served; a call that failed served
// nothing. A page without pieces is charged too, but does not count as reading.
func (g *Grant) settle(ctx context.Context, p *page) error {
	if err := p.climb(ctx); err != nil {
		return err
	}
	p.left -= g.count(p.citable())
	cost := p.size - p.left
	g.left -= cost
	for _, t := range p.taken {
		g.served.add(t)
	}
	g.meter.feed(cost, p.tokens)
	return nil
}

// find fills in the ids of granted summaries that a query matches.
func (g *Grant) find(ctx context.Context, in *expandArgs) error {
	if strings.TrimSpace(in.Query) == "" {
		return errors.New("say what to expand: summaryIds, messageIds, fileIds or a query")
	}
	found, err := g.search(ctx, recall.GrepRequest{Pattern: in.Query, Mode: store.FullText, Kinds: recall.InBoth})
	if err != nil {
		return err
	}
	for _, m := range found {
		id := cmp.Or(m.SummaryID, m.CoveredBy)
		elsewhere := in.ConversationID != 0 && m.ConversationID != in.ConversationID
		if id == "" || elsewhere || len(in.SummaryIDs) >= maxSeeds || slices.Contains(in.SummaryIDs, string(id)) {
			continue
		}
		if ok, err := g.covers(ctx, store.ID{Summary: id}); err != nil {
			return err
		} else if ok {
			in.SummaryIDs = append(in.SummaryIDs, string(id))
		}
	}
	if len(in.SummaryIDs) == 0 {
		return fmt.Errorf("nothing that you may expand matches %q: use other words, or the ids that you were given", prose.Clip(in.Query, 80))
	}
	return nil
}

// resolved has the ids that a call of lcm_expand opens; all are granted.
type resolved struct {
	items     []store.ID                   // messages and files
	holders   map[store.ID]store.MessageID // the granted message that an item is, or belongs to
	summaries []store.SummaryID
}

// resolve reads ids and refuses those outside the grant. Models confuse the lists, so
// the form of an id decides, not its list.
func (g *Grant) resolve(ctx context.Context, in expandArgs) (what resolved, err error) {
	what.holders = map[store.ID]store.MessageID{}
	for _, text := range slices.Concat(in.SummaryIDs, in.MessageIDs, in.FileIDs) {
		id, err := store.ParseID(text)
		if err != nil {
			return resolved{}, err
		}
		holder, err := g.allow(ctx, id)
		if err != nil {
			return resolved{}, err
		}
		if id.Summary != "" {
			what.summaries = append(what.summaries, id.Summary)
		} else {
			what.items, what.holders[id] = append(what.items, id), holder
		}
	}
	return what, nil
}
