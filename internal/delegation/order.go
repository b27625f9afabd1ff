package delegation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/analysis"
)

// proseLeads reports whether prose comes before tool calls and results: for a
// question that does not ask for a command or its output.
func proseLeads(prompt string) bool {
	return questionWords().MatchString(prompt) && !toolWords().MatchString(prompt)
}

var (
	questionWords = lazyregexp.New(`(?i)\?\s*$|\b(why|what|who|whom|whose|which|when|where|how)\b`)
	toolWords     = lazyregexp.New(`(?i)\b(commands?|ran|run|invocations?|flags?|scripts?|outputs?|logs?|errors?|exit codes?|traces?|print(s|ed)?|start(ed)?|call(s|ed)?)\b`)
)

// aboutEqual is the share of a score that counts as equally good.
const aboutEqual = 0.9

// newerFirst puts, of the matches of a group that match about equally, the newer
// first: what was said last may take back the rest. The group is sorted.
func newerFirst(group []passage) {
	for from := 0; from < len(group) && group[from].match; {
		first, to := group[from], from+1
		for to < len(group) && group[to].score >= aboutEqual*first.score && group[to].kind() == first.kind() {
			to++
		}
		slices.SortStableFunc(group[from:to], func(x, y passage) int { return cmp.Compare(y.msg.Seq, x.msg.Seq) })
		from = to
	}
}

// newestPlace is where the newest message with all words of the query stands at
// the latest.
const newestPlace = 2

// liftNewest moves the newest spoken message that has all words of a query up to
// newestPlace: a value that replaced another one must not be left out because
// older messages have the words more often. The candidates are sorted by score.
func liftNewest(all []candidate, query string) {
	var words []*search.Query
	for _, w := range strings.Fields(query) {
		if q, err := search.ParseQuery(asWords(w)); err == nil && !analysis.IsStopWord(w) {
			words = append(words, q)
		}
	}
	if len(words) == 0 {
		return
	}
	newest := -1
	for i, c := range all {
		if !c.match || !spoken(c.msg) || newest >= 0 && !all[newest].msg.Body.Time.Before(c.msg.Body.Time) {
			continue
		}
		text := c.msg.Body.PlainText()
		if !slices.ContainsFunc(words, func(q *search.Query) bool { _, n := excerpt(q, text, len(text)); return n == 0 }) {
			newest = i
		}
	}
	if newest > newestPlace {
		c := all[newest]
		c.score = all[newestPlace].score
		copy(all[newestPlace+1:newest+1], all[newestPlace:newest])
		all[newestPlace] = c
	}
}
