package teamserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// Peer is another machine of the same person.
type Peer struct {
	Machine string // its id
	Name    string // for people
	// Stays reports whether a conversation of this machine is private: the other machine
	// must not push into it. Nil means that none is.
	Stays func(store.Conversation) bool
}

// Peer takes the pushes of another machine of the same person, which are made over a
// connection that this person has opened: there is no token. machine is the id of this
// machine. Sessions keep their keys, so that one that is on both machines is one here too. The caller
// finishes the erasures.
func (s *Server) Peer(machine string, other Peer) http.Handler {
	c := &client{
		Server: s, token: access.Token{Append: true, Erase: true}, machine: machine, peer: other, store: s.config.Store, engine: s.config.Engine,
		pools: []*semaphore.Weighted{s.bodies},
	}
	mux := http.NewServeMux()
	for _, path := range []string{teamsync.StatusPath, teamsync.PushPath, teamsync.ErasePath, teamsync.VerifyPath} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			answer, err := routes[path].handle(c, w, r)
			s.answer(w, r, answer, err)
		})
	}
	return bounded(mux)
}

// Received returns the messages of a store that a peer has pushed; all peers if machine
// is empty.
func Received(ctx context.Context, s store.Store, machine string) (map[store.MessageID]bool, error) {
	rows, err := s.List(ctx, store.SyncSpace)
	if err != nil {
		return nil, err
	}
	own := map[string][]int64{}
	for _, row := range rows {
		if strings.HasPrefix(row.Key, "/") && strings.Count(row.Key, "/") == 2 {
			var p progress
			if err := json.Unmarshal(row.Data, &p); err != nil {
				return nil, fmt.Errorf("read how far a push came: %w", err)
			}
			own[row.Key] = p.Own
		}
	}
	all := map[store.MessageID]bool{}
	for _, row := range rows {
		// /machine/source/number: the rows of a server's users do not begin with a slash.
		part := strings.Split(row.Key, "/")
		if len(part) != 4 || part[0] != "" || machine != "" && part[1] != machine {
			continue
		}
		batch, err := decodeBatch(row.Data)
		if err != nil {
			return nil, err
		}
		source := row.Key[:strings.LastIndex(row.Key, "/")]
		for _, m := range batch {
			if !slices.Contains(own[source], m.seq) {
				all[m.id] = true
			}
		}
	}
	return all, nil
}

// disown leaves out the messages of a batch that this machine had before and did not send there:
// the source must not erase them. It returns the numbers of those that it did send, which the
// source may erase, and which still are this machine's own.
func (c *client) disown(ctx context.Context, p progress, b teamsync.Batch, done []store.Appended, held map[int]store.MessageID) (own []int64, err error) {
	var ids []store.MessageID
	var at []int
	for i, a := range done {
		if a.Existed && !a.Forgotten && a.ID != 0 {
			ids, at = append(ids, a.ID), append(at, i)
		}
	}
	if c.machine == "" || len(ids) == 0 {
		return nil, nil
	}
	was, err := c.batch(ctx, p, b.After) // a push that was cut off may have stored it
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	next := 0
	for m, err := range c.store.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		i := at[next]
		next++
		if strings.HasPrefix(m.Native, "sync:"+p.row+":") || slices.Contains(was, stored{b.Messages[i].Seq, m.ID}) {
			continue
		}
		sent, err := teamsync.SentTo(ctx, c.store, c.peer.Machine, m.Conversation)
		if err != nil {
			return nil, err
		}
		if m.Seq <= sent {
			own = append(own, b.Messages[i].Seq)
			continue
		}
		held[i], done[i].ID = 0, 0
	}
	return own, nil
}

// held finds the messages of a batch, by their index, that this machine keeps in a form of
// its own. They are those that came from here, without an id, and those that the session has
// under the same id and that lost secrets or private blocks on their way: there or, earlier, here.
func (c *client) held(ctx context.Context, key string, inputs []ingest.Input) (map[int]store.MessageID, error) {
	if c.machine == "" {
		return nil, nil
	}
	held := map[int]store.MessageID{}
	masked := map[string]int{}
	var natives []string
	for i, in := range inputs {
		switch {
		case strings.HasPrefix(in.ID, "sync:/"+c.machine+"/"):
			held[i] = 0
		case in.Flags&store.FlagRedacted != 0:
			masked[in.ID] = i
			natives = append(natives, in.ID)
		}
	}
	if len(natives) == 0 {
		return held, nil
	}
	list, err := c.store.Conversations(ctx, store.ConversationQuery{Key: key})
	if err != nil {
		return nil, err
	}
	for _, conversation := range list {
		for m, err := range c.store.Messages(ctx, store.MessageQuery{Conversation: conversation.ID, Natives: natives, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			if i := masked[m.Native]; m.SHA256 != sha256.Sum256(inputs[i].Raw.Bytes) {
				held[i] = m.ID
			}
		}
	}
	return held, nil
}

// appendInputs stores the messages of a batch, but for those that are held.
func appendInputs(ctx context.Context, session *lcm.Session, inputs []ingest.Input, held map[int]store.MessageID) ([]store.Appended, error) {
	done := make([]store.Appended, len(inputs))
	var fresh []ingest.Input
	var at []int
	for i, in := range inputs {
		if id, own := held[i]; own {
			done[i] = store.Appended{ID: id, Existed: true}
			continue
		}
		fresh, at = append(fresh, in), append(at, i)
	}
	if len(fresh) == 0 { // or all were erased
		return done, nil
	}
	stored, err := session.AppendInputs(ctx, fresh...)
	if err != nil {
		return nil, err
	}
	for i, a := range stored {
		done[at[i]] = a
	}
	return done, nil
}

// erasures counts the erased messages and the erased conversations of a source's session. It
// is empty if there are none.
func (c *client) erasures(ctx context.Context, p progress) (string, error) {
	if p.Key == "" {
		return "", nil
	}
	list, err := c.store.Conversations(ctx, store.ConversationQuery{Key: p.Key, Erased: true})
	messages, whole := int64(0), 0
	for _, conversation := range list {
		messages += conversation.Erased
		if !conversation.ErasedAt.IsZero() {
			whole++
		}
	}
	if err != nil || messages == 0 && whole == 0 {
		return "", err
	}
	return fmt.Sprintf("%d+%d", messages, whole), nil
}
