// Package solved finds how a failure was solved before: when a call has failed because of how it
// was called or what the machine lacks, and the record has the same failure with a success after
// it, the agent is told what was changed, and what then worked.
//
// It is silent unless it is certain. The cause must be a line of a known form (forms), the same
// but for paths, numbers, hashes and quotation marks; the two commands must be alike; and between
// the failure and the success no file was changed, for otherwise the code was mended, and not the
// call. Failing tests, linters and compilers have no cause of such a form.
//
// Nothing that a tool said is in the line: the agent has just seen the error. It has the commands
// of the agent itself, in quotation marks, and none of them if it reads like an instruction.
package solved

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall/quote"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
)

// Record is the part of a store that is searched.
type Record interface {
	store.Reader
	store.Searcher
}

// Failure is a call that has just failed.
type Failure struct {
	Call   llms.ToolCall
	Output string
	// Known says that the host called it a failure. If it did not, the output has to say so.
	Known bool
}

// Cause returns what is compared with other failures, or "" if nothing is known to help.
func (f Failure) Cause() string { return try(f.Call, f.Output, f.Known).cause }

// Options select the messages to search.
type Options struct {
	Project store.Project
	Before  time.Time // only messages before this, if it is not zero
}

// Solution is what worked after an earlier failure with the same cause.
type Solution struct {
	Text   string // the sentence about it
	Failed store.MessageID
	Worked store.MessageID // the call that worked
	Time   time.Time
}

// Bounds of the search: the failures that are looked at, and the messages before and after one.
const (
	maxHits = 6
	before  = 8
	after   = 16
)

// minLiteral is the least length of a text that is searched for.
const minLiteral = 8

// Find returns how a failure was solved before, or nil. The newest solution counts.
func Find(ctx context.Context, r Record, f Failure, o Options) (*Solution, error) {
	now := try(f.Call, f.Output, f.Known)
	text := literal(now.cause)
	if len(text) < minLiteral {
		return nil, nil
	}
	in, err := r.Conversations(ctx, store.ConversationQuery{Project: &o.Project})
	if err != nil || len(in) == 0 {
		return nil, err
	}
	q := store.Search{Mode: store.Regex, Pattern: pattern(text), Roles: []llms.Role{llms.RoleTool, llms.RoleAssistant}, Sort: store.ByRecency, Limit: maxHits, Before: o.Before}
	for _, c := range in {
		q.Conversations = append(q.Conversations, c.ID)
	}
	slices.Sort(q.Conversations)
	found, err := r.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find how the failure was solved: %w", err)
	}
	for _, h := range found.Hits {
		s, err := solution(ctx, r, h, now, o)
		if s != nil || err != nil {
			return s, err
		}
	}
	return nil, nil
}

// made is an attempt in the record.
type made struct {
	attempt
	message store.Message // with the call
	seq     int64         // of the result
}

// solution returns what worked after a failure in the record, or nil.
func solution(ctx context.Context, r Record, h store.Hit, now attempt, o Options) (*Solution, error) {
	hit, err := store.First(r.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{h.Message}, NoRaw: true}))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(hit.Body.ToolResults(), func(res llms.ToolResult) bool { return now.causeIn(text(res.Output)) == now.cause }) {
		return nil, nil
	}
	all, edits, err := attempts(ctx, r, hit, o.Before)
	if err != nil {
		return nil, err
	}
	for i, failed := range all {
		if failed.seq != hit.Seq || !failed.failed || failed.cause != now.cause || !sameThing(failed.attempt, now) {
			continue
		}
		for j, worked := range all[i+1:] {
			if slices.ContainsFunc(edits, func(seq int64) bool { return seq > failed.message.Seq && seq < worked.message.Seq }) {
				break
			}
			if worked.failed || worked.message.Seq <= failed.message.Seq {
				continue
			}
			text := sentence(failed, worked, all[i+1:i+1+j], now)
			if text != "" {
				return &Solution{Text: text, Failed: hit.ID, Worked: worked.message.ID, Time: worked.message.Body.Time}, nil
			}
		}
	}
	return nil, nil
}

// attempts lists the calls around a message in the order of their results, and where files were
// changed.
func attempts(ctx context.Context, r Record, hit store.Message, until time.Time) (all []made, edits []int64, err error) {
	calls := map[string]made{}
	for m, err := range r.Messages(ctx, store.MessageQuery{Conversation: hit.Conversation, After: hit.Seq - before - 1, NoRaw: true, Limit: before + 1 + after}) {
		if err != nil {
			return nil, nil, err
		}
		if !until.IsZero() && !m.Body.Time.Before(until) {
			break
		}
		for _, c := range m.Body.ToolCalls() {
			calls[c.ID] = made{attempt: attempt{call: c}, message: m}
			if len(notes.Changed(&c)) > 0 {
				edits = append(edits, m.Seq)
			}
		}
		for _, res := range m.Body.ToolResults() {
			c, ok := calls[res.CallID]
			if !ok || m.Seq < hit.Seq {
				continue
			}
			c.attempt, c.seq = try(c.call, text(res.Output), res.IsError), m.Seq
			all = append(all, c)
		}
	}
	return all, edits, nil
}

func text(parts []llms.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// sameThing reports whether two failed calls tried the same thing.
func sameThing(x, y attempt) bool {
	if x.line == "" || y.line == "" {
		return x.line == y.line && x.call.Name == y.call.Name
	}
	others := blamed(y.line, y.cause)
	return x.line == y.line || slices.ContainsFunc(blamed(x.line, x.cause), func(c []string) bool {
		return slices.ContainsFunc(others, func(o []string) bool { return similar(o, c) })
	})
}

// sentence says what was changed between two calls, or "" if the second is no solution of what
// has failed now.
func sentence(failed, worked made, between []made, now attempt) string {
	var text string
	switch {
	case failed.line == "" && worked.call.Name == failed.call.Name:
		change, keys := argumentChange(failed.args, worked.args)
		if change == "" || !slices.ContainsFunc(keys, func(key string) bool {
			return now.args[key] != nil && !reflect.DeepEqual(now.args[key], worked.args[key])
		}) {
			return ""
		}
		text = quote.Text(failed.call.Name, maxCommand) + " failed the same way, and then worked " + change
	case failed.line == "" || worked.line == "":
		return ""
	case worked.line == failed.line:
		for _, b := range slices.Backward(between) {
			if b.line != "" && !b.failed && mends(b.line, failed.cause) {
				text = quote.Text(shownLine(failed.line), maxCommand) + " failed the same way, and worked after " + quote.Text(shownLine(b.line), maxCommand)
				break
			}
		}
	default:
		from, to := changed(failed.attempt, worked.attempt)
		if to == nil || slices.ContainsFunc(commands(now.line), func(c []string) bool { return slices.Equal(c, to) }) {
			return ""
		}
		was, now := shownChange(from, to)
		if was == now { // they differ in prose
			return ""
		}
		text = was + " failed the same way, and " + now + " then worked"
	}
	// The words of a quotation, too: one may be a name that was chosen to be read.
	for _, piece := range append(quotation().Split(text, -1), text) {
		if notes.ReadsAsOrder(piece) {
			return ""
		}
	}
	return text
}

// MaxTokens is the most tokens of a block, by lcm's estimate.
const MaxTokens = 120

// Block renders a solution for an agent's context, or returns "".
func (s *Solution) Block() string {
	if s == nil {
		return ""
	}
	block := quote.Block(fmt.Sprintf("Earlier in this project, as quoted data: %s (%s, %s).", s.Text, quote.Time(s.Time), s.Worked))
	if llms.Estimate.Count(block) > MaxTokens {
		return ""
	}
	return block
}
