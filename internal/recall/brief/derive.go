package brief

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

const (
	fresh        = 100 // how many messages back a failure counts
	longAnswer   = 200 // characters of an answer to a question; a longer prompt is a request
	manyRequests = 2   // a session with more of them is work, whatever was done
)

// later holds the commits and command results of newer sessions of the project.
type later struct {
	committed time.Time            // of the last commit
	succeeded map[string]time.Time // by purpose of a command: when it last succeeded
	failed    map[string]bool      // purposes and errors of listed failures
}

// work derives the state of a conversation from its newest messages and newer sessions. The own
// one is told its turns even if all of them only asked lcm.
func work(ctx context.Context, s store.Reader, c store.Conversation, n int, own bool, since *later) (Work, error) {
	said, err := newest(ctx, s, c.ID, n)
	if err != nil {
		return Work{}, err
	}
	replied := slices.ContainsFunc(said, func(m store.Message) bool { return m.Body.Role == llms.RoleAssistant })
	all := said
	said = firsthand(said)
	w := Work{Conversation: c, onlyAsked: replied && len(said) == 0}
	if own && w.onlyAsked {
		said = slices.DeleteFunc(all, func(m store.Message) bool { return m.Flags&store.FlagEcho != 0 })
	}
	// A user's message that begins with a tag is one that the host inserted.
	said = slices.DeleteFunc(said, func(m store.Message) bool {
		return m.Body.Role == llms.RoleUser && strings.HasPrefix(m.Body.PlainText(), "<")
	})
	r := reading{Work: &w, later: since, by: map[int64]*store.Message{}, ran: map[int64]string{}}
	commands := map[string]string{} // by the id of their call
	var sources []record.SummarySource
	for i := range said {
		m := &said[i]
		r.by[m.Seq] = m
		for _, c := range m.Body.ToolCalls() {
			commands[c.ID] = notes.Command(&c)
		}
		for _, result := range m.Body.ToolResults() {
			r.ran[m.Seq] = strings.TrimSpace(r.ran[m.Seq] + "\n" + commands[result.CallID])
		}
		sources = append(sources, record.SummarySource{Role: m.Body.Role, Flags: m.Flags, Format: m.Format, Parts: m.Body.Parts, Time: m.Body.Time, Seq: m.Seq})
	}
	if n := len(said); n > 0 && (said[n-1].Body.Role == llms.RoleTool || len(said[n-1].Body.ToolCalls()) > 0) {
		w.Unfinished = said[n-1].ID
	}
	lines := notes.Find(sources)
	r.talk(lines)
	r.changes(lines)
	if len(said) > 0 {
		r.failures(lines, said[max(0, len(said)-fresh)].Seq, said[len(said)-1].Body.Time)
	}
	w.Worked = w.Worked || w.Plan != nil || len(w.Failing) > 0 || len(w.Requests) > manyRequests || w.Stands != nil && (w.Question != "" || w.unanswered())
	w.Began, err = began(ctx, s, c.ID)
	return w, err
}

// newest returns the newest messages of the active branch that were said, the host's
// summaries and lcm's own output, oldest first.
func newest(ctx context.Context, s store.Reader, id store.ConversationID, n int) ([]store.Message, error) {
	view, err := s.View(ctx, id, store.Window{Newest: n})
	if err != nil {
		return nil, err
	}
	shown, first := map[store.MessageID]bool{}, store.MessageID(0)
	items := view.Items
	if view.Skipped > 0 {
		items = items[view.Gap:]
	}
	for _, item := range items {
		if item.IsSummary() {
			first = 0 // its messages are summarised, not rewound
			continue
		}
		if item.Message != 0 {
			shown[item.Message] = true
			if first == 0 || item.Message < first {
				first = item.Message
			}
		}
	}
	var said []store.Message
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, NoRaw: true, Limit: n}) {
		if err != nil {
			return nil, err
		}
		rewound := first != 0 && m.ID >= first && !shown[m.ID]
		if m.Damaged { // its text is marked, but its calls would look like real ones
			m.Body.Parts = slices.DeleteFunc(m.Body.Parts, func(p llms.Part) bool { return p.Kind != llms.PartText })
		}
		if (m.Flags &^ (store.FlagHostSummary | store.FlagEcho)).Said() && !rewound {
			said = append(said, m)
		}
	}
	slices.Reverse(said)
	return said, nil
}

// firsthand leaves out turns that only asked lcm, and lcm's own output in other turns.
func firsthand(said []store.Message) (kept []store.Message) {
	for len(said) > 0 {
		n := 1
		for n < len(said) && said[n].Body.Role != llms.RoleUser {
			n++
		}
		turn, repeats := said[:n], secondhand.Messages(said[:n])
		said = said[n:]
		called, worked := false, false
		for i, m := range turn {
			called = called || repeats[i] && (m.Body.Role == llms.RoleUser || len(m.Body.ToolCalls()) > 0)
			worked = worked || !repeats[i] && m.Body.Role != llms.RoleUser
		}
		for _, m := range turn {
			if (worked || !called) && m.Flags&store.FlagEcho == 0 {
				kept = append(kept, m)
			}
		}
	}
	return kept
}

// reading collects the work of a conversation from its notes.
type reading struct {
	*Work
	*later
	by      map[int64]*store.Message
	ran     map[int64]string // the command lines whose results a message has
	changed int64            // the message of the last change of a file
}

func (r *reading) quote(l notes.Line) Quote {
	m := r.by[l.Seq]
	return Quote{ID: m.ID, Time: m.Body.Time, Text: l.Text}
}

// talk collects what was said.
func (r *reading) talk(lines []notes.Line) {
	asked := ""
	var task *Quote
	for _, l := range lines {
		q := r.quote(l)
		switch l.Kind {
		case notes.Files:
			r.Task = task
		case notes.Host:
			r.Host = &q
		case notes.Assistant:
			q.Text = r.by[l.Seq].Body.PlainText()
			r.Stands, asked = &q, ""
			if strings.HasSuffix(strings.TrimRight(q.Text, " \n*_)"), "?") {
				asked = q.Text
			}
		case notes.Plan:
			r.Plan = nil
			if strings.HasPrefix(q.Text, notes.OpenStep) {
				r.Plan = &q
			}
		case notes.User:
			// Words in the place of a result are an answer, or the reason of a refusal.
			answers := r.by[l.Seq].Body.Role != llms.RoleUser
			if !answers {
				for _, s := range notes.Rules(r.by[l.Seq].Body.PlainText()) {
					r.Rules = append(r.Rules, Quote{ID: q.ID, Time: q.Time, Text: s})
				}
				r.Requests = append(r.Requests, q)
				if telling(q.Text) {
					task = &q
				}
				answers = asked != "" && utf8.RuneCountInString(q.Text) <= longAnswer
				q.Asked, asked = notes.Chosen(asked, q.Text), ""
			}
			if answers && !strings.HasSuffix(q.Text, "?") {
				r.Decided = append(r.Decided, q)
			}
		}
	}
	r.Question = asked
	if r.Task == nil || r.unanswered() {
		r.Task = task
	}
}

// unanswered reports that the last request has no answer, or none that ends its turn.
func (w *Work) unanswered() bool {
	n := len(w.Requests)
	return n > 0 && (w.Stands == nil || w.Requests[n-1].ID > w.Stands.ID || w.Unfinished != 0)
}

// changes collects the files that were changed, still exist and were not committed, and the
// commands that succeeded.
func (r *reading) changes(lines []notes.Line) {
	root := r.Conversation.Project.Root
	for _, l := range lines {
		q := r.quote(l)
		line, commits := r.ran[l.Seq], false
		before, _, commit := strings.Cut(line, "git commit")
		switch l.Kind {
		case notes.Files:
			r.Worked, r.changed = true, l.Seq
			for _, p := range paths(r.by[l.Seq], l.Text) {
				r.Files = slices.DeleteFunc(r.Files, func(f File) bool { return f.Path == p })
				if q.Time.IsZero() || !q.Time.Before(r.committed) {
					r.Files = slices.Insert(r.Files, 0, File{p, q.ID})
				}
			}
		case notes.Ran:
			r.Worked = r.Worked || !notes.Checks(line)
			if what := notes.Purpose(line); q.Time.After(r.succeeded[what]) {
				r.succeeded[what] = q.Time
			}
			r.Files = slices.DeleteFunc(r.Files, func(f File) bool { return notes.Removes(line, root, f.Path) && !notes.Elsewhere(line, root) })
			commits = commit
		case notes.Commit: // one that was made, not one that git log lists
			hash, _, _ := strings.Cut(l.Text, " ")
			commits = strings.Contains(r.by[l.Seq].Body.Render(), hash+"] ")
		}
		if commits && !notes.Elsewhere(before, root) {
			r.Worked, r.Files = true, nil
			if q.Time.After(r.committed) {
				r.committed = q.Time
			}
		}
	}
}

// paths splits the list of the files that a message changed. One that has a comma in its name is
// not split.
func paths(m *store.Message, list string) []string {
	var changed []string
	for _, c := range m.Body.ToolCalls() {
		changed = append(changed, notes.Changed(&c)...)
	}
	names := strings.Split(list, ", ")
	if slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(changed, name) }) {
		return []string{list}
	}
	return names
}

// failures collects the commands that failed lately and have not succeeded since, newest
// first, without those that newer sessions have. What failed before the last change of a
// file may have been mended by it.
func (r *reading) failures(lines []notes.Line, from int64, end time.Time) {
	for _, l := range slices.Backward(lines) {
		line, detail, _ := strings.Cut(l.Text, notes.Gave)
		what := notes.Purpose(line)
		if l.Kind != notes.Failed || l.Seq < max(from, r.changed) || notes.Looks(line) || r.failed[what] || r.failed[detail] || r.succeeded[what].After(end) {
			continue
		}
		r.failed[what], r.failed[detail] = true, detail != ""
		r.Failing = append(r.Failing, r.quote(l))
	}
}

// telling reports whether a prompt tells something by itself, unlike "3", "yes" and "/review".
func telling(text string) bool {
	return len(strings.Fields(text)) > 2 || utf8.RuneCountInString(text) > 24
}

// began returns the first request of a conversation.
func began(ctx context.Context, s store.Reader, id store.ConversationID) (*Quote, error) {
	const look = 200
	seq := int64(0)
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Limit: look, Erased: true, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if seq++; m.Seq != seq { // it began with a message that is missing
			store.MarkDamaged(&m)
		}
		text := strings.TrimSpace(m.Body.PlainText())
		if m.Body.Role != llms.RoleUser || !m.Flags.Said() || text == "" || strings.HasPrefix(text, "<") {
			continue
		}
		return &Quote{ID: m.ID, Time: m.Body.Time, Text: text}, nil
	}
	return nil, nil
}

// branch returns the branch that a host has written into the newest record.
func branch(ctx context.Context, s store.Reader, id store.ConversationID) (name string, err error) {
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, Limit: 1}) {
		if err != nil {
			return "", err
		}
		if v, err := wire.Members(m.Body.Raw.Bytes, "gitBranch"); err == nil {
			name = wire.Unquote(v[0])
		}
	}
	return name, nil
}
