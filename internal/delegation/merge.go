package delegation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/store"
)

// merge puts the answers of several sub-agents together: each under a heading
// that names its conversation, the best conversation first. One answer is
// returned as it is; without any, the error is that of the best.
func merge(outcomes []outcome, asked []*bucket, r Request, count func(string) int) (Answer, error) {
	if len(outcomes) == 1 {
		return outcomes[0].answer, outcomes[0].err
	}
	merged := Answer{CitedIDs: []string{}, Citations: []Citation{}}
	var text strings.Builder
	var short, starved bool
	for i, o := range outcomes {
		id := asked[i].conversations[0]
		if o.err != nil {
			merged.note("conversation %d was not answered: %s", id, prose.Clip(o.err.Error(), 200))
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		fmt.Fprintf(&text, "%s%s", heading(id), forgedHeading().ReplaceAllString(o.answer.Answer, "$1| $2"))
		merged.join(o.answer)
		short = short || o.answer.TruncatedBy == cutMaxTokens || o.answer.TruncatedBy == cutBoth
		starved = starved || o.answer.TruncatedBy == cutExpansion || o.answer.TruncatedBy == cutBoth
	}
	if text.Len() == 0 {
		return Answer{}, outcomes[0].err
	}
	whole, cut := shorten(count, text.String(), r.MaxTokens)
	merged.Answer = whole
	merged.cut(cut || short, starved)
	left := r.MaxTokens - count(whole)
	for i := range merged.Citations {
		c := &merged.Citations[i]
		if cost := count(c.Quote); cost <= left {
			left -= cost
		} else {
			c.Quote = ""
		}
	}
	merged.SourceConversationID = merged.SourceConversationIDs[0]
	if len(merged.Citations) > 0 { // one that found nothing is not the source
		merged.SourceConversationID = merged.Citations[0].ConversationID
	}
	return merged, nil
}

// heading introduces the answer of one conversation.
func heading(id store.ConversationID) string { return fmt.Sprintf("Conversation %d: ", id) }

// forgedHeading finds lines inside an answer that look like the heading of
// another one: a sub-agent speaks for the conversation that it has read.
var forgedHeading = lazyregexp.New(newLine + `(Conversation \d+:)`)

// shares divides the cap on an answer among those that are asked, with room
// for the headings.
func shares(asked []*bucket, most int, count func(string) int) int {
	if len(asked) < 2 {
		return most
	}
	for _, b := range asked {
		most -= count("\n\n"+heading(b.conversations[0])) + 1
	}
	return max(MinMaxTokens, most/len(asked))
}

// join adds the sources of another answer.
func (a *Answer) join(b Answer) {
	for _, c := range b.Citations {
		if !slices.Contains(a.CitedIDs, c.ID) {
			a.CitedIDs = append(a.CitedIDs, c.ID)
			a.Citations = append(a.Citations, c)
		}
	}
	for _, id := range b.SourceConversationIDs {
		a.addSource(id)
	}
	a.ExpandedSummaryCount += b.ExpandedSummaryCount
	a.TotalSourceTokens += b.TotalSourceTokens
	for _, n := range b.Notes {
		a.note("%s", n)
	}
}

func (a *Answer) addSource(id store.ConversationID) {
	if !slices.Contains(a.SourceConversationIDs, id) {
		a.SourceConversationIDs = append(a.SourceConversationIDs, id)
	}
}
