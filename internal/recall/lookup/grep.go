package lookup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// Grep finds the messages and summaries that match a pattern or a question.
//
// Messages and summaries are searched apart. By recency the two are merged by
// time; that of a summary is the time of the newest message it covers. By relevance
// messages come first; two of them are followed by at most one summary that matches better
// than the best message. A summary of which a message was found takes no place: it is named
// with that message (AlsoIn).
func (s *Service) Grep(ctx context.Context, r recall.GrepRequest) (recall.GrepAnswer, error) {
	ctx, span := tracing.Start(ctx, "recall.grep")
	a, err := s.grep(ctx, r)
	if err == nil {
		a.Said, err = s.said(ctx, r, a)
	}
	span.Int("matches", len(a.Matches))
	span.Int("total", a.Total)
	span.End(err)
	// When the deadline passes, the store may report unread records as not found.
	if errors.Is(err, context.DeadlineExceeded) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = refuse("narrow it with conversationId or since, use rarer words, or allow more time", "the search did not finish: %w", context.DeadlineExceeded)
	}
	return a, err
}

func (s *Service) grep(ctx context.Context, r recall.GrepRequest) (recall.GrepAnswer, error) {
	if r.SummaryID != "" {
		if r.Kinds == recall.InSummaries {
			return recall.GrepAnswer{}, refuse("leave scope out, or read the summary with lcm_describe", "summaryId searches the messages beneath a summary, not summaries")
		}
		conversation, err := s.reachable(ctx, r.SummaryID, r.Where)
		if err != nil {
			return recall.GrepAnswer{}, err
		}
		r.ConversationID, r.Kinds = conversation, recall.InMessages
	}
	q, err := s.check(ctx, r)
	if err != nil && r.OrWords && r.Mode != store.FullText && isPlain(r.Pattern) && strings.TrimSpace(r.Pattern) != "" {
		// Words that are no valid expression, like "C++ build".
		r.Mode = store.FullText
		q, err = s.check(ctx, r)
	}
	if err != nil {
		return recall.GrepAnswer{}, err
	}
	at, err := unseal[places](r.Cursor, q.digest)
	if err != nil {
		return recall.GrepAnswer{}, err
	}
	if at.Words && q.search.Mode == store.Regex {
		if q, err = q.asWords(r); err != nil {
			return recall.GrepAnswer{}, err
		}
	}
	a, err := s.page(ctx, q, at)
	if err != nil || at.Begun {
		return a, err
	}
	readings := []reading{{q, a}}
	asked, err := s.onlyAskings(ctx, q, a)
	if err != nil {
		return a, err
	}
	if r.OrWords && (a.Total == 0 || asked) && q.re != nil && isPlain(r.Pattern) {
		if readings, err = s.alsoAsWords(ctx, r, readings[0]); err != nil {
			return a, err
		}
		a = readings[len(readings)-1].answer
	}
	if r.Widens() && q.scope.Kind != recall.ScopeAll && !a.Unfinished {
		for _, as := range readings {
			if a, err = s.widen(ctx, as.query, as.answer); err != nil || len(a.Matches) > 0 {
				break
			}
		}
		return a, err
	}
	if a.Total == 0 && !a.Unfinished {
		s.empty(ctx, q, &a)
	}
	return a, nil
}

// reading is a way to read a pattern, with its answer in the scope of the question.
type reading struct {
	query  *query
	answer recall.GrepAnswer
}

// alsoAsWords adds the reading of a pattern as words to its exact one, which
// matched nothing. Words of the scope itself replace the exact reading if the scope has all that
// carry the question: other conversations may have the pattern exactly, but the scope comes first.
func (s *Service) alsoAsWords(ctx context.Context, r recall.GrepRequest, exact reading) ([]reading, error) {
	q, err := exact.query.asWords(r)
	if err != nil {
		return []reading{exact}, nil // the pattern has no words
	}
	words, err := s.page(ctx, q, places{})
	if err != nil {
		return nil, err
	}
	exact.query.readAsWords = true
	if words.Total == 0 {
		exact.answer.NotInRecord = words.NotInRecord
		for _, n := range words.Notes { // other words that were tried
			note(&exact.answer.Notes, n)
		}
		return []reading{exact, {q, exact.answer}}, nil
	}
	if exact.answer.Total > 0 {
		note(&words.Notes, askedNote)
		return []reading{{q, words}}, nil
	}
	note(&words.Notes, wordsNote)
	if words.Guessed || len(words.NotInRecord) > 0 {
		return []reading{exact, {q, words}}, nil
	}
	return []reading{{q, words}}, nil
}

// wordsNote says that a pattern was read as words.
const wordsNote = "no exact match: read as words"

// askedNote says that a pattern was read as words because only askings have it.
const askedNote = "only earlier askings match exactly: read as words"

// page searches and shows one page.
func (s *Service) page(ctx context.Context, q *query, at places) (recall.GrepAnswer, error) {
	lanes, err := s.search(ctx, q, at)
	if err != nil {
		return recall.GrepAnswer{}, err
	}
	beneath, err := s.foundBeneath(ctx, q, lanes, at)
	if err != nil {
		return recall.GrepAnswer{}, err
	}
	shown := *q.showing(lanes)
	absent := search.Absence{}
	if !at.Begun || at.Absent {
		absent = absence(q, lanes)
		at.Absent = len(absent.Words) > 0 && !q.elsewhere
	}
	if len(absent.Words) > 0 && q.brief && !at.Begun {
		shown.limit, shown.fill = min(q.limit, WithOtherWords), 0
	}
	picked := merge(lanes, q, shown.limit, beneath)
	q.preferNear(picked)
	at.Words = q.words != nil && q.expression
	a := recall.GrepAnswer{
		Pattern: q.search.Pattern, Mode: q.search.Mode, Sort: q.search.Sort, Kinds: q.kinds, Scope: q.scope, Notes: slices.Clone(q.notes),
		Matches: []recall.Match{}, NextCursor: next(lanes, q.digest, at), NotInRecord: absent.Words,
	}
	account(&a, lanes)
	if absent.All {
		return noMatch(a), nil
	}
	if a.Matches, err = s.matches(ctx, &shown, picked); err != nil {
		return recall.GrepAnswer{}, err
	}
	nameSummaries(a.Matches, lanes, beneath)
	if q.search.Sort == store.ByRecency {
		// The store goes by when messages were stored; messages imported later
		// may be older.
		slices.SortStableFunc(a.Matches, func(x, y recall.Match) int { return y.When().Compare(x.When()) })
	}
	if slices.ContainsFunc(a.Matches, func(m recall.Match) bool { return m.Damaged }) {
		note(&a.Notes, "a match that is called DAMAGED does not match the SHA-256 taken when it arrived: its text may have changed")
	}
	if a.NextCursor != "" && !q.compact { // a compact answer has no room to explain its cursor
		note(&a.Notes, "there is more: ask again with cursor set to nextCursor")
	}
	return a, nil
}

// account adds up the counts and notes of the lanes.
func account(a *recall.GrepAnswer, lanes []*lane) {
	a.Tier, a.Guessed = "index", true
	for _, l := range lanes {
		a.Total += l.place.Total
		a.Guessed = a.Guessed && (l.found.Guessed || l.place.Total == 0)
		if l.summaries {
			a.InSummaries += l.place.Total
		}
		a.TotalIsLowerBound = a.TotalIsLowerBound || l.place.AtLeast
		a.Unfinished = a.Unfinished || l.found.Unfinished
		if l.found.Tier == "scan" {
			a.Tier = "scan"
		}
		for _, n := range l.found.Notes {
			note(&a.Notes, n)
		}
	}
	a.Guessed = a.Guessed && a.Total > 0
	if a.Unfinished {
		a.TotalIsLowerBound = true
		note(&a.Notes, "the search was not finished: narrow it with conversationId, since or a pattern with a literal word in it, or allow more time")
	}
}

// nameSummaries names the summaries that match with the best of their messages.
func nameSummaries(matches []recall.Match, lanes []*lane, beneath map[store.SummaryID]store.MessageID) {
	if len(beneath) == 0 {
		return
	}
	for _, h := range lanes[1].found.Hits {
		best, ok := beneath[h.Summary]
		at := slices.IndexFunc(matches, func(m recall.Match) bool { return m.ID == store.ID{Message: best} })
		if ok && at >= 0 && !h.Beside {
			matches[at].AlsoIn = append(matches[at].AlsoIn, h.Summary)
		}
	}
}

// note adds a note that is not there yet.
func note(to *[]string, text string) {
	if text != "" && !slices.Contains(*to, text) {
		*to = append(*to, text)
	}
}
