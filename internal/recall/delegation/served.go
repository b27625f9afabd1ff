package delegation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall/support"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// servedTexts records the texts that a grant has served. Counts, totals and the check
// of citations use nothing else.
type servedTexts struct {
	byID   map[store.ID]*served
	order  []store.ID
	cut    bool   // the tokens ran out before the text did
	unread bool   // the last page left something
	facts  string // about what was described, which are no words of the record
}

// served is a message or summary that the sub-agent has read, or a part of it.
type served struct {
	node         store.ID // a file's is its message
	conversation store.ConversationID
	role         llms.Role
	time         time.Time
	text         strings.Builder
	snippets     []string          // passages of it that searches showed
	above        []store.SummaryID // the granted summaries over it, the nearest first
	sources      int               // how many of above were made from it directly
}

// add notes what was shown of a message or summary: all of a piece, or a passage that a search
// found.
func (s *servedTexts) add(shown taken) {
	e, ok := s.byID[shown.ID]
	if !ok {
		e = &served{node: shown.node, conversation: shown.ConversationID, role: shown.Role, time: shown.CreatedAt, above: shown.above, sources: shown.sources}
		s.byID[shown.ID] = e
		s.order = append(s.order, shown.ID)
	}
	if shown.passage {
		e.snippets = include(e.snippets, shown.Text)
	} else {
		e.read(shown.Piece)
	}
}

// read adds a piece that goes on where the text ends. A page that is read again
// adds nothing.
func (s *served) read(p recall.Piece) {
	if p.Offset == s.text.Len() {
		s.text.WriteString(p.Text)
	}
}

// passages are the texts that were shown of it.
func (s *served) passages() []string {
	if s.text.Len() > 0 {
		return append([]string{s.text.String()}, s.snippets...)
	}
	return s.snippets
}

// opened lists the summaries of which text of a source was served, also for the source's own
// id. A passage that a search showed opens nothing.
func (s *servedTexts) opened() (all []store.SummaryID) {
	for _, id := range s.order {
		if e := s.byID[id]; e.text.Len() > 0 {
			for _, above := range e.above[:e.sources] {
				all = include(all, above)
			}
		}
	}
	return all
}

// beneath returns the messages that were read beneath a summary, else the first source of it
// that was. A message may also lie beneath summaries of a fork, or above the granted ones, which
// nobody has read.
func (s *servedTexts) beneath(summary store.SummaryID) (all []*served) {
	var source []*served
	for _, id := range s.order {
		e := s.byID[id]
		switch at := slices.Index(e.above, summary); {
		case at < 0:
		case !e.node.IsSummary():
			all = append(all, e)
		case at < e.sources && e.text.Len() > 0 && source == nil:
			source = []*served{e}
		}
	}
	if all == nil {
		return source
	}
	return all
}

// check returns the identifiers, names and numbers of an answer that stand neither in the
// served texts nor in the question, and how many stand in the texts.
func (s *servedTexts) check(answer string, q request) (missing []string, held int) {
	var known support.Text
	known.Add(s.facts)
	for _, id := range s.order {
		e := s.byID[id]
		for _, text := range e.passages() {
			known.Add(fmt.Sprintf("%s %s %s", e.time.UTC().Format("2006-01-02 15:04"), id, text))
		}
	}
	return known.Check(answer, q.Prompt+"\n"+q.Query)
}
