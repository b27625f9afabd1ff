// Package brief derives a context from the record, with which an agent can continue work
// that it has forgotten or never saw: the results of the project's last sessions, decisions,
// open points, files changed and not seen committed, failures, the last commands and
// their results, and the ids under which everything can be read in full. For a
// compacted session the user's requests come first.
//
// The newest session that did work leads. Sessions of one question and answer, or of a
// command that only looked, are only counted. Open points of older sessions are listed
// with those of the newest.
//
// A brief is extractive: every quotation is from a stored message, shortened but not
// reworded, and no model is called. The same record gives the same brief.
//
// Text of the record is quoted on one line, without control characters and with its
// tags escaped, so that it cannot imitate the frame or an instruction. The frame is
// [ingest.ContextTag], by which ingest recognises the block and keeps it out of later
// recall.
package brief

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Options select the sessions of a brief.
type Options struct {
	// Project selects the sessions.
	Project store.Project
	// Conversation is the leading one; 0 is the newest of the project.
	Conversation store.ConversationID
	// Session is the key of the session that asks. It is left out, unless Own is
	// set: after a compaction, when it has forgotten its own messages.
	Session string
	Own     bool
}

const (
	leadMessages  = 300 // the newest of the leading session that are read
	otherMessages = 50  // of another session
	candidates    = 60  // sessions that are read, newest first
	others        = 8   // sessions beside the leading one
)

// Brief is the result. Work is nil if there is nothing to tell.
type Brief struct {
	Work   *Work
	Others []Work // the sessions beside the leading one, shortened
	// Own says that the session is briefed about itself.
	Own bool
	// Asked is the last question of the sessions that are only a question and an
	// answer and newer than Work, and Short their number.
	Asked *Quote
	Short int
	// More is the number of older sessions that are left out.
	More int
	// Note is added to the first lines of the block.
	Note string
}

// Work is the state of one conversation's work.
type Work struct {
	Conversation store.Conversation
	// Requests are the user's last messages, oldest first. Began is the first
	// request, if it is not among them.
	Requests []Quote
	Began    *Quote
	Stopped  *Quote // the assistant's last message
	// Waiting says that the user's last request, or a question to the user, is
	// unanswered.
	Waiting  bool
	Open     []Quote // sentences that read like open points
	Plan     []Step
	Files    []File
	Commands []Command
	Failing  []Command
	Decided  []Quote
	Earlier  []Earlier
}

// Quote is a quotation from a message.
type Quote struct {
	ID   store.MessageID
	Time time.Time
	Who  string
	Text string
	// Asked is the question that a short choice answers.
	Asked string
}

// Step is an open point of the agent's plan.
type Step struct {
	Text  string
	Doing bool
}

// File is a file that the agent changed.
type File struct {
	Path      string
	Changes   int
	Last      store.MessageID
	Committed bool // a commit followed the last change
}

// Command is a command that the agent ran.
type Command struct {
	ID      store.MessageID // of the call
	Line    string
	Outcome Outcome
	Detail  string // the most informative line of its output
}

// Outcome is how a command ended.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota
	Succeeded
	Failed
)

// Earlier is a summary of earlier messages.
type Earlier struct {
	ID       store.SummaryID
	Messages int
	From, To time.Time
	About    string
}

// Of derives the brief of a project.
func Of(ctx context.Context, s store.Reader, o Options) (Brief, error) {
	found, total, err := recent(ctx, s, o)
	if err != nil {
		return Brief{}, fmt.Errorf("brief: %w", err)
	}
	b := Brief{Own: o.Own}
	var since later
	var trivial []Work
	b.More = total - len(found)
	for i, c := range found {
		if len(b.Others) == others {
			b.More = total - i
			break
		}
		n := otherMessages
		if b.Work == nil {
			n = leadMessages
		}
		w, err := work(ctx, s, c, n, &since)
		if err != nil {
			return Brief{}, fmt.Errorf("brief: conversation %d: %w", c.ID, err)
		}
		leads := o.Conversation != 0 || o.Own && i == 0 && c.Key == o.Session
		switch {
		case w.empty():
		case !leads && w.trivial():
			if b.Work == nil {
				trivial = append(trivial, w)
			}
		case b.Work == nil:
			b.Work = &w
		default:
			b.Others = append(b.Others, w.short())
		}
	}
	b.count(trivial)
	return b, nil
}

// count adds the sessions without work. If there are no others, the newest of them leads.
func (b *Brief) count(trivial []Work) {
	if len(trivial) == 0 {
		return
	}
	if b.Work == nil {
		b.Work, trivial = &trivial[0], trivial[1:]
		told := min(len(trivial), others)
		for _, w := range trivial[:told] {
			b.Others = append(b.Others, w.short())
		}
		b.More += len(trivial) - told
		return
	}
	b.Short, b.Asked = len(trivial), &trivial[0].Requests[len(trivial[0].Requests)-1]
}

// short reduces a session to the parts shown beside the leading one.
func (w Work) short() Work {
	w.Failing, w.Decided, w.Open = w.Failing[:min(len(w.Failing), 2)], w.Decided[max(0, len(w.Decided)-2):], w.Open[max(0, len(w.Open)-2):]
	if w.Began == nil && len(w.Requests) > 0 {
		w.Began = &w.Requests[0]
	}
	w.Files = slices.DeleteFunc(w.Files, func(f File) bool { return f.Committed })
	w.Files = w.Files[:min(len(w.Files), 6)]
	return w
}

// recent lists the conversations of a brief, the leading one first, and counts all.
func recent(ctx context.Context, s store.Reader, o Options) ([]store.Conversation, int, error) {
	if o.Conversation != 0 {
		c, err := s.Conversation(ctx, o.Conversation)
		return []store.Conversation{c}, 1, err
	}
	found, err := s.Conversations(ctx, store.ConversationQuery{Project: &o.Project})
	if err != nil {
		return nil, 0, err
	}
	// The session that started a sub-agent covers its work.
	found = slices.DeleteFunc(found, func(c store.Conversation) bool {
		return c.Parent != 0 || c.Messages == c.Erased || !o.Own && o.Session != "" && c.Key == o.Session
	})
	if o.Own {
		slices.SortStableFunc(found, func(x, y store.Conversation) int {
			return compare(y.Key == o.Session, x.Key == o.Session)
		})
	}
	return found[:min(len(found), candidates)], len(found), nil
}

// compare orders false before true.
func compare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

func (w *Work) empty() bool {
	return len(w.Requests) == 0 && w.Stopped == nil && len(w.Commands) == 0 && len(w.Files) == 0
}

// trivial reports a session of a question and an answer, or of a look at the state of
// things: it left nothing, and the user wrote at most twice.
func (w *Work) trivial() bool {
	return len(w.Files) == 0 && len(w.Plan) == 0 && len(w.Open) == 0 && len(w.Failing) == 0 &&
		len(w.Requests) > 0 && len(w.Requests) <= 2 && w.Began == nil && !(w.Stopped != nil && w.unanswered()) &&
		!slices.ContainsFunc(w.Decided, func(q Quote) bool { return q.Who == string(llms.RoleUser) }) &&
		!slices.ContainsFunc(w.Commands, func(c Command) bool { return !changesNothing(c.Line) })
}
