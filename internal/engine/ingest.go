package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// ingested is the answer to ingest.
type ingested struct {
	Read   int `json:"read"`   // new records of the transcript
	Stored int `json:"stored"` // messages of the request that are new
	Known  int `json:"known"`  // messages of the request that the record had
}

// ingest reads the transcript of a session, if lcm does, and stores those messages of the
// request that the record lacks.
func (s *server) ingest(ctx context.Context, r request) (any, error) {
	o, err := s.record(ctx)
	if err != nil {
		return nil, err
	}
	var out ingested
	if o.reads {
		if out.Read, err = o.read(ctx, r.Session); err != nil {
			return nil, err
		}
	}
	inputs, err := o.inputs(r)
	if err != nil {
		return nil, err
	}
	if len(inputs) > 0 {
		put := func() error {
			if err := o.goBack(ctx, r, inputs[0].ID); err != nil {
				return err
			}
			out.Stored, err = s.store(ctx, o, r.Session, inputs)
			return err
		}
		if o.reads {
			err = o.Feed.Hold(ctx, hosts.Transcript{Host: o.host, Session: r.Session}, put)
		} else {
			err = put()
		}
		if err != nil {
			return nil, err
		}
		out.Known = len(inputs) - out.Stored
	}
	if r.UpTo != "" {
		known, err := o.known(ctx, o.key(r.Session), []record.Input{{Message: llms.Message{ID: r.UpTo}}})
		if err != nil {
			return nil, err
		}
		if !known[r.UpTo] {
			return nil, fail(codeFailed, "the entry %s is not in the record yet", r.UpTo)
		}
	}
	o.proxy.Ready(o.host, r.Session)
	return out, nil
}

// read reads the new records of a session's transcript. It may have none yet.
func (o *opened) read(ctx context.Context, session string) (n int, err error) {
	t, err := o.Feed.Locate(ctx, o.host, "", session)
	if errors.Is(err, hosts.ErrNoTranscript) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	report, err := o.Feed.CatchUp(ctx, t, hosts.Limits{Wait: true})
	return report.New, err
}

// inputs reads the messages of a request, each with its id.
func (o *opened) inputs(r request) ([]record.Input, error) {
	if len(r.Messages) == 0 {
		return nil, nil
	}
	f, err := r.form()
	if err != nil {
		return nil, err
	}
	var given []struct {
		ID      string          `json:"id"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(r.Messages, &given); err != nil {
		return nil, fail(codeRequest, "messages: %v", err)
	}
	inputs := make([]record.Input, len(given))
	for i, g := range given {
		if g.ID == "" {
			return nil, fail(codeRequest, "messages[%d]: it has no id", i)
		}
		raw := []byte(g.Message)
		if f.record == llms.FormatPi {
			raw = append(append([]byte(`{"type":"message","message":`), raw...), '}')
		}
		m, err := wire.Decode(f.record, "", raw)
		if err == nil && hosts.IsUnknown(m) {
			err = errors.New("it has no known role")
		}
		if err != nil {
			return nil, fail(codeRequest, "messages[%d]: %v", i, err)
		}
		m.ID = g.ID
		if o.reads {
			m.Raw = llms.Raw{} // the host's own row comes later, and has its bytes
		}
		inputs[i].Message = m
	}
	return inputs, nil
}

// store stores the messages that the record lacks, and returns how many these were.
func (s *server) store(ctx context.Context, o *opened, session string, inputs []record.Input) (int, error) {
	key := o.key(session)
	options := []lcm.SessionOption{lcm.WithProject(o.project), lcm.WithAgent(o.host), lcm.WithTitle(title(inputs))}
	s.mu.Lock()
	parent := s.session(session).parent
	s.mu.Unlock()
	if parent != "" {
		c, err := o.Engine.Session(o.key(parent), lcm.WithProject(o.project), lcm.WithAgent(o.host)).Conversation(ctx)
		if err != nil {
			return 0, err
		}
		options = append(options, lcm.WithParent(c.ID))
	}
	if o.reads { // a row of the host's has other bytes than the message
		known, err := o.known(ctx, key, inputs)
		if err != nil {
			return 0, err
		}
		fresh := inputs[:0:0]
		for _, in := range inputs {
			if !known[in.ID] {
				fresh = append(fresh, in)
			}
		}
		inputs = fresh
	}
	if len(inputs) == 0 {
		return 0, nil
	}
	done, err := o.Engine.Session(key, options...).AppendInputs(ctx, inputs...)
	n := 0
	for _, one := range done {
		if !one.Existed {
			n++
		}
	}
	return n, err
}

// goBack takes the messages back that follow the one which the first of a request follows, if that is
// new: the user went on from an earlier message. They stay in the record. Where lcm reads the
// transcript, that says it.
func (o *opened) goBack(ctx context.Context, r request, first string) error {
	if r.After == "" || o.reads {
		return nil
	}
	conv, err := conversation(ctx, o.Engine.Store(), o.key(r.Session))
	if err != nil || conv == 0 {
		return err
	}
	var after, newest store.Message
	for m, err := range o.Engine.Store().Messages(ctx, store.MessageQuery{Conversation: conv, Natives: []string{r.After, first}, NoRaw: true}) {
		if err != nil || m.Native == first {
			return err // it is stored already
		}
		after = m
	}
	if newest, err = store.First(o.Engine.Store().Messages(ctx, store.MessageQuery{Conversation: conv, Newest: true, Limit: 1, NoRaw: true})); err != nil {
		return err
	}
	switch after.ID {
	case newest.ID:
		return nil
	case 0:
		return fail(codeFailed, "after: the record has no message %q of this session; ingest it first", r.After)
	}
	return o.Engine.Session(o.key(r.Session)).Rewind(ctx, after.ID, "the host went back to an earlier message")
}

// known returns the ids of the messages that the record has.
func (o *opened) known(ctx context.Context, key string, inputs []record.Input) (map[string]bool, error) {
	known := map[string]bool{}
	conv, err := conversation(ctx, o.Engine.Store(), key)
	if err != nil || conv == 0 {
		return known, err
	}
	ids := make([]string, len(inputs))
	for i, in := range inputs {
		ids[i] = in.ID
	}
	for m, err := range o.Engine.Store().Messages(ctx, store.MessageQuery{Conversation: conv, Natives: ids, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		known[m.Native] = true
	}
	return known, nil
}

// maxTitle bounds a title.
const maxTitle = 80

// title is the beginning of the first prompt.
func title(inputs []record.Input) string {
	for _, in := range inputs {
		if in.Role != llms.RoleUser {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(in.PlainText()), "\n")
		if words := []rune(line); len(words) > maxTitle {
			line = string(words[:maxTitle-1]) + "…"
		}
		return line
	}
	return ""
}

// conversation returns the active conversation of a session, or 0.
func conversation(ctx context.Context, r interface {
	Conversations(context.Context, store.ConversationQuery) ([]store.Conversation, error)
}, key string) (store.ConversationID, error) {
	found, err := r.Conversations(ctx, store.ConversationQuery{Key: key, ActiveOnly: true, Limit: 1})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].ID, nil
}

// feed brings a session's messages to package proxy: from the transcript or, where there is
// none, those that the adapter has ingested.
type feed struct{ *opened }

// Locate implements [proxy.Feed].
func (f feed) Locate(ctx context.Context, host, path, session string) (hosts.Transcript, error) {
	t, err := hosts.Transcript{}, error(hosts.ErrNoTranscript)
	if f.reads {
		t, err = f.Feed.Locate(ctx, host, path, session)
	}
	if !errors.Is(err, hosts.ErrNoTranscript) {
		return t, err
	}
	t = hosts.Transcript{Host: host, Session: session}
	id, problem := conversation(ctx, f.Engine.Store(), t.Key())
	if problem != nil || id == 0 {
		return t, errors.Join(err, problem)
	}
	return t, nil
}

// CatchUp implements [proxy.Feed].
func (f feed) CatchUp(ctx context.Context, t hosts.Transcript, l hosts.Limits) (hosts.Report, error) {
	if t.Path != "" {
		return f.Feed.CatchUp(ctx, t, l)
	}
	id, err := conversation(ctx, f.Engine.Store(), t.Key())
	return hosts.Report{Transcript: t, Conversation: id, Complete: true}, err
}

// Recent implements [proxy.Feed].
func (f feed) Recent(ctx context.Context, filter hosts.Filter) ([]hosts.Transcript, error) {
	return f.Feed.Recent(ctx, filter)
}
