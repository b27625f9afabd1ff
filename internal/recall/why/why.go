// Package why finds the change of the record behind a line of a file: the call that wrote
// it, the prompt that asked for it, and the commit that has it.
//
// The calls that changed the file are joined with its present lines by text, white space
// aside. Among those that brought the line, those count whose lines around it are those of
// the file; the newest of them that is older than the line's commit is the answer. A line
// that too many texts have in common gets none: no answer is better than a guess.
package why

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
)

// Store is the part of a store that is read.
type Store interface {
	store.Reader
	store.Searcher
}

// Change is a call that changed a file.
type Change struct {
	Message store.Message
	Tool    string // that was called
	call    string
	parts   []notes.Change
}

// Changes lists the calls of some conversations that changed a file, oldest first, except
// those that failed. isFile reports whether a path in a call is the file.
func Changes(ctx context.Context, s Store, in []store.ConversationID, base string, isFile func(string) bool) ([]Change, error) {
	q := store.Search{Mode: store.Regex, Pattern: regexp.QuoteMeta(base), Conversations: in, Roles: []llms.Role{llms.RoleAssistant}, Sort: store.ByRecency, Limit: 1000}
	var all []Change
	for {
		found, err := s.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		var ids []store.MessageID
		for _, h := range found.Hits {
			ids = append(ids, h.Message)
		}
		for m, err := range s.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			all = append(all, changesIn(m, isFile)...)
		}
		if found.Unfinished {
			return nil, context.DeadlineExceeded
		}
		if found.Next == nil {
			slices.SortStableFunc(all, func(a, b Change) int {
				return cmp.Or(a.Message.Body.Time.Compare(b.Message.Body.Time), cmp.Compare(a.Message.ID, b.Message.ID))
			})
			return all, nil
		}
		q.After = *found.Next
	}
}

// changesIn lists the calls in a message that changed the file.
func changesIn(m store.Message, isFile func(string) bool) (all []Change) {
	for _, c := range m.Body.ToolCalls() {
		made := Change{Message: m, Tool: c.Name, call: c.ID}
		for _, part := range notes.Changes(&c) {
			if isFile(part.File) {
				made.parts = append(made.parts, part)
			}
		}
		if made.parts != nil {
			all = append(all, made)
		}
	}
	return all
}

// Failed reports whether a call failed, so that it changed nothing.
func Failed(ctx context.Context, s Store, c Change) (bool, error) {
	const reach = 40 // the results of calls that were made at once
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: c.Message.Conversation, After: c.Message.Seq, NoRaw: true, Limit: reach}) {
		if err != nil {
			return false, err
		}
		for _, r := range m.Body.ToolResults() {
			if r.CallID == c.call {
				return r.IsError, nil
			}
		}
	}
	return false, nil
}

// enough is how many lines around a line have to be those of the file, and rare how many
// characters a line needs to be looked for without them.
const (
	enough = 2
	rare   = 12
)

// Behind lists the changes that may have brought a line of a file, the likeliest first: those
// before a time that have it, among lines that are around it in the file.
func Behind(all []Change, lines []string, n int, before time.Time) []Change {
	want := plain(lines[n])
	if want == "" {
		return nil
	}
	type candidate struct {
		Change
		around int
	}
	var found []candidate
	best := 0
	for _, c := range all {
		if c.Message.Body.Time.After(before) {
			break
		}
		around := -1
		for _, p := range c.parts {
			around = max(around, brought(p, lines, n, want))
		}
		if around >= 0 {
			found = append(found, candidate{c, around})
			best = max(best, around)
		}
	}
	if best == 0 && (len(want) < rare || count(lines, want) > 1) {
		return nil
	}
	var behind []Change
	for _, c := range slices.Backward(found) {
		if c.around >= min(best, enough) {
			behind = append(behind, c.Change)
		}
	}
	return behind
}

// brought returns how many lines around line n of a file are also around it in the text that
// a change wrote, or -1 if the change did not bring the line.
func brought(p notes.Change, lines []string, n int, want string) int {
	if count(p.Old, want) >= max(1, count(p.New, want)) {
		return -1
	}
	best := -1
	for i, line := range p.New {
		if plain(line) == want {
			best = max(best, agree(lines[:n], p.New[:i], true)+agree(lines[n+1:], p.New[i+1:], false))
		}
	}
	return best
}

// agree counts the lines with a word that two texts have in common, from their ends or from
// their beginnings.
func agree(a, b []string, fromEnd bool) (same int) {
	for i := range min(len(a), len(b)) {
		x, y := i, i
		if fromEnd {
			x, y = len(a)-1-i, len(b)-1-i
		}
		line := plain(a[x])
		if line != plain(b[y]) {
			break
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			same++
		}
	}
	return same
}

func count(lines []string, want string) (n int) {
	for _, line := range lines {
		if plain(line) == want {
			n++
		}
	}
	return n
}

// plain returns a line without what a formatter changes.
func plain(line string) string { return strings.Join(strings.Fields(line), " ") }

// Reason is what was said before a change.
type Reason struct {
	Prompt store.Message // that asked for it; its ID is 0 if it is not known
	Said   string        // by the agent, last before the call
}

// Before returns what was said before a change.
func Before(ctx context.Context, s Store, c Change) (r Reason, err error) {
	r.Said = c.Message.Body.PlainText()
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: c.Message.Conversation, Before: c.Message.Seq, Newest: true, NoRaw: true, NoTools: true}) {
		if err != nil {
			return r, err
		}
		text := strings.TrimSpace(m.Body.PlainText())
		switch {
		case !m.Flags.Said() || text == "" || len(m.Body.ToolResults()) > 0:
		case m.Body.Role == llms.RoleUser:
			r.Prompt = m
			return r, nil
		case m.Body.Role == llms.RoleAssistant:
			r.Said = cmp.Or(r.Said, text)
		}
	}
	return r, nil
}
