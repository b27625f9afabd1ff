package mcpserver

import (
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"

	"github.com/lossless-context/lcm/recall"
)

// grepResult is an answer of lcm_grep as structured content.
type grepResult struct {
	NotInRecord []string `json:"notInRecord,omitempty"` // words of the question

	Matches []grepMatch `json:"matches"`
	// Said is what the user said about a question, a turn in each.
	Said []string `json:"said,omitempty"`
	// Found counts the matches and names the scope.
	Found      string   `json:"found"`
	Total      int      `json:"total"`
	Sessions   []string `json:"sessions,omitempty"` // of the matches
	Notes      []string `json:"notes,omitempty"`
	Elsewhere  string   `json:"elsewhere,omitempty"` // matches of other conversations, and how to ask for them
	NextCursor string   `json:"nextCursor,omitempty"`
}

type grepMatch struct {
	ID      store.ID `json:"id"`
	Who     string   `json:"who"`  // the role or "summary"
	When    string   `json:"when"` // UTC
	Session int64    `json:"session"`
	// Snippet is the text around the match.
	Snippet string `json:"snippet"`
	// Beside holds other messages of the exchange, and those before and after it.
	Beside    []string          `json:"beside,omitempty"`
	CoveredBy store.SummaryID   `json:"coveredBy,omitempty"` // the summary that covers the match
	AlsoIn    []store.SummaryID `json:"alsoIn,omitempty"`    // summaries that match too
	FileIDs   []store.PayloadID `json:"fileIds,omitempty"`
}

func newGrepResult(a recall.GrepAnswer) grepResult {
	r := grepResult{Matches: []grepMatch{}, Found: a.Headline(), Total: a.Total, NotInRecord: a.NotInRecord, Notes: a.Notes, NextCursor: a.NextCursor}
	if a.Elsewhere != nil {
		r.Elsewhere = a.Elsewhere.String()
	}
	for _, t := range a.Said {
		r.Said = append(r.Said, t.String())
	}
	named := map[int64]bool{}
	for _, m := range a.Matches {
		g := grepMatch{
			ID: m.ID, Who: strings.Join(append([]string{m.Who()}, m.Marks()...), ", "), When: m.When().UTC().Format("2006-01-02 15:04"), Session: int64(m.ConversationID), Snippet: m.Shown(),
			CoveredBy: m.CoveredBy, AlsoIn: m.AlsoIn, FileIDs: m.FileIDs,
		}
		if m.Context != nil {
			for _, n := range append(m.Context.Before[:len(m.Context.Before):len(m.Context.Before)], m.Context.After...) {
				g.Beside = append(g.Beside, n.String())
			}
		}
		r.Matches = append(r.Matches, g)
		if !named[g.Session] {
			named[g.Session] = true
			r.Sessions = append(r.Sessions, strings.TrimPrefix(m.Session(), "session "))
		}
	}
	return r
}
