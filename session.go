package lcm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// Session is the memory of one agent session, named by a key that stays the
// same when the program restarts. Its conversation is made when something is
// first appended, or when [Session.Conversation] asks for it.
type Session struct {
	engine *Engine
	open   store.NewConversation // never changes; see opening

	mu       sync.Mutex
	untitled bool                  // the title of open quotes an erased message
	conv     record.ConversationID // the active conversation, once known
	archived bool                  // conv was archived when Resume found it
	seen     map[record.MessageID]store.Message
}

// SessionOption says more about a session than its key.
type SessionOption func(*sessionSettings)

// sessionSettings are set by SessionOptions.
type sessionSettings struct{ store.NewConversation }

// WithProject says where the session's work happens.
func WithProject(p record.Project) SessionOption {
	return func(n *sessionSettings) { n.Project = p }
}

// WithAgent names the agent or host that speaks in the session.
func WithAgent(name string) SessionOption {
	return func(n *sessionSettings) { n.Agent = name }
}

// WithTitle gives the session a title for people.
func WithTitle(title string) SessionOption {
	return func(n *sessionSettings) { n.Title = title }
}

// WithParent says that the session is a sub-agent's.
func WithParent(parent record.ConversationID) SessionOption {
	return func(n *sessionSettings) { n.Parent = parent }
}

// Session returns the session with the given key. It does no I/O: a bad key is
// reported by the first method that is called.
func (e *Engine) Session(key string, options ...SessionOption) *Session {
	n := sessionSettings{store.NewConversation{Key: key}}
	for _, o := range options {
		o(&n)
	}
	n.Title = e.Title(n.Title)
	if w := e.settings.within; len(w) == 1 && n.Project == (record.Project{}) {
		n.Project = w[0]
	}
	return &Session{engine: e, open: n.NewConversation}
}

// Title returns a title as a session keeps it: without private blocks and, unless they are
// kept, secrets. Who cuts a text to a title calls it first, because the beginning of a
// secret does not look like one.
func (e *Engine) Title(title string) string { return ingest.Title(e.settings.privacy, title) }

// Key returns the session's key.
func (s *Session) Key() string { return s.open.Key }

// Conversation returns the session's active conversation, made if there is
// none.
func (s *Session) Conversation(ctx context.Context) (record.Conversation, error) {
	if id := s.current(); id != 0 {
		c, err := s.engine.store.Conversation(ctx, id)
		if err != nil || c.Active() {
			return c, err
		}
	}
	if err := s.CheckIgnored(); err != nil {
		return record.Conversation{}, err
	}
	c, err := s.engine.store.Open(ctx, s.opening())
	if err != nil {
		return c, fmt.Errorf("session %q: %w", s.open.Key, err)
	}
	s.setCurrent(c.ID)
	return c, nil
}

// opening returns the values that a conversation of the session starts with.
func (s *Session) opening() store.NewConversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.open
	if s.untitled {
		n.Title = ""
	}
	return n
}

// current returns the number of the conversation that a call has found before, or 0.
// Another process may have archived it since.
func (s *Session) current() record.ConversationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conv
}

// setCurrent remembers a conversation that was found, and returns it.
func (s *Session) setCurrent(id record.ConversationID) record.ConversationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv, s.archived = id, false
	return id
}

// archivedSegment returns the archived conversation that the session was resumed at, or 0.
func (s *Session) archivedSegment() record.ConversationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archived {
		return s.conv
	}
	return 0
}

// known returns the current conversation, or looks for the active one: 0 if there is
// none. It writes nothing.
func (s *Session) known(ctx context.Context) (record.ConversationID, error) {
	if id := s.current(); id != 0 {
		return id, nil
	}
	if s.open.Key == "" {
		return 0, errors.New("a session needs a key")
	}
	if err := s.CheckIgnored(); err != nil {
		return 0, err
	}
	found, err := s.engine.store.Conversations(ctx, store.ConversationQuery{Key: s.open.Key, ActiveOnly: true, Limit: 1})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return s.setCurrent(found[0].ID), nil
}

// active returns the current conversation, or opens one.
func (s *Session) active(ctx context.Context) (record.ConversationID, error) {
	if id := s.current(); id != 0 {
		return id, nil
	}
	c, err := s.Conversation(ctx)
	return c.ID, err
}

// onActive runs fn on the conversation that find returns, and once more on its
// successor if another process archived it in the meantime.
func (s *Session) onActive(ctx context.Context, find func(context.Context) (record.ConversationID, error), fn func(record.ConversationID) error) error {
	for try := 0; ; try++ {
		id, err := find(ctx)
		if err != nil {
			return err
		}
		err = fn(id)
		if !errors.Is(err, store.ErrArchived) || try > 0 {
			return err
		}
		s.setCurrent(0)
	}
}

// Archive ends the session's conversation, if there is one. The next Append
// begins a new segment under the same key.
func (s *Session) Archive(ctx context.Context, cause string) error {
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return err
	}
	if err := s.engine.store.Archive(ctx, id, cause); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv, s.seen = 0, nil
	return nil
}

// Fork returns a session with a key of its own whose view starts as this one's
// up to and including a message.
func (s *Session) Fork(ctx context.Context, key string, at record.MessageID) (*Session, error) {
	id, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	n := s.opening()
	n.Key = key
	c, err := s.engine.store.Fork(ctx, id, at, n)
	if err != nil {
		return nil, err
	}
	return &Session{engine: s.engine, open: n, conv: c.ID}, nil
}

// Rewind makes a message the newest of the view; later messages are kept
// as a branch.
func (s *Session) Rewind(ctx context.Context, to record.MessageID, cause string) error {
	return s.onActive(ctx, s.known, func(id record.ConversationID) error {
		return s.engine.store.Update(ctx, id, func(w store.Writer) error {
			_, err := w.Rewind(ctx, to, cause)
			return err
		})
	})
}

// Verify proves the session's active conversation. A session without one is sound
// and has no messages; that is no error.
func (s *Session) Verify(ctx context.Context) (record.Verification, error) {
	id, err := s.known(ctx)
	if err != nil || id == 0 {
		return record.Verification{}, err
	}
	return s.engine.store.Verify(ctx, id)
}

// Resume returns the session of a conversation that exists, by number. An
// archived conversation can be read this way; messages appended to its session go
// to the active segment of its key.
func (e *Engine) Resume(ctx context.Context, id record.ConversationID) (*Session, error) {
	c, err := e.store.Conversation(ctx, id)
	if err != nil {
		return nil, err
	}
	open := store.NewConversation{Key: c.Key, Agent: c.Agent, Project: c.Project, Title: c.Title, Parent: c.Parent}
	return &Session{engine: e, open: open, conv: c.ID, archived: !c.Active()}, nil
}

// CheckIgnored returns an error that wraps [record.ErrIgnored] if the settings of [WithPrivacy]
// exclude the session from the record. Methods that would write to it return the same.
func (s *Session) CheckIgnored() error {
	return ingest.CheckIgnored(s.engine.settings.privacy, s.open.Key, s.open.Project)
}
