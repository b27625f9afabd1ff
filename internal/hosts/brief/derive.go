package brief

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// How much of each is kept. Rendering may show less.
const (
	keepRequests  = 4
	keepCommands  = 8
	keepFailing   = 4
	keepFiles     = 16
	keepCommitted = 6 // committed files are listed only among the first 6
	keepDecisions = 10
	keepOpen      = 4
	keepEarlier   = 6
)

// recentlySaid is how many messages back open points are searched.
const recentlySaid = 40

// later holds the commits and command results of newer sessions of the project.
type later struct {
	committed time.Time            // of the last commit
	succeeded map[string]time.Time // by purpose of a command: when it last succeeded
	failed    map[string]bool      // purposes and output lines of listed failures
}

// note adds the commands of a session.
func (l *later) note(said []store.Message, ran []Command) {
	when := map[store.MessageID]time.Time{}
	for _, m := range said {
		when[m.ID] = m.Body.Time
	}
	if l.succeeded == nil {
		l.succeeded, l.failed = map[string]time.Time{}, map[string]bool{}
	}
	for _, c := range ran {
		at := when[c.ID]
		if c.commits() && at.After(l.committed) {
			l.committed = at
		}
		if what := purpose(c.Line); c.Outcome == Succeeded && at.After(l.succeeded[what]) {
			l.succeeded[what] = at
		}
	}
}

// work derives the state of a conversation from its newest messages and newer sessions.
func work(ctx context.Context, s store.Reader, c store.Conversation, n int, since *later) (Work, error) {
	w := Work{Conversation: c}
	view, err := s.View(ctx, c.ID, store.Window{Oldest: 2 * keepEarlier, Newest: n})
	if err != nil {
		return w, err
	}
	said, err := newest(ctx, s, c.ID, view, n)
	if err != nil {
		return w, err
	}
	w.Requests = requests(said)
	w.Stopped = stopped(said)
	w.Waiting = w.unanswered() || len(w.Requests) > 0 && strings.HasSuffix(w.Stopped.Text, "?")
	w.Plan = plan(said)
	ran := commands(said, c.Agent)
	since.note(said, ran)
	w.Files = files(said, ran, since.committed)
	w.Failing = failing(said, ran, since)
	w.Commands = lastCommands(ran)
	w.Open = openEnds(said[max(0, len(said)-recentlySaid):])
	known := w.Open
	if n := len(w.Requests); w.Waiting && n > 0 {
		known = append(slices.Clone(known), w.Requests[n-1])
	}
	w.Decided = decisions(said, known)
	if w.Began, err = began(ctx, s, c.ID, w.Requests); err != nil {
		return w, err
	}
	w.Earlier, err = earlier(ctx, s, view)
	return w, err
}

// newest returns the newest messages of the active branch that count, oldest first.
func newest(ctx context.Context, s store.Reader, id store.ConversationID, view store.View, n int) ([]store.Message, error) {
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
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, Limit: n}) {
		if err != nil {
			return nil, err
		}
		rewound := first != 0 && m.ID >= first && !shown[m.ID]
		if m.Damaged { // its text is marked, but its calls would look like real ones
			m.Body.Parts = slices.DeleteFunc(m.Body.Parts, func(p llms.Part) bool { return p.Kind != llms.PartText })
		}
		if m.Flags.Said() && !rewound {
			said = append(said, m)
		}
	}
	slices.Reverse(said)
	return said, nil
}

func quoteOf(m store.Message, text string) Quote {
	return Quote{ID: m.ID, Time: m.Body.Time, Who: string(m.Body.Role), Text: text}
}

// requests returns the user's last messages.
func requests(said []store.Message) []Quote {
	var all []Quote
	for _, m := range slices.Backward(said) {
		if text := request(m); text != "" {
			all = append(all, quoteOf(m, text))
		}
		if len(all) == keepRequests {
			break
		}
	}
	slices.Reverse(all)
	return all
}

func request(m store.Message) string {
	if m.Body.Role != llms.RoleUser {
		return ""
	}
	text := strings.TrimSpace(m.Body.PlainText())
	if strings.HasPrefix(text, "<") { // a block that the host inserted
		return ""
	}
	return text
}

// began returns the first request of a conversation, which tells its subject.
func began(ctx context.Context, s store.Reader, id store.ConversationID, known []Quote) (*Quote, error) {
	const look = 24
	seq := int64(0)
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Limit: look, Erased: true}) {
		if err != nil {
			return nil, err
		}
		if seq++; m.Seq != seq { // it began with a message that is missing
			store.MarkDamaged(&m)
		}
		if text := request(m); text != "" && m.Flags.Said() {
			if slices.ContainsFunc(known, func(q Quote) bool { return q.ID == m.ID }) {
				return nil, nil
			}
			q := quoteOf(m, text)
			return &q, nil
		}
	}
	return nil, nil
}

// unanswered reports that the last request is unanswered.
func (w *Work) unanswered() bool {
	n := len(w.Requests)
	return n > 0 && (w.Stopped == nil || w.Requests[n-1].ID > w.Stopped.ID)
}

// stopped returns the assistant's last message: in most sessions, the result.
func stopped(said []store.Message) *Quote {
	for _, m := range slices.Backward(said) {
		if m.Body.Role == llms.RoleAssistant {
			if text := strings.TrimSpace(m.Body.PlainText()); text != "" {
				q := quoteOf(m, text)
				return &q
			}
		}
	}
	return nil
}

// earlier returns the summaries at the beginning of the view, newest first.
func earlier(ctx context.Context, s store.Reader, view store.View) ([]Earlier, error) {
	var ids []store.SummaryID
	for _, item := range slices.Backward(view.Items) {
		if item.IsSummary() && len(ids) < keepEarlier {
			ids = append(ids, item.Summary)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var all []Earlier
	for sum, err := range s.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return nil, err
		}
		about := ""
		if i := strings.LastIndex(sum.Body, summary.Footer); i >= 0 {
			about = sum.Body[i+len(summary.Footer):]
		}
		all = append(all, Earlier{ID: sum.ID, Messages: sum.Messages, From: sum.Earliest, To: sum.Latest, About: about})
	}
	return all, nil
}
