package lookup

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Bounds of what the user said about a question.
const (
	saidPrompts   = 2 // prompts with most of its words
	saidSessions  = 2 // sessions of the first matches, of which saidTurns later turns are shown
	saidTurns     = 2
	laterReach    = 400  // messages after a match that are read
	laterHits     = 60   // matches of a session that are looked at
	sameFiles     = 1.5  // factor for a turn that changed a file that the turn of the first match changed
	promptWidth   = 90   // characters of a prompt
	replyWidth    = 110  // characters of a reply
	leastQuestion = 3    // words of a question: fewer are keywords
	leastSaid     = 0.34 // share of the score of the best prompt
)

// turn is a prompt, the last words of the agent that answered it, and what was done between.
type turn struct {
	prompt, reply store.Message
	files         map[string]bool // that it changed
	score         float64         // of the best match in it
}

// Said returns what the user said about a question, the newest first, each with the last words of
// the agent that followed: the prompts with most words of the question, and of the sessions of
// the first matches the later turns that are most about it, by their prompts or because they changed
// the same files. A reader who sees them with their dates need not be told which statement still holds.
// The search gives the question and where to look.
func Said(ctx context.Context, from Store, of store.Search, firsts []store.Message) ([]recall.Turn, error) {
	words, err := search.ParseQuery(of.Pattern)
	if err != nil || len(strings.Fields(of.Pattern)) < leastQuestion {
		return nil, nil // no words, too many, or keywords
	}
	of.Mode, of.Sort, of.CountTo, of.After = store.FullText, store.ByRelevance, 0, store.Cursor{}
	turns, err := laterTurns(ctx, from, of, firsts)
	if err != nil {
		return nil, err
	}
	said, err := prompts(ctx, from, of)
	if err != nil {
		return nil, err
	}
	for _, m := range said {
		if !slices.ContainsFunc(turns, func(t turn) bool { return t.prompt.ID == m.ID }) {
			list, err := turnsAfter(ctx, from, m.Conversation, m.Seq-1, 1)
			if err != nil {
				return nil, err
			}
			turns = append(turns, list...)
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return b.prompt.Body.Time.Compare(a.prompt.Body.Time) })
	turns = slices.CompactFunc(turns, func(a, b turn) bool { // sessions that go on from others copy messages
		return a.prompt.Native != "" && a.prompt.Native == b.prompt.Native || a.prompt.ID == b.prompt.ID
	})
	q := query{words: words}
	var out []recall.Turn
	for _, t := range turns {
		shown := recall.Turn{Prompt: q.neighbour(t.prompt, promptWidth)}
		if t.reply.ID != 0 {
			reply := q.neighbour(t.reply, replyWidth)
			shown.Reply = &reply
		}
		out = append(out, shown)
	}
	return out, nil
}

// said returns what the user said about the question of a first page.
func (s *Service) said(ctx context.Context, r recall.GrepRequest, a recall.GrepAnswer) ([]recall.Turn, error) {
	narrowed := r.NoSaid || r.Cursor != "" || r.Everything || r.Role != "" || r.Tool != "" || r.SummaryID != "" || r.Kinds == recall.InSummaries
	if a.Mode != store.FullText || a.Sort != store.ByRelevance || narrowed || len(a.NotInRecord) > 0 {
		return nil, nil
	}
	q := store.MessageQuery{NoRaw: true}
	for _, m := range a.Matches[:min(len(a.Matches), 2*saidSessions)] {
		if m.ID.Message != 0 {
			q.IDs = append(q.IDs, m.ID.Message)
		}
	}
	if len(q.IDs) == 0 {
		return nil, nil
	}
	var firsts []store.Message
	for m, err := range s.store.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		firsts = append(firsts, m)
	}
	of := store.Search{Pattern: r.Pattern}
	var err error
	if of.Since, of.Before, err = Span(r.Since, r.Before, s.clock()); err != nil {
		return nil, err
	}
	Narrow(&of, a.Scope)
	said, err := Said(ctx, s.store, of, firsts)
	shown := func(n recall.Neighbour) bool {
		return slices.ContainsFunc(a.Matches, func(m recall.Match) bool { return m.ID.Message == n.ID })
	}
	return slices.DeleteFunc(said, func(t recall.Turn) bool { return shown(t.Prompt) && (t.Reply == nil || shown(*t.Reply)) }), err
}

// prompts returns the prompts with most words of the question.
func prompts(ctx context.Context, from Store, of store.Search) ([]store.Message, error) {
	of.Roles, of.Limit = []llms.Role{llms.RoleUser}, 4*saidPrompts
	found, err := find(ctx, from, of)
	var ids []store.MessageID
	for _, h := range found {
		if h.Score >= leastSaid*found[0].Score {
			ids = append(ids, h.Message)
		}
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var out []store.Message
	for m, err := range from.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if isPrompt(m) && len(out) < saidPrompts {
			out = append(out, m)
		}
	}
	return out, nil
}

// find returns the messages that have words of the question.
func find(ctx context.Context, from Store, of store.Search) ([]store.Hit, error) {
	found, err := from.Search(ctx, of)
	if errors.Is(err, search.ErrNoWords) {
		return nil, nil
	}
	return slices.DeleteFunc(found.Hits, func(h store.Hit) bool { return h.Beside }), err
}

// laterTurns returns the turns after the first matches, in their sessions, that are most about
// the question.
func laterTurns(ctx context.Context, from Store, of store.Search, firsts []store.Message) ([]turn, error) {
	read := exchanges{store: from}
	var files map[string]bool
	var out []turn
	seen := map[store.ConversationID]bool{}
	for _, first := range firsts {
		if seen[first.Conversation] || len(seen) == saidSessions {
			continue
		}
		seen[first.Conversation] = true
		e, err := read.of(ctx, first)
		if err != nil {
			return nil, err
		}
		after := first.Seq
		if files == nil {
			files = changed(e.messages)
		} else {
			after = e.messages[0].Seq - 1
		}
		turns, err := turnsAfter(ctx, from, first.Conversation, after, 0)
		if err != nil {
			return nil, err
		}
		if len(turns) > 0 && turns[0].prompt.Seq <= first.Seq && !overlaps(turns[0].files, files) {
			turns = turns[1:] // its own turn, which is a match, counts for its files
		}
		if len(turns) == 0 {
			continue
		}
		of.Conversations, of.Limit = []store.ConversationID{first.Conversation}, laterHits
		found, err := find(ctx, from, of)
		if err != nil {
			return nil, err
		}
		turns = best(turns, found, files)
		out = append(out, turns[:min(saidTurns, len(turns))]...)
	}
	return out, nil
}

// turnsAfter reads the turns of a session whose prompts stand after a place, at most so many; 0 is
// all that are in reach.
func turnsAfter(ctx context.Context, from Store, session store.ConversationID, seq int64, most int) (turns []turn, err error) {
	for m, err := range from.Messages(ctx, store.MessageQuery{Conversation: session, After: seq, Before: seq + laterReach + 1, NoRaw: true, NoTools: true}) {
		if err != nil {
			return nil, err
		}
		if isPrompt(m) {
			if most > 0 && len(turns) == most {
				break
			}
			turns = append(turns, turn{prompt: m, files: map[string]bool{}})
		}
		if len(turns) == 0 {
			continue // the turn of the match itself
		}
		t := &turns[len(turns)-1]
		if m.Body.Role == llms.RoleAssistant && m.Flags.Said() && !blank(m.Body.PlainText()) {
			t.reply = m
		}
		maps.Copy(t.files, changed([]store.Message{m}))
	}
	return turns, nil
}

// best returns the turns whose prompts match, and those that have a match and changed one of the
// files, the best first.
func best(turns []turn, found []store.Hit, files map[string]bool) []turn {
	for _, h := range found {
		at, _ := slices.BinarySearchFunc(turns, h.Message+1, func(t turn, id store.MessageID) int { return cmp.Compare(t.prompt.ID, id) })
		if at > 0 && (turns[at-1].prompt.ID == h.Message || overlaps(turns[at-1].files, files)) {
			turns[at-1].score = max(turns[at-1].score, h.Score)
		}
	}
	turns = slices.DeleteFunc(turns, func(t turn) bool { return t.score == 0 })
	for i := range turns {
		if overlaps(turns[i].files, files) {
			turns[i].score *= sameFiles
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(b.score, a.score) })
	return turns
}

// changed returns the files that messages changed, by their last two names: worktrees of a project
// differ in the others.
func changed(messages []store.Message) map[string]bool {
	files := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Body.ToolCalls() {
			for _, f := range notes.Changed(&c) {
				dir, name := path.Split(f)
				files[path.Join(path.Base(dir), name)] = true
			}
		}
	}
	return files
}

// overlaps reports that two sets have something in common.
func overlaps(a, b map[string]bool) bool {
	for f := range a {
		if b[f] {
			return true
		}
	}
	return false
}
