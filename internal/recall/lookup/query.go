package lookup

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// query is a grep that was checked.
type query struct {
	search  store.Search // of one lane; Summaries is set for each
	kinds   string
	scope   recall.Scope
	limit   int
	context int
	compact bool
	fill    int
	brief   bool           // shows few matches of a question with absent words
	runes   int            // of a snippet
	re      *regexp.Regexp // of a pattern
	words   *search.Query  // of a question
	current []store.ConversationID
	digest  string // binds cursors to the question
	notes   []string
	// expression says that words replaces an expression that matched nothing.
	expression bool
	// readAsWords says that the pattern, an expression, was also read as words.
	readAsWords bool
	// elsewhere says that other conversations have the words that the scope does not have.
	elsewhere bool
	// home is the scope of the question where scope goes past it.
	home *recall.Scope
}

// check reads a request, and refuses one that cannot be answered.
func (s *Service) check(ctx context.Context, r recall.GrepRequest) (*query, error) {
	q := &query{kinds: r.Kinds, limit: r.Limit, context: r.Context, compact: r.Compact, fill: r.Fill, brief: r.OrWords, runes: cmp.Or(r.Snippet, snippetRunes)}
	for _, step := range []func(recall.GrepRequest) error{q.bounds, q.kind, q.pattern, q.order} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	var err error
	if q.search.Since, q.search.Before, err = Span(r.Since, r.Before, s.clock()); err != nil {
		return nil, err
	}
	if q.scope, err = s.scopes.scope(ctx, r.Where); err != nil {
		return nil, err
	}
	q.search.Tool, q.search.Everything, q.current = r.Tool, r.Everything, current(r.Where)
	Narrow(&q.search, q.scope)
	if r.SummaryID != "" {
		if q.search.Only, err = s.messagesBeneath(ctx, r.SummaryID); err != nil {
			return nil, err
		}
		// A summary of a fork covers messages of its origin.
		if q.search.Conversations, err = s.scopes.family(ctx, r.ConversationID); err != nil {
			return nil, err
		}
	}
	q.search.Limit, q.search.CountTo = q.limit, max(s.countTo, q.limit+1)
	current := q.current
	if q.scope.Kind != recall.ScopeCurrent {
		current = nil // which sessions are going on may change between two pages
	}
	q.digest = question(s.store, "grep", r.Pattern, q.search.Mode, q.search.Sort, q.kinds, r.ConversationID, r.AllConversations, r.CurrentOnly, current,
		r.Projects, r.SummaryID, r.Since, r.Before, r.Role, r.Tool, r.Everything)
	return q, nil
}

func (q *query) bounds(r recall.GrepRequest) error {
	if q.limit == 0 {
		q.limit = recall.DefaultLimit
	}
	if q.limit < 1 || q.limit > recall.MaxLimit {
		return refuse("page through more with nextCursor", "limit is %d: it must be from 1 to %d", r.Limit, recall.MaxLimit)
	}
	if r.Context < 0 || r.Context > recall.MaxContext {
		return refuse("lcm_describe of a message shows its neighbours as well", "context is %d: it must be from 0 to %d", r.Context, recall.MaxContext)
	}
	return nil
}

// kind settles which kinds of node are searched.
func (q *query) kind(r recall.GrepRequest) error {
	if q.kinds == "" {
		q.kinds = recall.InBoth
	}
	if !slices.Contains([]string{recall.InMessages, recall.InSummaries, recall.InBoth}, q.kinds) {
		return refuse("", "scope is %q: it must be messages, summaries or both", prose.Clip(q.kinds, 40))
	}
	if r.Role != "" {
		if !r.Role.Valid() {
			return refuse("", "role is %q: it must be user, assistant, system or tool", prose.Clip(string(r.Role), 40))
		}
		q.search.Roles = []llms.Role{r.Role}
	}
	if (r.Role != "" || r.Tool != "") && q.kinds == recall.InSummaries {
		return refuse("leave it out, or search messages", "role and tool are those of messages: no summary has one")
	}
	if (r.Role != "" || r.Tool != "") && q.kinds == recall.InBoth {
		q.kinds = recall.InMessages
		q.notes = append(q.notes, "role and tool are those of messages: summaries were not searched")
	}
	return nil
}

// pattern reads the pattern in its mode.
func (q *query) pattern(r recall.GrepRequest) error {
	q.search.Mode, q.search.Pattern = r.Mode, r.Pattern
	if r.Mode == "" {
		q.search.Mode = store.Regex
	}
	if strings.TrimSpace(r.Pattern) == "" {
		return refuse(`give a word, a question with mode "full_text", or a regular expression`, "the pattern is empty")
	}
	switch q.search.Mode {
	case store.Regex:
		p, err := search.ParsePattern(r.Pattern)
		if err != nil {
			return refuse(`the syntax is RE2; escape characters that are meant literally (\( \. \[), or use mode "full_text"`, "%w", err)
		}
		q.re = p.Regexp()
	case store.FullText:
		words, err := search.ParseQuery(r.Pattern)
		if errors.Is(err, search.ErrNoWords) {
			return refuse(`ask for a word that must occur, or use mode "regex" for punctuation`, "the pattern %q has no words to look for", prose.Clip(r.Pattern, 60))
		}
		if err != nil {
			return refuse("search for the few words that matter", "the pattern cannot be searched for: %w", err)
		}
		q.words = words
		if expression().MatchString(r.Pattern) {
			q.notes = append(q.notes, `the pattern looks like a regular expression, and full_text reads it as words: mode "regex" would match it`)
		}
	default:
		return refuse("", "mode is %q: it must be regex or full_text", prose.Clip(string(r.Mode), 40))
	}
	return nil
}

// expression recognises syntax that no question has.
var expression = lazyregexp.New(`\.\*|\.\+|\\[dwsb.(]|\[[^\]]+\][*+]|^\^|\(\?`)

// order chooses how matches are sorted.
func (q *query) order(r recall.GrepRequest) error {
	q.search.Sort = r.Sort
	if !slices.Contains([]store.Sort{"", store.ByRecency, store.ByRelevance}, r.Sort) {
		return refuse("", "sort is %q: it must be recency or relevance", prose.Clip(string(r.Sort), 40))
	}
	switch {
	case q.search.Mode == store.Regex && r.OrWords && r.Mode == "" && r.Sort == "" && isPlain(r.Pattern):
		q.search.Sort = store.ByRelevance // see exactRanked
	case q.search.Mode == store.Regex:
		if r.Sort != "" && r.Sort != store.ByRecency {
			q.notes = append(q.notes, "matches of a regex have no rank: they are sorted by recency")
		}
		q.search.Sort = store.ByRecency
	case r.Sort == "":
		q.search.Sort = store.ByRelevance
	}
	return nil
}
