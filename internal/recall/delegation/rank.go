package delegation

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// evidenceHits is how many messages of a search are considered.
const evidenceHits = 200

// candidate is a message that may hold the answer.
type candidate struct {
	msg   store.Message
	score float64
	// match says that the message has words that were searched for; others
	// stand around a match.
	match bool
	// literal says that it has the query as it was typed.
	literal bool
	earlier string // labels an answer from the record
}

// ranking is the outcome of a search: the score of each message, 1 for the
// best, and whether it matches by itself.
type ranking map[store.MessageID]struct {
	score   float64
	match   bool
	earlier string
}

// search ranks the messages of the plan's scope for a text. A text without
// words finds nothing.
func (d *Delegator) search(ctx context.Context, p *plan, text string) (ranking, error) {
	request := store.Search{
		Mode: store.FullText, Pattern: text, Since: p.time.from, Before: p.time.to, Sort: store.ByRelevance, Limit: evidenceHits,
	}
	lookup.Narrow(&request, p.scope)
	found, err := d.config.Reranker.Search(ctx, d.config.Store, request)
	if errors.Is(err, search.ErrNoWords) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := ranking{}
	best := 1e-9
	for _, h := range found.Hits {
		best = max(best, h.Score)
	}
	// Search puts texts with an identifier of the query first, regardless of their
	// scores: a score here is never below that of a later hit.
	least := 0.0
	for _, h := range slices.Backward(found.Hits) {
		least = max(least, h.Score/best)
		hit := out[h.Message]
		hit.score, hit.match, hit.earlier = least, !h.Beside && !h.Meaning, h.Earlier
		out[h.Message] = hit
	}
	return out, nil
}

// promptWorth is how much the words of the prompt count among the messages that
// the query finds.
const promptWorth = 0.3

// rank returns the messages that may hold the answer, the best first, in the order of
// search. The prompt decides between matches of the query; without such matches, those of
// the prompt count.
func (d *Delegator) rank(ctx context.Context, r request, p *plan) ([]candidate, error) {
	var byQuery ranking
	var err error
	if r.Query != "" && !repeats(r.Query, r.Prompt) {
		if byQuery, err = d.search(ctx, p, r.Query); err != nil {
			return nil, err
		}
	}
	byPrompt, err := d.rankPrompt(ctx, r, p)
	if err != nil {
		return nil, err
	}
	first := byQuery
	if len(first) == 0 {
		first = byPrompt
	}
	ids, err := d.inside(ctx, slices.Sorted(maps.Keys(first)), p)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	score := func(m store.Message) float64 {
		prompt := byPrompt[m.ID].score * weight(m) * speaker(m, r.Prompt) * length(m)
		if len(byQuery) == 0 {
			return prompt
		}
		return byQuery[m.ID].score + promptWorth*prompt
	}
	var all []candidate
	for m, err := range d.config.Store.Messages(ctx, store.MessageQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{msg: m, score: score(m), match: first[m.ID].match, earlier: first[m.ID].earlier})
	}
	sortByScore(all)
	if p.within != nil || len(first) == 0 { // the messages around these may lie outside
		return all, nil
	}
	share(all)
	if len(byQuery) > 0 {
		if err := d.literalFirst(ctx, r.Query, all); err != nil {
			return nil, err
		}
	}
	sortByScore(all)
	liftNewest(all, cmp.Or(keywords(asWords(r.Query)), r.Query))
	return all, nil
}

// repeats reports that a prompt has all words of a query: the query adds nothing to it.
func repeats(query, prompt string) bool {
	asked := analysis.PlainWords([]byte(prompt))
	return !slices.ContainsFunc(analysis.PlainWords([]byte(query)), func(w string) bool { return !slices.Contains(asked, w) })
}

// sortByScore puts the best first, and of equals the newer.
func sortByScore(all []candidate) {
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.msg.ID, x.msg.ID))
	})
}

// rankPrompt searches for the question, and again for its keywords. A message counts
// for both.
func (d *Delegator) rankPrompt(ctx context.Context, r request, p *plan) (ranking, error) {
	question := asWords(r.Prompt)
	sum := ranking{}
	for _, text := range []string{question, keywords(question)} {
		if text == "" {
			continue
		}
		found, err := d.search(ctx, p, text)
		if err != nil {
			return nil, err
		}
		for id, h := range found {
			s := sum[id]
			s.score, s.match, s.earlier = s.score+h.score/2, s.match || h.match, cmp.Or(s.earlier, h.earlier)
			sum[id] = s
		}
	}
	return sum, nil
}

// How far apart messages share scores, and the share of a score that goes to the spoken
// messages before and after it across calls and results, and from a tool's output to the
// next spoken message.
const (
	aroundReach  = 10
	nextShare    = 0.25
	printedShare = 0.2
)

// spoken reports a message that a person or a model wrote, without tool calls.
func spoken(m store.Message) bool {
	return weight(m) == 1 && !m.Flags.Bookkeeping(m.Body.Role) && m.Flags&store.FlagHidden == 0
}

// share adds a share of the scores nearby to spoken messages: people and agents stay on
// a subject and answer without repeating the question, and they discuss the output of a
// tool right after it. Search has done so for messages that are next to each other.
// Shares never lift a message above the best one that they come from.
func share(all []candidate) {
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.msg.Conversation, y.msg.Conversation), cmp.Compare(x.msg.Seq, y.msg.Seq))
	})
	extra, most := make([]float64, len(all)), make([]float64, len(all))
	give := func(from, to int, part float64) {
		extra[to] += part * all[from].score
		most[to] = max(most[to], 0.99*all[from].score)
	}
	last := -1        // the spoken message before
	var printed []int // the outputs since then
	for i, c := range all {
		if !spoken(c.msg) {
			printed = append(printed, i)
			continue
		}
		gap := func(j int) int64 {
			if all[j].msg.Conversation != c.msg.Conversation {
				return aroundReach + 1
			}
			return c.msg.Seq - all[j].msg.Seq
		}
		if last >= 0 && gap(last) > 1 && gap(last) <= aroundReach {
			give(last, i, nextShare)
			give(i, last, nextShare)
		}
		for _, j := range printed {
			if gap(j) <= aroundReach {
				give(j, i, printedShare)
			}
		}
		last, printed = i, printed[:0]
	}
	for i := range all {
		all[i].score = max(all[i].score, min(all[i].score+extra[i], most[i]))
	}
}

// literalFirst puts the messages that have the query as it was typed before all
// others.
func (d *Delegator) literalFirst(ctx context.Context, query string, all []candidate) error {
	if query == "" {
		return nil
	}
	literal := literalOf(query)
	least := math.Inf(1)
	for i, c := range all {
		text := c.msg.Body.SearchText()
		if lookup.MovedOut(c.msg.Body.Parts) {
			whole, err := d.config.Store.Text(ctx, store.ID{Message: c.msg.ID})
			if err != nil {
				return err
			}
			text = string(whole[:min(len(whole), maxText)])
		}
		if all[i].literal = c.match && literal.MatchString(text); all[i].literal {
			least = min(least, c.score)
		}
	}
	for i := range all {
		if !all[i].literal {
			all[i].score = min(all[i].score, 0.99*least)
		}
	}
	return nil
}

// literalOf finds a query as it was typed, case aside.
func literalOf(query string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(strings.ToValidUTF8(query, "\uFFFD")))
}

// inside keeps the messages beneath the summaries that the question names. Where search
// finds no message there, it returns the first ones that the summaries cover.
func (d *Delegator) inside(ctx context.Context, found []store.MessageID, p *plan) ([]store.MessageID, error) {
	if p.within == nil && len(found) > 0 {
		return found, nil
	}
	var kept []store.MessageID
	for _, id := range found {
		ok, err := beneath(ctx, d.config.Store, store.ID{Message: id}, p.within)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, id)
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	var ids []store.SummaryID
	for _, b := range p.buckets {
		ids = append(ids, b.summaries...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ids = ids[:min(len(ids), maxSeeds)]
	p.opened = ids
	first, err := d.config.Recall.Expand(ctx, recall.ExpandRequest{
		SummaryIDs: ids, Where: recall.Where{AllConversations: true}, TokenCap: recall.DefaultMaxTokens,
	})
	for _, piece := range first.Pieces {
		if piece.ID.Message != 0 {
			kept = append(kept, piece.ID.Message)
		}
	}
	return kept, err
}

// weight prefers spoken messages to the output of tools, which has many of a
// question's words by chance.
func weight(m store.Message) float64 {
	switch {
	case m.Body.Role == llms.RoleTool || len(m.Body.ToolResults()) > 0:
		return 0.5
	case len(m.Body.ToolCalls()) > 0:
		return 0.7
	}
	return 1
}

// length prefers, a little, messages that say more: search ranks the shortest
// ones highest, which hold the fewest facts.
func length(m store.Message) float64 {
	const long = 200 // tokens
	return math.Pow(float64(min(m.Tokens, long)+8)/(long+8), 0.1)
}

// namedSpeaker is how much more a message counts whose speaker the question
// names.
const namedSpeaker = 1.3

// speaker prefers messages of a person whom the question names: imported chats have
// the speaker's name and a colon before the words.
func speaker(m store.Message, question string) float64 {
	name, _, ok := strings.Cut(m.Body.PlainText(), ":")
	if ok && len(name) < 40 && !strings.ContainsAny(name, " \t\n") && namesWord(question, name) {
		return namedSpeaker
	}
	return 1
}

// namesWord reports whether a text has a word as it is written, case aside.
func namesWord(text, word string) bool {
	return word != "" && slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), func(w string) bool { return strings.EqualFold(w, word) })
}

//go:embed common.txt
var commonText string

// commonWords are words that English texts of every kind have. In a record of
// some hundred messages many of them are rare by chance, so that ranking takes
// them for significant.
var commonWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(commonText) {
		words[w] = true
	}
	return words
})

// asWords writes a question so that search reads no operators in it: a question
// about "tar -x", or whether A OR B was chosen, excludes nothing.
func asWords(question string) string {
	words := strings.Fields(question)
	for i, w := range words {
		switch w {
		case "AND", "OR", "NOT":
			words[i] = strings.ToLower(w)
		}
		if len(w) > 1 && (w[0] == '-' || w[0] == '+') && w[1] != w[0] {
			words[i] = w[1:]
		}
	}
	return strings.Join(words, " ")
}

// keywords returns the words of a question that are not common, or nothing where all or
// none are. A question with a quotation has none: it is searched for as a whole.
func keywords(question string) string {
	if strings.ContainsRune(question, '"') {
		return ""
	}
	words := strings.Fields(question)
	var kept []string
	for _, w := range words {
		bare := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if bare != "" && !commonWords()[strings.ToLower(bare)] {
			kept = append(kept, strings.Trim(w, "?,.!;:()"))
		}
	}
	if len(kept) == len(words) {
		return ""
	}
	return asWords(strings.Join(kept, " ")) // (-x) has lost its brackets
}
