// Package brief derives a block from the record, with which an agent can continue work
// that it has forgotten or never saw: where the last work stands, open points, what was
// decided last, standing instructions of the user, and one line for each other session.
// A session that its host has compacted is told only what the host's summary does not
// say, if the record has that summary.
//
// The turns are read by package notes, and what they mean is taken from their structure:
// the last answer of a session, a command that failed and did not succeed since, open steps
// of a plan, questions without an answer, and answers to questions.
//
// The newest session that did work leads, or the session that is briefed about itself. Turns
// that only asked lcm are left out, and every session is listed or counted.
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
)

// Options select the sessions of a brief.
type Options struct {
	// Project selects the sessions.
	Project store.Project
	// Conversation is the leading one; 0 is the newest of the project.
	Conversation store.ConversationID
	// Session is the key of the session that asks. It is left out, unless Own is
	// set: for a sub-agent of it, and after a compaction, when it has forgotten its own
	// messages.
	Session string
	Own     bool
	// Compacted is when the host compacted the session, if it did. Its summary is one
	// that was written since then.
	Compacted time.Time
}

const (
	ownMessages   = 2000 // the newest of a compacted session that are read
	leadMessages  = 300  // of the leading session
	otherMessages = 120  // of another session
	candidates    = 60   // sessions that are read, newest first
	others        = 8    // sessions beside the leading one, if there are that many that did work
)

// Brief is the result. Work is nil if there is nothing to tell.
type Brief struct {
	Work   *Work
	Others []Work // the sessions beside the leading one, newest first
	// Own says that the session is briefed about itself.
	Own bool
	// Asking is the number of sessions that only asked lcm, Empty of those in which nothing
	// was said, Continued of those that began with the same message as a newer one, and
	// Older of those that were not read.
	Asking, Empty, Continued, Older int
	// Note is added to the first lines of the block.
	Note string
}

// Work is the state of one conversation's work.
type Work struct {
	Conversation store.Conversation
	Branch       string          // of git, where the host records it
	Requests     []Quote         // of the user, oldest first
	Began        *Quote          // the first request
	Task         *Quote          // the last request after which files were changed, or the last if none were or it has no answer
	Stands       *Quote          // the assistant's last text
	Question     string          // at its end, and not answered
	Unfinished   store.MessageID // the call or result with which the record of it ends
	Host         *Quote          // the host's summary of what came before
	Plan         *Quote          // the open steps of the last plan
	Failing      []Quote         // commands that failed and did not succeed since
	Files        []File          // changed and not committed in the record, the latest first
	Decided      []Quote         // answers of the user, oldest first
	Rules        []Quote         // standing instructions of the user, oldest first
	// Worked says that something was changed, run or discussed at length.
	Worked bool
	// onlyAsked says that all turns only asked lcm.
	onlyAsked bool
}

// Quote is a quotation from a message.
type Quote struct {
	ID   store.MessageID
	Time time.Time
	Text string
	// Asked is the question that it answers.
	Asked string
}

// key is the same for the copies of a message that a host makes when it resumes a session.
func (q Quote) key() string { return q.Time.String() + q.Text }

// File is a file that the agent changed.
type File struct {
	Path string
	Last store.MessageID
}

// Of derives the brief of a project.
func Of(ctx context.Context, s store.Reader, o Options) (Brief, error) {
	found, err := sessions(ctx, s, o)
	if err != nil {
		return Brief{}, fmt.Errorf("brief: %w", err)
	}
	b := Brief{Own: o.Own}
	since := later{succeeded: map[string]time.Time{}, failed: map[string]bool{}}
	begun := map[string]bool{}
	worked := 0
	for i, c := range found {
		if i == candidates || worked > others {
			b.Older = len(found) - i
			break
		}
		own := o.Own && c.Key == o.Session
		n := otherMessages
		switch {
		case own && !o.Compacted.IsZero():
			n = ownMessages
		case b.Work == nil:
			n = leadMessages
		}
		w, err := work(ctx, s, c, n, own, &since)
		if err != nil {
			return Brief{}, fmt.Errorf("brief: conversation %d: %w", c.ID, err)
		}
		if w.Host != nil && (!own || o.Compacted.IsZero() || w.Host.Time.Before(o.Compacted)) {
			w.Host = nil
		}
		if own { // it goes on
			w.Unfinished = 0
		}
		switch {
		case own && w.Began != nil: // whatever it did
			b.Work = &w
			worked++
		case w.onlyAsked:
			b.Asking++
		case len(w.Requests) == 0 && w.Stands == nil && !w.Worked:
			b.Empty++
		case w.Began != nil && begun[w.Began.key()]:
			b.Continued++
		case b.Work == nil && (w.Worked || own || o.Conversation != 0):
			b.Work = &w
			worked++
		default:
			b.Others = append(b.Others, w)
			if w.Worked {
				worked++
			}
		}
		if w.Began != nil && !w.Began.Time.IsZero() {
			begun[w.Began.key()] = true
		}
	}
	if b.Work == nil && len(b.Others) > 0 { // nothing but questions
		b.Work, b.Others = &b.Others[0], b.Others[1:]
	}
	if b.Work != nil {
		b.Work.Branch, err = branch(ctx, s, b.Work.Conversation.ID)
	}
	return b, err
}

// sessions lists the conversations of a brief, the leading one first.
func sessions(ctx context.Context, s store.Reader, o Options) ([]store.Conversation, error) {
	if o.Conversation != 0 {
		c, err := s.Conversation(ctx, o.Conversation)
		return []store.Conversation{c}, err
	}
	found, err := s.Conversations(ctx, store.ConversationQuery{Project: &o.Project})
	if err != nil {
		return nil, err
	}
	// The session that started a sub-agent covers its work.
	found = slices.DeleteFunc(found, func(c store.Conversation) bool {
		return c.Parent != 0 || c.Messages == c.Erased || !o.Own && o.Session != "" && c.Key == o.Session
	})
	if i := slices.IndexFunc(found, func(c store.Conversation) bool { return c.Key == o.Session }); o.Own && i > 0 {
		own := found[i]
		found = slices.Insert(slices.Delete(found, i, i+1), 0, own)
	}
	return found, nil
}
