package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// leastShortened is the least size above which outputs are shortened, in tokens: a smaller excerpt
// says nothing.
const leastShortened = 500

// readers are the tools with which hosts read files, and lcm's own: what a model asks for there it
// wants to have. opencode: read; pi: read; OpenClaw: read, memory_get; other hosts: their names for
// the same.
var readers = []string{"read", "read_file", "readfile", "readmanyfiles", "read_many_files", "view", "view_file", "cat", "open_file", "notebookread", "memory_get"}

// shortened is the answer to shorten. Without a text the output is handed on whole.
type shortened struct {
	Text string `json:"text,omitempty"`
}

// shorten returns what an output of a tool is handed on as, once all of it is in the record.
func (s *server) shorten(ctx context.Context, r request) (any, error) {
	if r.Call == "" && r.Entry == "" {
		return nil, fail(codeRequest, "shorten needs the call, or the entry of the transcript, whose output the text is")
	}
	name := strings.ToLower(r.Tool)
	if s.ShortenAbove <= 0 || slices.Contains(readers, name) || strings.HasPrefix(name, "lcm_") || llms.Estimate.Count(r.Text) <= max(s.ShortenAbove, leastShortened) {
		return shortened{}, nil
	}
	ctx, _, cancel := r.wait(ctx, catchUpTime)
	defer cancel()
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	id, err := s.keepOutput(ctx, o, r)
	if errors.Is(err, record.ErrIgnored) {
		return shortened{}, nil // the session is kept out of the record
	}
	if err != nil || id == "" {
		return shortened{}, err
	}
	return shortened{excerpt(r.Text, id, max(s.ShortenAbove, leastShortened))}, nil
}

// keepOutput returns the id under which lcm_describe has an output: that of its entry in the transcript,
// or of a message that is not part of the view. It is empty if the record does not have all of it.
func (s *server) keepOutput(ctx context.Context, o *opened, r request) (string, error) {
	native := r.Entry
	if native == "" {
		native = "output:" + r.Call
		m := llms.Message{ID: native, Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartText, Text: r.Text}}}
		put := func() error {
			_, err := s.store(ctx, o, r.Session, []record.Input{{Message: m, Flags: store.FlagHidden}})
			return err
		}
		var err error
		if o.reads {
			err = o.Feed.Hold(ctx, hosts.Transcript{Host: o.host, Session: r.Session}, put)
		} else {
			err = put()
		}
		if err != nil {
			return "", err
		}
	} else if _, err := o.read(ctx, r.Session); err != nil {
		return "", err
	}
	conv, err := conversation(ctx, o.Engine.Store(), o.key(r.Session))
	if err != nil || conv == 0 {
		return "", err
	}
	m, err := store.First(o.Engine.Store().Messages(ctx, store.MessageQuery{Conversation: conv, Natives: []string{native}, NoRaw: true}))
	if err != nil {
		return "", fmt.Errorf("the output is not in the record: %w", err)
	}
	if m.Flags&store.FlagRedacted != 0 || m.Damaged {
		return "", nil
	}
	if refs := store.Refs(m.Body.Parts); len(refs) > 0 {
		return refs[0].ID, nil
	}
	return m.ID.String(), nil
}

// excerpt returns the beginning of an output, its lines with errors and its end, each about a quarter of
// a number of tokens, and says where the rest is.
func excerpt(text, id string, tokens int) string {
	lines := strings.SplitAfter(text, "\n")
	from, to := 0, len(lines)
	for room := tokens; from < to && len(lines[from]) <= room; from++ { // a quarter, at four bytes a token
		room -= len(lines[from])
	}
	for room := tokens; to > from && len(lines[to-1]) <= room; to-- {
		room -= len(lines[to-1])
	}
	head, tail := strings.Join(lines[:from], ""), strings.Join(lines[to:], "")
	if from == 0 { // lines without an end
		head = strings.ToValidUTF8(text[:tokens], "") + "\n"
	}
	if to == len(lines) {
		tail = strings.ToValidUTF8(text[len(text)-tokens:], "")
	}
	var bad strings.Builder
	for i := from; i < to; i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if bad.Len()+len(line) > tokens {
			continue
		}
		if notes.Bad(line) && utf8.ValidString(line) {
			fmt.Fprintf(&bad, "%d: %s\n", i+1, line)
		}
	}
	left := max(0, llms.Estimate.Count(text)-llms.Estimate.Count(head)-llms.Estimate.Count(tail))
	note := fmt.Sprintf("[lcm: %s tokens are left out here, of lines %d to %d. lcm_describe(id: %q) has all of it, with lines: \"%d-%d\" some lines, with a pattern those that match.",
		prose.Number(left), from+1, to, id, from+1, min(to, from+100))
	if bad.Len() > 0 {
		note += " Lines with errors among them:\n" + strings.TrimRight(bad.String(), "\n")
	}
	return head + note + "]\n" + tail
}
