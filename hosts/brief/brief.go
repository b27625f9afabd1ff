// Package brief derives from the record what an agent needs to go on with
// work that it has forgotten, or never saw: what was asked for last, where it
// stopped, the open points of the plan, files changed and not committed, the
// last commands and how they ended, what still fails, what was decided, and
// the ids under which everything can be read in full.
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

	"github.com/lossless-context/lcm/store"
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
	candidates      = 12 // conversations that are looked at
	others          = 3  // mentioned besides
)

// Brief is what was derived. It has no Work if there is nothing to tell.
type Brief struct {
	Work   *Work
	Others []Other
}

// Work is the state of one conversation's work.
type Work struct {
	Conversation store.Conversation
	// Requests are what the user said last, oldest first; Began is the first
	// request, where that is not among them.
	Requests []Quote
	Began    *Quote
	Stopped  *Quote // what the assistant said last
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

// Other is a session that is only mentioned.
type Other struct {
	Conversation store.Conversation
	Asked        *Quote // the last request in it
}

// Of derives the brief of a project.
func Of(ctx context.Context, s store.Reader, o Options) (Brief, error) {
	if o.Messages <= 0 {
		o.Messages = defaultMessages
	}
	found, err := recent(ctx, s, o)
	if err != nil {
		return Brief{}, fmt.Errorf("brief: %w", err)
	}
	var b Brief
	for _, c := range found {
		switch {
		case b.Work == nil:
			w, err := work(ctx, s, c, o.Messages)
			if err != nil {
				return Brief{}, fmt.Errorf("brief: conversation %d: %w", c.ID, err)
			}
			if !w.empty() {
				b.Work = &w
			}
		case len(b.Others) < others:
			asked, err := lastRequest(ctx, s, c)
			if err != nil {
				return Brief{}, fmt.Errorf("brief: conversation %d: %w", c.ID, err)
			}
			if asked != nil {
				b.Others = append(b.Others, Other{Conversation: c, Asked: asked})
			}
		}
	}
	return b, nil
}

// recent lists the conversations to tell of, the main one first.
func recent(ctx context.Context, s store.Reader, o Options) ([]store.Conversation, error) {
	if o.Conversation != 0 {
		c, err := s.Conversation(ctx, o.Conversation)
		return []store.Conversation{c}, err
	}
	found, err := s.Conversations(ctx, store.ConversationQuery{Project: &o.Project, Limit: candidates})
	if err != nil {
		return nil, err
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
	return found, nil
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
