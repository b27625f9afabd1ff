package recall

import (
	"context"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/store"
)

// Constants of widening.
const (
	// littleMatches is how many matches are so few that all conversations are
	// searched as well.
	littleMatches = 3
	// clearlyBetter is how much better than the best match of the scope one
	// from elsewhere must be to be shown although the scope has matches.
	clearlyBetter = 1.15
)

// Preferences of a ranking: a match of the current conversation comes before an
// equally good one of the project, and that before one from elsewhere.
const (
	preferScope   = 1.05
	preferCurrent = 1.1
)

// first moves the hits of one ranked page that are closer to the question up
// past others that are no better.
func (q *query) first(hits []store.Hit) {
	if q.search.Sort == store.ByRecency {
		return
	}
	prefer := func(h store.Hit) float64 {
		switch {
		case slices.Contains(q.current, h.Conversation):
			return preferCurrent
		case q.home != nil && q.home.holds(h.Conversation):
			return preferScope
		}
		return 1
	}
	ahead := func(a, b store.Hit) bool {
		pa, pb := prefer(a), prefer(b)
		return a.IsSummary() == b.IsSummary() && pa > pb && a.Score*pa >= b.Score*pb // scores compare within one kind
	}
	for i := range hits {
		for j := i; j > 0 && ahead(hits[j], hits[j-1]); j-- {
			hits[j], hits[j-1] = hits[j-1], hits[j]
		}
	}
}

// isPlain reports whether a pattern has no operators: as a regular expression
// it matches just itself.
func isPlain(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 || looksLikeQuestion(pattern)
}

// looksLikeQuestion recognises words that end in a question mark, which an
// expression reads as an operator.
func looksLikeQuestion(pattern string) bool {
	body, ok := strings.CutSuffix(strings.TrimSpace(pattern), "?")
	return ok && strings.Contains(body, " ") && !strings.ContainsAny(body, `\.+*?()[]{}|^$`)
}

// asWords is the same question in full text.
func (q *query) asWords(r GrepRequest) (*query, error) {
	words := *q
	words.re, words.notes = nil, slices.Clone(q.notes)
	r.Mode = store.FullText
	if err := words.pattern(r); err != nil {
		return nil, err
	}
	words.expression = true
	return &words, words.order(r)
}

// wide is the same question asked of all conversations.
func (q *query) wide() *query {
	w := *q
	home := q.scope
	w.home, w.notes = &home, slices.Clone(q.notes)
	w.scope = Scope{Kind: ScopeAll, Except: q.scope.Except}
	w.scope.Narrow(&w.search)
	return &w
}

// widen answers from all conversations where the scope of the question has
// little, or where a ranked search finds a clearly better match elsewhere.
func (s *Service) widen(ctx context.Context, q *query, a GrepAnswer) (GrepAnswer, error) {
	w := q.wide()
	little := a.Total < littleMatches
	if !little && q.search.Sort == store.ByRecency {
		return a, nil
	}
	lanes, err := s.search(ctx, w, places{})
	if err != nil {
		return a, nil // the scope's own answer stands
	}
	if !little && !w.betterElsewhere(lanes) {
		return a, nil
	}
	elsewhere := &Widened{From: q.scope.String(), InScope: a.Total, AtLeast: a.TotalIsLowerBound}
	for _, l := range lanes {
		elsewhere.Elsewhere += l.place.Total
		elsewhere.AtLeast = elsewhere.AtLeast || l.place.AtLeast
	}
	elsewhere.Elsewhere -= a.Total
	if elsewhere.Elsewhere <= 0 {
		if a.Total == 0 {
			s.empty(ctx, w, &a)
		}
		return a, nil
	}
	out, err := s.page(ctx, w, places{Wide: true})
	if err != nil {
		return a, nil
	}
	if q.expression {
		out.note(wordsNote)
	}
	out.Widened = elsewhere
	return out, nil
}

// betterElsewhere reports that the best match of a ranked search lies outside
// the question's own scope, and is clearly better than any inside.
func (q *query) betterElsewhere(lanes []*lane) bool {
	var inside, outside float64
	for _, l := range lanes {
		if l.summaries {
			continue
		}
		for _, h := range l.found.Hits {
			if q.home.holds(h.Conversation) {
				inside = max(inside, h.Score)
			} else {
				outside = max(outside, h.Score)
			}
		}
	}
	return outside > inside*clearlyBetter
}

// empty says where else to look when nothing was found. It is help, not the
// answer: a search that fails is left out.
func (s *Service) empty(ctx context.Context, q *query, a *GrepAnswer) {
	if q.search.Mode == store.Regex && strings.ContainsAny(strings.TrimSpace(q.search.Pattern), " ?") {
		a.note(`a regex is matched exactly, case and all: mode "full_text" finds the words of a question, and (?i) ignores case`)
	}
	if n, more := s.count(ctx, q, func(search *store.Search) { search.Everything, search.Except = true, nil }); n > 0 && !q.search.Everything {
		a.note(atLeast(n, more) + " among what is left out otherwise (the current prompt, lcm's own output, hosts' bookkeeping): everything: true finds it")
	}
	if q.scope.Kind == ScopeAll {
		return
	}
	if n, more := s.count(ctx, q, func(search *store.Search) { search.Conversations = nil }); n > 0 {
		a.Elsewhere = &Elsewhere{Hits: n, AtLeast: more, How: "ask again with allConversations: true"}
	}
}

// count counts the matches of a search that differs from the question's.
func (s *Service) count(ctx context.Context, q *query, change func(*store.Search)) (n int, more bool) {
	other := *q
	other.search.Limit = 1
	change(&other.search)
	lanes, err := s.search(ctx, &other, places{})
	if err != nil {
		return 0, false
	}
	for _, l := range lanes {
		n += l.place.Total
		more = more || l.place.AtLeast
	}
	return n, more
}

func atLeast(n int, more bool) string {
	text := plural(n, "match", "matches")
	if more {
		return "at least " + text
	}
	return text
}
