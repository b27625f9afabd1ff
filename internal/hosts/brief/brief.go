// Package brief derives from the record what an agent needs to go on with
// work that it has forgotten, or never saw: what the last sessions of the
// project came to, what was decided, what is open, files changed and not seen
// committed, what still fails, the last commands and how they ended, and the
// ids under which everything can be read in full. A session that was compacted
// is told first what it was asked for.
//
// The newest session in which something was done leads. Sessions of a question
// and an answer, or of a command that only looked, are counted and push nothing
// out. What older sessions left open stands with what the newest left open.
//
// It is extractive: every quotation is from a stored message, shortened but
// not reworded, and no model is asked. The same record gives the same brief.
//
// A brief states facts. Text of the record is quoted on one line, without
// control characters and with its tags made harmless, so that nothing in it
// can pass for the frame around it or for an instruction. The frame is
// [ingest.ContextTag], by which ingest knows the block again and keeps recall
// from feeding on it.
package brief

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Options say what a brief is about.
type Options struct {
	// Project is whose sessions count.
	Project store.Project
	// Conversation is the one to brief about; 0 is the newest of the project.
	Conversation store.ConversationID
	// Session is the key of the session that asks. It is not briefed about
	// itself unless Own says so: after a compaction, when it has forgotten.
	Session string
	Own     bool
	// Messages is how many of the newest messages are looked at (300).
	Messages int
}

const (
	defaultMessages = 300
	otherMessages   = 80 //  of a session that is told in short
	candidates      = 60 // sessions that are looked at, newest first
	others          = 8  // told in short
)

// Brief is what was derived. It has no Work if there is nothing to tell.
type Brief struct {
	Work   *Work
	Others []Other
	// Own says that the session is told about itself.
	Own bool
	// Asked is the last question of the sessions that hold nothing but a
	// question and an answer and are newer than Work, and Short how many they
	// are.
	Asked *Quote
	Short int
	// More is how many older sessions are not told of.
	More int
}

// Work is the state of one conversation's work.
type Work struct {
	Conversation store.Conversation
	// Requests are what the user said last, oldest first; Began is the first
	// request, where that is not among them.
	Requests []Quote
	Began    *Quote
	Stopped  *Quote // what the assistant said last
	// Waiting says that the last word is the user's, or a question to the user.
	Waiting  bool
	Open     []Quote // what reads like something left for later
	Plan     []Step
	Files    []File
	Commands []Command
	Failing  []Command
	Decided  []Quote
	Earlier  []Earlier
}

// Quote is something that was said.
type Quote struct {
	ID   store.MessageID
	Time time.Time
	Who  string
	Text string
	// Asked is the question that the text answers, where it is a short choice.
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

// Command is something that was run.
type Command struct {
	ID      store.MessageID // of the call
	Line    string
	Outcome Outcome
	Detail  string // the line of its output that tells most
}

// Outcome is how a command ended.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota
	Succeeded
	Failed
)

// Earlier is a summary of what came before.
type Earlier struct {
	ID       store.SummaryID
	Messages int
	From, To time.Time
	About    string
}

// Other is a session that is told in short.
type Other struct {
	Conversation store.Conversation
	Began        *Quote // the first request
	Stopped      *Quote // what the assistant said last
	Decided      []Quote
	Open         []Quote
	Files        []File // that no commit followed
	Failing      []Command
}

// Of derives the brief of a project.
func Of(ctx context.Context, s store.Reader, o Options) (Brief, error) {
	if o.Messages <= 0 {
		o.Messages = defaultMessages
	}
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
			n = o.Messages
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

// count tells of the sessions without work that are newer than the work. If
// there are no others, the newest of them is all there is to tell.
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

// short is what is told of a session beside the one that leads.
func (w *Work) short() Other {
	o := Other{Conversation: w.Conversation, Began: w.Began, Stopped: w.Stopped, Failing: w.Failing[:min(len(w.Failing), 2)],
		Decided: w.Decided[max(0, len(w.Decided)-2):], Open: w.Open[max(0, len(w.Open)-2):]}
	if o.Began == nil && len(w.Requests) > 0 {
		o.Began = &w.Requests[0]
	}
	for _, f := range w.Files {
		if !f.Committed && len(o.Files) < 6 {
			o.Files = append(o.Files, f)
		}
	}
	return o
}

// recent lists the conversations to tell of, the main one first, and counts
// those of the project.
func recent(ctx context.Context, s store.Reader, o Options) ([]store.Conversation, int, error) {
	if o.Conversation != 0 {
		c, err := s.Conversation(ctx, o.Conversation)
		return []store.Conversation{c}, 1, err
	}
	found, err := s.Conversations(ctx, store.ConversationQuery{Project: &o.Project})
	if err != nil {
		return nil, 0, err
	}
	// A sub-agent's work is told by the session that started it.
	found = slices.DeleteFunc(found, func(c store.Conversation) bool {
		return c.Parent != 0 || c.Messages == c.Erased || !o.Own && o.Session != "" && c.Key == o.Session
	})
	if o.Own {
		slices.SortStableFunc(found, func(x, y store.Conversation) int {
			return b2i(y.Key == o.Session) - b2i(x.Key == o.Session)
		})
	}
	return found[:min(len(found), candidates)], len(found), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *Work) empty() bool {
	return len(w.Requests) == 0 && w.Stopped == nil && len(w.Commands) == 0 && len(w.Files) == 0
}

// trivial reports a session of a question and an answer, or of a look at the
// state of things: nobody changed, planned or decided anything, nothing was left
// open or failing, and nobody came back with more than a second thought.
func (w *Work) trivial() bool {
	return len(w.Files) == 0 && len(w.Plan) == 0 && len(w.Open) == 0 && len(w.Failing) == 0 &&
		len(w.Requests) > 0 && len(w.Requests) <= 2 && w.Began == nil && !(w.Stopped != nil && w.unanswered()) &&
		!slices.ContainsFunc(w.Decided, func(q Quote) bool { return q.Who == string(llms.RoleUser) }) &&
		!slices.ContainsFunc(w.Commands, func(c Command) bool { return !changesNothing(c.Line) })
}
