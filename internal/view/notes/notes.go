// Package notes finds the turns of a conversation and writes them down, without a model.
//
// A turn begins with words of the user and ends before their next ones. Its notes say
// what the user said, what the assistant said in between and at the end, what the host's
// own summary says, and what changed: files and what was added to them, commits, the plan,
// commands with their output in short, and those that failed and did not succeed since. [Find] makes notes of messages, [Write] makes a text of
// them that is the shorter the deeper it stands, and [Parse] reads such a text, so that
// deeper texts are made of shallower ones. A text depends on its sources and its depth
// alone.
//
// Each note is a line with the number of its message. Words of the user are only what the
// user typed: a prompt, an answer to a question of the assistant, the reason for which a call was
// refused. Of the text of tools only a commit's subject, the name of a file and the beginning and
// end of a command's output are quoted, with the label of the command, and nothing that reads like an
// instruction to the model is, whoever wrote it.
package notes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Kind says what a note is about.
type Kind string

// The kinds of notes.
const (
	User      Kind = "user"      // words of the user
	Assistant Kind = "assistant" // text of the assistant
	Plan      Kind = "plan"      // the assistant's plan, or its open steps
	Host      Kind = "host"      // the host's own summary of what came before
	Files     Kind = "files"     // files that were changed
	Commit    Kind = "commit"    // a commit: its hash and subject
	Edit      Kind = "edit"      // what a change added to a file
	Ran       Kind = "ran"       // a command that succeeded, and its output in short
	Saw       Kind = "saw"       // likewise, of a command that looked at something, or failed
	Failed    Kind = "failed"    // a command that failed and did not succeed since
	Omitted   Kind = "omitted"   // instruction-like text was left out of this message
)

// Line is a note.
type Line struct {
	Kind Kind
	Seq  int64 // the number of its message in the conversation
	Text string
}

// Find returns the notes of messages and of older summaries, in order, uncut. The last
// notes are those of failures.
func Find(sources []record.SummarySource) []Line {
	f := finder{calls: map[string]call{}}
	for i := range sources {
		s := &sources[i]
		if s.Kind == "" {
			f.message(s)
			continue
		}
		f.failed = nil // a deeper note has those of its last source only
		for _, l := range Parse(s.Text) {
			if l.Seq == 0 {
				l.Seq = s.Seq
			}
			if l.Kind == Failed {
				f.failed = append(f.failed, failure{Line: l})
				l.Kind = Saw
			}
			f.add(l.Kind, l.Seq, l.Text)
		}
	}
	f.lines = slices.DeleteFunc(f.lines, func(l Line) bool { return l.Kind == "" })
	for _, open := range f.failed {
		f.lines = slices.DeleteFunc(f.lines, func(l Line) bool { return l.Kind == Saw && l.Seq == open.Seq && l.Text == open.Text })
		f.lines = append(f.lines, open.Line)
	}
	return f.lines
}

// finder makes notes of messages.
type finder struct {
	lines  []Line
	calls  map[string]call // by id
	failed []failure
}

// call is a tool call whose result is to come.
type call struct {
	name, command string
	first, last   int // the lines of what it changes
}

// failure is a failed command.
type failure struct {
	Line
	purpose string
}

func (f *finder) message(s *record.SummarySource) {
	switch {
	case s.Flags&record.FlagHostSummary != 0:
		f.add(Host, s.Seq, said(s))
		return
	case s.Flags&(record.FlagEcho|record.FlagSynthetic) != 0 || s.Role == llms.RoleSystem:
		return
	}
	for i := range s.Parts {
		switch p := &s.Parts[i]; {
		case p.Call != nil:
			f.call(s.Seq, p.Call)
		case p.Result != nil:
			f.result(s, p.Result)
		}
	}
	switch {
	case s.Role == llms.RoleUser:
		f.add(User, s.Seq, said(s))
	case s.Role == llms.RoleAssistant:
		f.add(Assistant, s.Seq, fenced(said(s), maxFenced))
	}
}

// said is the text of a message, without calls, results and reasoning.
func said(s *record.SummarySource) string {
	var texts []string
	if s.Parts == nil && s.Role != llms.RoleTool {
		for line := range strings.Lines(s.Text) {
			if strings.HasPrefix(line, "→ ") || strings.HasPrefix(line, "← ") {
				break // a call or a result, as llms.Message.Render writes it
			}
			texts = append(texts, strings.TrimSuffix(line, "\n"))
		}
	}
	for _, p := range s.Parts {
		switch {
		case p.Call != nil || p.Result != nil:
		case p.Ref != nil:
			texts = append(texts, p.Ref.String())
		case p.Kind == llms.PartText:
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// add appends a note, unless nothing is left of its text.
func (f *finder) add(kind Kind, seq int64, text string) {
	if kind == Omitted {
		f.lines = append(f.lines, Line{Kind: Omitted, Seq: seq})
		return
	}
	text, omitted := clean(text, kind != User && kind != Assistant)
	if text != "" {
		f.lines = append(f.lines, Line{kind, seq, text})
	}
	if omitted {
		f.lines = append(f.lines, Line{Kind: Omitted, Seq: seq})
	}
}

var fence = lazyregexp.New("(?ms)^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```[^\n]*\n?|\\z)")

// fenced shortens the fenced blocks of a text to n characters. One that is most of the text is no
// code but an answer, and stays.
func fenced(text string, n int) string {
	return fence().ReplaceAllStringFunc(text, func(block string) string {
		if n == 0 {
			return "…\n"
		}
		inside, _ := clean(fence().FindStringSubmatch(block)[1], true) // it may quote a tool
		if 2*len(inside) <= len(text) {
			inside = Clip(inside, n)
		}
		return inside + "\n"
	})
}

// maxFenced is how much of a block is noted: what it declares or prints first, and its end.
const maxFenced = 240

// Parse reads the notes of a text that Write made. Other lines, as a model writes them,
// are notes of the assistant without a number; the last line of a summary is left out.
func Parse(text string) (lines []Line) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Expand for details about:") {
			continue
		}
		kind, rest, ok := strings.Cut(line, "#")
		number, said, colon := strings.Cut(rest, ": ")
		seq, err := strconv.ParseInt(number, 10, 64)
		if !ok || !colon || err != nil || !known[Kind(kind)] {
			lines = append(lines, Line{Kind: Assistant, Text: line})
			continue
		}
		lines = append(lines, Line{Kind(kind), seq, said})
	}
	return lines
}

var known = map[Kind]bool{User: true, Assistant: true, Plan: true, Host: true, Files: true, Commit: true, Edit: true, Ran: true, Saw: true, Failed: true, Omitted: true}
