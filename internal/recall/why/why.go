// Package why finds the change of the record behind a line of a file: the call that wrote
// it, the prompt that asked for it, and the commit that has it.
//
// The calls that changed the file are joined with its present lines by text, white space
// aside. Among those that brought the line, those count whose lines around it are those of
// the file and of no other place in it; the newest of them that is older than the line's commit is the answer. A line
// that too many texts have in common gets none: no answer is better than a guess. A file that
// was renamed in a commit is followed by git; what was moved from another file by its text.
//
// A line is told only with the change that brought it, and without secrets. Files that git ignores,
// and git's own, are refused.
package why

import (
	"cmp"
	"context"
	"path"
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

// Changes lists the calls of some conversations that changed the file of a work tree that has,
// or had, these names, oldest first.
func Changes(ctx context.Context, s Store, in []store.ConversationID, root string, names []string) ([]Change, error) {
	var pattern []string
	for _, name := range names {
		pattern = append(pattern, regexp.QuoteMeta(path.Base(name)))
	}
	return calls(ctx, s, store.Search{Conversations: in, Pattern: strings.Join(pattern, "|")}, func(name string) bool {
		return slices.ContainsFunc(names, func(file string) bool { return isFile(root, file, name) })
	})
}

// elsewhere lists the calls that wrote the text of a line into any file of the same kind in the
// day before a time: the file may have had another name, or the line another file. Older ones
// would mostly be lines that were copied.
func elsewhere(ctx context.Context, s Store, in []store.ConversationID, file, line string, before time.Time) ([]Change, error) {
	longest := "" // without what the JSON of a call may escape
	for _, text := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\"\\<>&\t", r) }) {
		if len(text) > len(longest) {
			longest = text
		}
	}
	q := store.Search{Conversations: in, Pattern: regexp.QuoteMeta(longest), Since: before.Add(-24 * time.Hour), Before: before}
	return calls(ctx, s, q, func(name string) bool { return path.Ext(name) == path.Ext(file) })
}

// calls lists the calls that a search finds and that changed a file, oldest first.
func calls(ctx context.Context, s Store, q store.Search, isFile func(string) bool) ([]Change, error) {
	q.Mode, q.Roles, q.Sort, q.Limit = store.Regex, []llms.Role{llms.RoleAssistant}, store.ByRecency, 1000
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

// enough is how many lines around a line have to be those of the file, surely how many if the
// change was of another file, and rare how many characters a line needs to be looked for
// without them.
const (
	enough = 2
	surely = 4
	rare   = 12
)

// Behind lists the changes that may have brought a line of a file, the likeliest first: those
// before a time that have it, among lines that are around it in the file, at least so many.
func Behind(all []Change, lines []string, n int, before time.Time, least int) []Change {
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
	if best < least {
		return nil
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
// a change wrote, or -1 if the change did not bring the line, or brought another one of the
// same text.
func brought(p notes.Change, lines []string, n int, want string) int {
	if count(p.Old, want) >= max(1, count(p.New, want)) {
		return -1
	}
	best := -1
	for i, line := range p.New {
		if plain(line) != want {
			continue
		}
		around := func(n int) int {
			return agree(lines[:n], p.New[:i], true) + agree(lines[n+1:], p.New[i+1:], false)
		}
		here := around(n)
		for m := range lines {
			if plain(lines[m]) == want && around(m) > here {
				here = -1
				break
			}
		}
		best = max(best, here)
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
	Asked  string        // by the agent, last before a prompt that is too short to be understood alone
}

// terse is how many bytes make a prompt like "yes" or "fix 2 and 3".
const terse = 30

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
		case m.Body.Role == llms.RoleUser && r.Prompt.ID == 0:
			if r.Prompt = m; len(text) >= terse {
				return r, nil
			}
		case m.Body.Role == llms.RoleUser:
			return r, nil
		case m.Body.Role == llms.RoleAssistant && r.Prompt.ID != 0:
			r.Asked = text
			return r, nil
		case m.Body.Role == llms.RoleAssistant:
			r.Said = cmp.Or(r.Said, text)
		}
	}
	return r, nil
}
