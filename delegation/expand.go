package delegation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store"
)

//go:embed prompts/lcm_expand.md
var expandText string

// ExpandName is the name of the sub-agent's tool.
const ExpandName = "lcm_expand"

type expandArgs struct {
	SummaryIDs      []string             `json:"summaryIds,omitempty" description:"Summaries to expand (sum_…): those you were given, and any beneath them"`
	MessageIDs      []string             `json:"messageIds,omitempty" description:"Messages to read (msg_…)"`
	Query           string               `json:"query,omitempty" description:"Words to find summaries with, among those you may expand; used when there are no ids"`
	ConversationID  store.ConversationID `json:"conversationId,omitempty" description:"One of the conversations you were given"`
	IncludeMessages bool                 `json:"includeMessages" default:"true" description:"Whether to go down to the messages, or to read only the summaries on the way"`
	MaxDepth        int                  `json:"maxDepth,omitempty" minimum:"1" description:"How many steps to go down (default: down to the messages)"`
	TokenCap        int                  `json:"tokenCap,omitempty" minimum:"1" description:"Size of the page in tokens, if smaller than a whole one"`
	Cursor          string               `json:"cursor,omitempty" description:"Where the page before ended; pass the same other arguments again"`
}

// Tool returns the tool lcm_expand for the holder of the grant.
func (g *Grant) Tool() core.Tool {
	return core.MustTool(core.MustToolInfo(ExpandName, expandText), g.expand)
}

// ExpandInfo returns what lcm_expand says about itself, for documentation.
func ExpandInfo() core.ToolInfo { return core.MustToolInfo(ExpandName, expandText) }

// expand serves one page. Calls take turns: what is left is settled before the
// next one.
func (g *Grant) expand(ctx context.Context, in expandArgs) (core.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.usable(); err != nil {
		return core.Result{}, err
	}
	if err := g.allowConversation(in.ConversationID); err != nil {
		return core.Result{}, err
	}
	if len(in.SummaryIDs)+len(in.MessageIDs) == 0 {
		if err := g.find(ctx, &in); err != nil {
			return core.Result{}, err
		}
	}
	summaries, messages, err := g.resolve(ctx, in)
	if err != nil {
		return core.Result{}, err
	}
	size := min(g.allows.PageTokens, g.left)
	if in.TokenCap > 0 {
		size = min(size, max(in.TokenCap, minPage))
	}
	p := &page{grant: g, size: size, left: size}
	if err := p.fill(ctx, in, summaries, messages); err != nil {
		return core.Result{}, err
	}
	g.left -= p.size - p.left
	g.ledger.pages++
	g.ledger.unread = p.next != ""
	if p.next != "" && g.left < minPage {
		g.ledger.cut = true
	}
	return core.TextResult(p.text()), nil
}

// find fills in the ids of granted summaries that a query matches.
func (g *Grant) find(ctx context.Context, in *expandArgs) error {
	if strings.TrimSpace(in.Query) == "" {
		return errors.New("say what to expand: summaryIds, messageIds or a query")
	}
	for _, c := range g.allows.Conversations {
		if in.ConversationID != 0 && c != in.ConversationID {
			continue
		}
		found, err := g.recall.Grep(ctx, recall.GrepRequest{
			Pattern: in.Query, Mode: store.FullText, Scope: recall.InBoth, Where: recall.Where{ConversationID: c}, Limit: 30,
		})
		if err != nil {
			return err
		}
		for _, m := range found.Matches {
			id := m.SummaryID
			if m.Type == "message" {
				id = m.CoveredBy
			}
			if id == "" || len(in.SummaryIDs) >= maxSeeds || contains(in.SummaryIDs, id) {
				continue
			}
			if ok, err := g.holds(ctx, store.Node{Summary: store.SummaryID(id)}); err != nil {
				return err
			} else if ok {
				in.SummaryIDs = append(in.SummaryIDs, id)
			}
		}
	}
	if len(in.SummaryIDs) == 0 {
		return fmt.Errorf("nothing that you may expand matches %q: use other words, or the ids that you were given", clip(in.Query, 80))
	}
	return nil
}

func contains(ids []string, id string) bool {
	for _, have := range ids {
		if have == id {
			return true
		}
	}
	return false
}

// resolve reads ids and refuses those outside the grant. Models confuse the
// two lists, so that an id is taken for what it is.
func (g *Grant) resolve(ctx context.Context, in expandArgs) (summaries []string, messages []store.MessageID, err error) {
	for _, text := range append(append([]string{}, in.SummaryIDs...), in.MessageIDs...) {
		id, err := store.ParseID(text)
		switch {
		case err != nil:
			return nil, nil, err
		case id.Payload != "":
			return nil, nil, fmt.Errorf("%s is a file: expand the summary or the message that it belongs to", id.Payload)
		case id.Summary != "":
			if err := g.allowSummary(ctx, id.Summary); err != nil {
				return nil, nil, err
			}
			summaries = append(summaries, string(id.Summary))
		default:
			if err := g.allowMessage(ctx, id.Message); err != nil {
				return nil, nil, err
			}
			messages = append(messages, id.Message)
		}
	}
	return summaries, messages, nil
}
