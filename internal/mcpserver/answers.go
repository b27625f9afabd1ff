package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/gonefiles"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/recall"
)

// refusal is an error in the words of the tool.
type refusal string

func (r refusal) Error() string { return string(r) }

// begin decodes the arguments of a call into a request, brings the caller's
// transcript up to date, and resolves the scope w, which is part of the request.
func (c *call) begin(ctx context.Context, request any, w *recall.Where) (from Caller, notes []string, err error) {
	if err := c.read(request); err != nil {
		return from, nil, err
	}
	c.report("catching up on the transcript")
	from = c.from(ctx)
	*w, notes, err = c.where(ctx, from, *w)
	return from, slices.Concat(c.notes, notes), err
}

// grep answers lcm_grep with as many matches as fit, and a cursor for the rest.
func (c *call) grep(ctx context.Context) (answer, error) {
	var r recall.GrepRequest
	from, notes, err := c.begin(ctx, &r, &r.Where)
	if err != nil {
		return answer{}, err
	}
	r.OrWords, r.Compact, r.Snippet = r.Mode != recall.Regex, true, snippetRunes
	_, told := c.args["context"]
	only := told && r.Context == 0
	if r.NoSaid = only; !told {
		r.Fill = min(fillTokens, c.config.MaxTokens/2)
	}
	c.report("searching")
	asked := r.Limit
	r.Limit = min(asked, max(1, c.config.MaxTokens/matchTokens))
	for {
		found, err := c.config.Engine.Grep(ctx, r)
		if err != nil {
			return answer{}, c.said(err)
		}
		if only {
			found = found.OnlyMatches()
		}
		found.Notes = slices.Concat(notes, found.Notes, gonefiles.InMatches(c.localDir(from), found))
		if r.Limit < asked && found.NextCursor != "" {
			found.Notes = append(found.Notes, fmt.Sprintf("the page is short because an answer has at most %d tokens", c.config.MaxTokens))
		}
		text, value := found.Text(), newGrepResult(found)
		if c.fits(text, value) {
			return answer{text: text, value: value}, nil
		}
		switch n := len(found.Matches); {
		case n > 1 && r.Limit > 1: // messages beside the matches do not count for the limit
			r.Limit, r.Fill = max(1, min(r.Limit-1, n-1, c.fitting(found))), 0
		case r.Context > 0 || r.Fill > 0:
			r.Context, r.Fill = 0, 0
			notes = append(notes, "the messages around the match are too long for one answer: lcm_describe shows them one by one")
		default: // a single match that does not fit: the note says where to read it
			for i := range found.Matches {
				m := &found.Matches[i]
				m.Snippet, m.MatchRanges, m.Truncated, m.CutBefore = "", [][2]int{}, true, false
			}
			found.Notes = append(found.Notes, "the match is too long for one answer: lcm_describe shows it in pages")
			return answer{text: found.Text(), value: newGrepResult(found)}, nil
		}
	}
}

// snippetRunes is how many characters of a match are shown: with so many, most
// matches need no second call.
const snippetRunes = 360

// fillTokens is the size to which matches and the rest of their exchanges fill a
// page: an answer often stands next to the words of its question.
const fillTokens = 600

// matchTokens is a lower bound of the cost of a match.
const matchTokens = 60

// fitting estimates how many matches fit one answer, at least one, from the sum
// of their costs.
func (c *call) fitting(a recall.GrepAnswer) int {
	left := c.config.MaxTokens
	all := a.Matches
	a.Matches = []recall.Match{}
	left -= c.cost(a.Text(), newGrepResult(a))
	for i := range all {
		a.Matches = all[i : i+1]
		if left -= c.cost(all[i].Heading(nil)+all[i].Snippet, newGrepResult(a).Matches); left < 0 {
			return max(1, i)
		}
	}
	return len(all)
}

// describe answers lcm_describe with one page of content that fits.
func (c *call) describe(ctx context.Context) (answer, error) {
	var r struct {
		recall.DescribeRequest
		ID string `json:"id"` // may be a pasted reference
	}
	_, notes, err := c.begin(ctx, &r, &r.Where)
	if err != nil {
		return answer{}, err
	}
	if r.DescribeRequest.ID, err = lookup.ParseID(r.ID); err != nil {
		return answer{}, c.said(err)
	}
	c.report("reading")
	r.MaxTokens = min(r.MaxTokens, c.config.MaxTokens*3/4)
	for {
		a, err := c.config.Engine.Describe(ctx, r.DescribeRequest)
		if err != nil {
			return answer{}, c.said(err)
		}
		a.Notes = slices.Concat(notes, a.Notes)
		if c.fits(a.Text(), a) {
			return answer{text: a.Text(), value: a}, nil
		}
		shortenLists(&a)
		if c.fits(a.Text(), a) || r.MaxTokens == 1 {
			return answer{text: a.Text(), value: a}, nil
		}
		// JSON escapes make the structured content longer than the text.
		r.MaxTokens = max(1, r.MaxTokens*2/3)
	}
}

// expandQuery answers lcm_expand_query. It asks once, since a model may be paid
// for it, and cuts the answer to the size that fits.
func (c *call) expandQuery(ctx context.Context) (answer, error) {
	var r recall.Question
	from, notes, err := c.begin(ctx, &r, &r.Where)
	if err != nil {
		return answer{}, err
	}
	r.Caller, r.Agent = c.client, from.Host
	_, told := c.args["maxTokens"]
	if most := max(recall.MinMaxTokens, c.config.MaxTokens*2/3); r.MaxTokens > most {
		if r.MaxTokens = most; told {
			notes = append(notes, fmt.Sprintf("maxTokens was lowered to %d: an answer with its citations has at most %d tokens", most, c.config.MaxTokens))
		}
	} else if !told {
		r.MaxTokens = 0
	}
	if r.MaxTokens > recall.MinMaxTokens { // the notes are part of the result
		for _, n := range notes {
			r.MaxTokens -= c.config.Counter.Count(n) + 3
		}
		r.MaxTokens = max(r.MaxTokens, recall.MinMaxTokens)
	}
	c.report("reading the record")
	a, err := c.config.Engine.Ask(ctx, r)
	if err != nil {
		return answer{}, c.said(err)
	}
	a.Notes = slices.Concat(notes, a.Notes, gonefiles.InAnswer(c.localDir(from), a))
	if a.Method == recall.MethodEvidence {
		a.Citations = nil // the answer quotes them
	}
	c.trim(&a)
	return answer{text: a.Text(), value: newAskResult(a)}, nil
}

// localDir is the directory of the caller's project on this machine, or "".
func (c *call) localDir(from Caller) string {
	if !c.config.Local || len(from.Dirs) != 1 {
		return ""
	}
	return from.Dirs[0]
}

// said adds the way to the tool's guide to an error, unless the call was
// cancelled.
func (c *call) said(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return learnMore(c.tool, err)
}
