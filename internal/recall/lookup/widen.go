package lookup

import (
	"context"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// littleMatches is how many matches are so few that all conversations are searched as
// well.
const littleMatches = 3

// Preferences of a ranking: a match of the current conversation comes before an
// equally good one of the project, and that before one from elsewhere.
const (
	preferScope   = 1.05
	preferCurrent = 1.1
)

// preferNear moves the hits of one ranked page that are closer to the question up
// past others that are no better.
func (q *query) preferNear(hits []store.Hit) {
	if q.search.Sort == store.ByRecency {
		return
	}
	prefer := func(h store.Hit) float64 {
		switch {
		case slices.Contains(q.current, h.Conversation):
			return preferCurrent
		case q.home != nil && q.home.Contains(h.Conversation):
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

// isPlain reports whether a pattern looks like plain words and not like a regular
// expression: one literal, or several words without operators.
func isPlain(pattern string) bool {
	pattern = strings.TrimPrefix(pattern, ignoreCase)
	if expression().MatchString(pattern) || strings.ContainsAny(pattern, `|^$\`) {
		return false
	}
	re, err := syntax.Parse(strings.TrimRight(pattern, "?!."), syntax.Perl) // the marks at the end of a question
	return err == nil && re.Op == syntax.OpLiteral || isName(pattern) || strings.Contains(strings.TrimSpace(pattern), " ")
}

// isName reports a pattern that is a name with dots, such as a file's.
func isName(pattern string) bool { return dottedName().MatchString(pattern) }

var dottedName = lazyregexp.New(`^[\pL\pN_-]+(\.[\pL\pN_-]+)+$`)

// ignoreCase begins an expression that matches in any case, as full text does.
const ignoreCase = "(?i)"

// asWords is the same question in full text.
func (q *query) asWords(r recall.GrepRequest) (*query, error) {
	words := *q
	words.re, words.notes = nil, slices.Clone(q.notes)
	r.Mode, r.Pattern = store.FullText, strings.TrimPrefix(r.Pattern, ignoreCase)
	if isName(r.Pattern) { // its words must stand together: store.go is not every "store"
		r.Pattern = `"` + r.Pattern + `"`
	}
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
	w.scope = recall.Scope{Kind: recall.ScopeAll, Except: q.scope.Except, OwnCalls: q.scope.OwnCalls}
	Narrow(&w.search, w.scope)
	return &w
}

// widen adds matches of other conversations where the scope of the question has
// little. Matches of the scope come first. Only the first page is widened.
//
// Guessed words do not count as found, nor does a question of which the scope lacks a word that
// carries it. If other conversations have the words of the question themselves, the guesses of
// the scope are not shown.
func (s *Service) widen(ctx context.Context, q *query, a recall.GrepAnswer) (recall.GrepAnswer, error) {
	if a.Total >= littleMatches && !a.Guessed && len(a.NotInRecord) == 0 {
		return a, nil
	}
	w := q.wide()
	w.search.Limit = 2 * q.limit
	lanes, err := s.search(ctx, w, places{})
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err != nil:
		note(&a.Notes, "other conversations could not be searched: "+err.Error())
		return a, nil
	}
	if len(a.NotInRecord) > 0 {
		absent := absence(w, lanes)
		if a.NotInRecord = absent.Words; len(absent.Words) > 0 {
			if absent.All {
				a = noMatch(a)
			}
			return a, nil
		}
	}
	var wide recall.GrepAnswer
	account(&wide, lanes)
	if a.Guessed && wide.Total > 0 && !wide.Guessed {
		a.Matches, a.Total, a.InSummaries, a.NextCursor, a.Notes = []recall.Match{}, 0, 0, "", slices.Clone(q.notes)
	}
	said := &recall.Widened{From: q.scope.String(), Home: q.scope, InScope: a.Total, Elsewhere: wide.Total - a.Total, AtLeast: a.TotalIsLowerBound || wide.TotalIsLowerBound}
	if said.Elsewhere <= 0 {
		if a.Total == 0 {
			s.empty(ctx, w, &a)
			note(&a.Notes, "all conversations were searched")
		}
		return a, nil
	}
	own := *q
	if a.Total > 0 {
		own.fill, w.fill = q.fill*2/3, q.fill/3
	}
	room := q.limit - min(q.limit, len(a.Matches))
	if room == 0 {
		a.Elsewhere = &recall.Elsewhere{Hits: said.Elsewhere, AtLeast: said.AtLeast, How: "ask again with allConversations: true"}
		return a, nil
	}
	beneath, err := s.foundBeneath(ctx, w, lanes, places{})
	if err != nil {
		return a, err
	}
	hits := merge(lanes, w, w.search.Limit, beneath)
	other, err := s.matches(ctx, w, w.outside(hits, room))
	if err != nil {
		return a, err
	}
	return s.addElsewhere(ctx, &own, w, a, wide, said, other)
}

// addElsewhere puts the matches of the scope and behind them those from elsewhere on
// one page.
func (s *Service) addElsewhere(ctx context.Context, own, w *query, a recall.GrepAnswer, wide recall.GrepAnswer, said *recall.Widened, other []recall.Match) (_ recall.GrepAnswer, err error) {
	a.Mode, a.Sort = w.search.Mode, w.search.Sort
	if a.Total == 0 {
		for _, n := range wide.Notes {
			note(&a.Notes, n)
		}
	} else {
		own.search.Limit, own.elsewhere = own.limit, true
		if a, err = s.page(ctx, own, places{}); err != nil {
			return a, err
		}
	}
	mine := len(a.Matches)
	a.Matches = append(a.Matches, other...)
	if own.expression {
		note(&a.Notes, wordsNote)
	}
	if n := said.Elsewhere - (len(a.Matches) - mine); n > 0 {
		note(&a.Notes, prose.AtLeast(n, said.AtLeast, "match", "matches")+" more elsewhere: allConversations: true finds them")
	}
	a.Total, a.Widened, a.Scope, a.NotInRecord = said.InScope, said, w.scope, nil // other conversations have the words
	return a, nil
}

// outside picks the first hits that lie outside the question's own scope.
func (q *query) outside(hits []store.Hit, most int) []store.Hit {
	hits = slices.DeleteFunc(hits, func(h store.Hit) bool { return q.home.Contains(h.Conversation) })
	return hits[:min(most, len(hits))]
}

// empty says where else to look when nothing was found. It is help, not the
// answer: a search that fails is left out.
func (s *Service) empty(ctx context.Context, q *query, a *recall.GrepAnswer) {
	if q.search.Mode == store.Regex && !q.readAsWords && strings.ContainsAny(strings.TrimSpace(q.search.Pattern), " ?") {
		note(&a.Notes, `a regex is matched exactly, case and all: mode "full_text" finds the words of a question, and (?i) ignores case`)
	}
	if q.re != nil && strings.ContainsAny(q.search.Pattern, "^$") && !strings.HasPrefix(q.search.Pattern, "(?m") {
		note(&a.Notes, "^ and $ are those of a message: begin the pattern with (?m) for lines")
	}
	if len(a.NotInRecord) > 0 && q.words != nil { // its other words are everywhere, and the question has all of them
		only := *q
		only.search.Pattern = "+" + strings.Join(a.NotInRecord, " +")
		q = &only
	} else if n, more := s.count(ctx, q, func(search *store.Search) { search.Everything, search.Except = true, q.scope.OwnCalls }); n > 0 && !q.search.Everything {
		note(&a.Notes, prose.AtLeast(n, more, "match", "matches")+" among the records that searches leave out (the current prompt, lcm's own output, hosts' bookkeeping): everything: true finds it")
	}
	if q.scope.Kind == recall.ScopeAll {
		return
	}
	if n, more := s.count(ctx, q, func(search *store.Search) { search.Conversations = nil }); n > 0 {
		a.Elsewhere = &recall.Elsewhere{Hits: n, AtLeast: more, How: "ask again with allConversations: true"}
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
