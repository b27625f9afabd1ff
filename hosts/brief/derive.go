package brief

import (
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/summary"
)

// How much of each is kept. Rendering may show less.
const (
	keepRequests  = 4
	keepCommands  = 8
	keepFailing   = 4
	keepFiles     = 16
	keepCommitted = 6 // of files, those before them counted
	keepDecisions = 10
	keepEarlier   = 6
)

// noise is what does not count as said in the conversation.
const noise = store.FlagEcho | store.FlagHostSummary | store.FlagSynthetic | store.FlagHidden | store.FlagUnknown

// work derives the state of a conversation from its newest messages.
func work(ctx context.Context, s store.Reader, c store.Conversation, n int) (Work, error) {
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
	w.Plan = plan(said)
	ran := commands(said, c.Agent)
	w.Files = files(said, ran)
	w.Failing = failing(said, ran)
	w.Commands = telling(ran)
	w.Decided = decisions(said, w.Requests)
	if w.Began, err = began(ctx, s, c.ID, w.Requests); err != nil {
		return w, err
	}
	w.Earlier, err = earlier(ctx, s, view)
	return w, err
}

// newest returns the newest messages of the active branch that count, oldest
// first.
func newest(ctx context.Context, s store.Reader, id store.ConversationID, view store.View, n int) ([]store.Message, error) {
	shown, first := map[store.MessageID]bool{}, store.MessageID(0)
	items := view.Items
	if view.Skipped > 0 {
		items = items[view.Gap:]
	}
	for _, item := range items {
		if item.IsSummary() {
			first = 0 // what it covers is folded, not rewound
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
		if m.Flags&noise == 0 && !rewound {
			said = append(said, m)
		}
	}
	slices.Reverse(said)
	return said, nil
}

func quoteOf(m store.Message, text string) Quote {
	return Quote{ID: m.ID, Time: m.Body.Time, Who: string(m.Body.Role), Text: text}
}

// requests are the last things that the user said.
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
	if strings.HasPrefix(text, "<") { // blocks that hosts put in the user's mouth
		return ""
	}
	return text
}

// began is the first request of a conversation, which says what it is about.
func began(ctx context.Context, s store.Reader, id store.ConversationID, known []Quote) (*Quote, error) {
	const look = 24
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: id, Limit: look}) {
		if err != nil {
			return nil, err
		}
		if text := request(m); text != "" && m.Flags&noise == 0 {
			if slices.ContainsFunc(known, func(q Quote) bool { return q.ID == m.ID }) {
				return nil, nil
			}
			q := quoteOf(m, text)
			return &q, nil
		}
	}
	return nil, nil
}

func lastRequest(ctx context.Context, s store.Reader, c store.Conversation) (*Quote, error) {
	const look = 60
	for m, err := range s.Messages(ctx, store.MessageQuery{Conversation: c.ID, Newest: true, Limit: look}) {
		if err != nil {
			return nil, err
		}
		if text := request(m); text != "" && m.Flags&noise == 0 {
			q := quoteOf(m, text)
			return &q, nil
		}
	}
	return nil, nil
}

// stopped is what the assistant said last, where the user has not answered it
// with something else since.
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

// earlier are the summaries at the beginning of the view, newest first.
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
