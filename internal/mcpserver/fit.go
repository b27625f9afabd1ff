package mcpserver

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/recall"
)

// fits reports whether both forms of an answer are within the bound: some hosts
// show the model the text, others the structured content.
func (s *Server) fits(text string, value any) bool { return s.cost(text, value) <= s.config.MaxTokens }

// cost counts the tokens of the longer form of an answer.
func (s *Server) cost(text string, value any) int {
	raw, err := jsonstring.Marshal(value)
	if err != nil {
		return math.MaxInt
	}
	return max(s.config.Counter.Count(text), s.config.Counter.Count(string(raw)))
}

// maxIDs is how many ids a list of an answer keeps.
const maxIDs = 40

// shorten cuts a long list of ids and says so.
func shorten[T any](a *recall.DescribeAnswer, name string, ids *[]T, rest string) {
	if all := *ids; len(all) > maxIDs {
		a.Notes = append(a.Notes, fmt.Sprintf("%s has %d of %d ids, the last one is %v; %s", name, maxIDs, len(all), all[len(all)-1], rest))
		*ids = all[:maxIDs:maxIDs]
	}
}

// shortenLists cuts long lists.
func shortenLists(a *recall.DescribeAnswer) {
	shorten(a, "fileIds", &a.FileIDs, `lcm_describe of a message lists its own`)
	if d := a.SummaryDetail; d != nil {
		shorten(a, "sourceMessageIds", &d.SourceMessageIDs, "lcm_describe of a message names the one after it, and lcm_expand_query with this summary reads them all")
		shorten(a, "parentIds", &d.ParentIDs, "lcm_expand_query with this summary reads them all")
		shorten(a, "childIds", &d.ChildIDs, "each of them is in lcm_describe of the others")
	}
	if d := a.FileDetail; d != nil {
		const most = 4000
		if text := d.ExplorationSummary; len(text) > most {
			d.ExplorationSummary = strings.ToValidUTF8(text[:most], "")
			a.Notes = append(a.Notes, fmt.Sprintf("explorationSummary has %d of %d bytes: content has it all", most, len(text)))
		}
	}
}

// trim cuts an answer of lcm_expand_query to the size that fits: first the citations,
// then the end of the evidence beside it, then its own.
func (s *Server) trim(a *recall.Answer) {
	fits := func() bool { return s.fits(a.Text(), newAskResult(*a)) }
	if n := len(a.Citations); n > 0 && !fits() {
		a.Notes = append(a.Notes, fmt.Sprintf("quotes were left out for want of room: lcm_describe shows each of the %d citedIds", n))
		a.Citations = nil
	}
	if fits() {
		return
	}
	a.Truncated, a.TruncatedBy = true, "maxTokens"
	a.Notes = append(a.Notes, "the answer was cut at its end for want of room: ask a narrower question")
	for _, text := range []*string{&a.Evidence, &a.Answer} {
		whole := *text
		most := sort.Search(len(whole), func(n int) bool {
			*text = strings.ToValidUTF8(whole[:n+1], "")
			return !fits()
		})
		*text = strings.ToValidUTF8(whole[:most], "")
	}
}
