package teamsync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
)

// Pusher pushes a record to a team server.
type Pusher struct {
	Client
	Store   store.Store
	Privacy ingest.Privacy
	// Private are patterns of projects that are stored here and never pushed.
	Private     []string
	MachineName string
	// Pushed is called after each batch; it may be nil.
	Pushed func(Report)

	// Received are messages that other machines of the same person pushed here. They are
	// not pushed on to a server, and not back to the machine that they came from.
	Received map[store.MessageID]bool
	// Peer is the id of such a machine, if the push is to one, and empty for a server.
	Peer string
	// Forget erases what was erased there; the caller finishes the erasures. Nil leaves it
	// here, as for a server.
	Forget func(context.Context, store.Erasure) error

	projects map[string]store.Project // by directory
}

// Report says what a push did.
type Report struct {
	User          string `json:"user"`
	Machine       string `json:"machine"`
	Conversations int    `json:"conversations"` // of which something was pushed
	Messages      int64  `json:"messages"`
	Bytes         int64  `json:"bytes"` // of the pushed records
	// Masked counts pushed messages whose record has marks in place of secrets or private
	// blocks. The mark may stand in a field that is not part of the text.
	Masked int64 `json:"masked"`
	// Private counts the conversations that stay on this machine.
	Private int `json:"private"`
	// Entered counts the conversations whose new messages stay on this machine because
	// one of them was said in a private or ignored project.
	Entered int `json:"entered,omitempty"`
	// Denied are the projects that the token may not push to.
	Denied []string `json:"denied,omitempty"`
	// Forgotten counts messages that the server refused because they were erased
	// there.
	Forgotten int64 `json:"forgotten,omitempty"`
	Erased    int64 `json:"erased"` // on the server
	// EraseDenied counts messages that were erased here and that the token may not erase
	// on the server.
	EraseDenied int `json:"eraseDenied,omitempty"`
	// Forgot counts messages that were erased here because they were erased there.
	Forgot int64 `json:"forgot,omitempty"`
}

// local is the row of a conversation that was pushed.
type local struct {
	Through int64 `json:"through"`
	// Sent is the number of the last message that was sent to a peer, or left out because it
	// came from there: its receipt may have got lost.
	Sent   int64 `json:"sent,omitempty"`
	Erased int64 `json:"erased"` // how many erased messages the server knows of
	// Masked are the numbers after which batches with changed records begin. The row
	// of such a batch has the hashes of their pushed forms.
	Masked []int64 `json:"masked,omitempty"`
	// Seen is the number of messages when none of them was one to push.
	Seen int64 `json:"seen,omitempty"`
	// There is [Status.Erased] as it was when everything erased there was erased here.
	There string `json:"there,omitempty"`

	version int64
}

// rowOf is the key of the row of a conversation. Each peer has rows of its own.
func (p *Pusher) rowOf(id store.ConversationID) string {
	return p.prefix() + fmt.Sprintf("conversation/%d", id)
}

func (p *Pusher) maskedRow(id store.ConversationID, after int64) string {
	return p.prefix() + fmt.Sprintf("masked/%d/%d", id, after)
}

func (p *Pusher) prefix() string {
	if p.Peer == "" {
		return ""
	}
	return "peer/" + p.Peer + "/"
}

// load reads a row of the laptop's own progress, or leaves the value as it is.
func (p *Pusher) load(ctx context.Context, row string, value any) (version int64, err error) {
	v, err := p.Store.Get(ctx, store.SyncSpace, row)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		err = json.Unmarshal(v.Data, value)
	}
	return v.Version, err
}

func (p *Pusher) save(ctx context.Context, row string, value any, version int64) (int64, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	return p.Store.Put(ctx, store.SyncSpace, row, data, version, time.Time{})
}

// errDiverged says that the server has other messages under this machine's id.
var errDiverged = errors.New("the database is a copy that went its own way")

// errUnproved says that the server does not have the messages of a conversation as they were sent.
var errUnproved = errors.New("arrived changed")

// errRenewed says that the next exchange is that of another machine.
var errRenewed = hint.New("repeat `lcm sync`: what this machine has lost comes back", "the database was restored from a backup or is a copy: the other machine has later messages of it. It has got an id of its own now")

// Push pushes everything that is new, and erasures.
func (p *Pusher) Push(ctx context.Context) (r Report, err error) {
	for try := range 2 {
		id, err := p.identity(ctx, try > 0)
		if err != nil {
			return r, fmt.Errorf("find the id of this machine: %w", err)
		}
		r = Report{Machine: p.MachineName}
		if err = p.pushAll(ctx, id, &r); !errors.Is(err, errDiverged) {
			return r, err
		}
		if p.Peer != "" { // which knows this machine by the id of its hello
			return r, cmp.Or[error](p.Renew(ctx), errRenewed)
		}
	}
	return r, errDiverged
}

func (p *Pusher) pushAll(ctx context.Context, id identity, r *Report) error {
	all, err := p.Store.Conversations(ctx, store.ConversationQuery{Erased: true})
	if err != nil {
		return err
	}
	slices.Reverse(all) // oldest first
	rights, err := p.status(ctx)
	if err != nil {
		return err
	}
	r.User = rights.User
	mine, err := p.candidates(ctx, all, rights, r)
	if err != nil {
		return err
	}
	var failures []error
	if !rights.Append {
		failures = append(failures, &hint.Error{Err: &RequestError{p.URL, http.StatusForbidden, Problem{Error: "this token may not push"}},
			Hint: "nothing was sent; `lcm team token add --append` on the server makes a token that may push"})
	}
	for part := range slices.Chunk(mine, StatusSources) {
		var sources []Source
		for _, c := range part {
			sources = append(sources, Source{id.ID, c.Key, c.Segment})
		}
		a, err := p.status(ctx, sources...)
		if err != nil {
			return err
		}
		for i, c := range part { // before anything is sent under this id
			if err := p.same(ctx, id, c.Conversation, a.Statuses[i]); errors.Is(err, errDiverged) {
				return err
			}
		}
		for i, c := range part {
			err := p.pushOne(ctx, id, sources[i], c, a.Statuses[i], r)
			switch {
			case errors.Is(err, errDiverged), ctx.Err() != nil:
				return err
			case errors.Is(err, errEntered):
				r.Entered++
			case refusedWith(err, http.StatusForbidden):
				r.deny(c.Project)
			case err != nil:
				failures = append(failures, fmt.Errorf("conversation %d: %w", c.ID, err))
				var refused *RequestError
				if !errors.As(err, &refused) && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, errUnproved) || refusedWith(err, http.StatusServiceUnavailable) {
					return errors.Join(failures...) // the network, the server's database, or this machine's disk
				}
			}
		}
	}
	return errors.Join(failures...)
}

// candidate is a conversation that may have something for the server.
type candidate struct {
	store.Conversation
	push, erase bool // what may be done
}

// candidates returns the conversations of which something may be pushed or erased.
func (p *Pusher) candidates(ctx context.Context, all []store.Conversation, rights StatusAnswer, r *Report) (mine []candidate, err error) {
	token := access.Token{Projects: rights.Projects}
	for _, c := range all {
		stays, covered := p.stays(c), token.Covers(c.Project)
		// The project of a conversation that was erased whole is gone here. The server knows it.
		one := candidate{c, !stays && gone(c) != allGone && covered && rights.Append, (covered || gone(c) == allGone) && rights.Erase}
		if stays {
			r.Private++
		}
		if !one.push {
			var row local
			version, err := p.load(ctx, p.rowOf(c.ID), &row)
			if err != nil {
				return nil, err
			}
			if !stays && !covered && gone(c) != allGone && row.Through < c.Messages {
				r.deny(c.Project)
			}
			// Messages that were pushed before can still be erased, there or here.
			if version == 0 || gone(c) == row.Erased && p.Forget == nil {
				continue
			}
		}
		mine = append(mine, one)
	}
	return mine, nil
}

// deny notes a project that the token may not push to.
func (r *Report) deny(p store.Project) {
	if name := cmp.Or(p.Origin, p.Root, "(no project)"); !slices.Contains(r.Denied, name) {
		r.Denied = append(r.Denied, name)
	}
}

func (r *Report) count(b Batch, receipt Receipt, masked int) {
	r.Messages += int64(len(b.Messages) - len(receipt.Forgotten) - len(receipt.Held))
	r.Forgotten += int64(len(receipt.Forgotten))
	r.Masked += int64(masked)
	for _, m := range b.Messages {
		r.Bytes += m.Size
	}
}

// same reports errDiverged if the last message that the server has of a conversation is
// not the one that is stored here.
func (p *Pusher) same(ctx context.Context, id identity, c store.Conversation, at Status) error {
	if at.Through == 0 || gone(c) == allGone {
		return nil
	}
	if at.Through > c.Messages {
		return errDiverged
	}
	if at.Mark == "" && p.Peer == "" {
		return nil
	}
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: at.Through - 1, Before: at.Through + 1, NoRaw: true, Limit: 1}) {
		if err != nil {
			return err
		}
		if at.Mark == "" {
			return fmt.Errorf("%w: it has message %d, and no mark of it", errAnswer, at.Through)
		}
		if id.mark(m) != at.Mark {
			return errDiverged
		}
	}
	return nil // or it was erased here
}

// batch reads the next messages of a conversation in the form in which they may leave the
// machine. masked has the hashes of the records that were changed for it.
func (p *Pusher) batch(ctx context.Context, id identity, src Source, c store.Conversation, after int64) (b Batch, masked map[int64]string, err error) {
	b = Batch{
		Source: src, MachineName: p.MachineName, Agent: c.Agent, Project: c.Project, Title: ingest.Title(p.Privacy, c.Title), After: after, Through: c.Messages,
	}
	masked = map[int64]string{}
	size, last := 0, int64(0)
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: after}) {
		if err != nil {
			return b, nil, err
		}
		if n := len(b.Messages); n == BatchMessages || n > 0 && size+int(m.Size) > BatchBytes {
			b.Through = last
			break
		}
		b.Mark, last = id.mark(m), m.Seq
		b.Through = max(b.Through, m.Seq)
		if p.Received[m.ID] {
			b.Joined = p.Peer != ""
			continue
		}
		one, changed, err := p.message(ctx, m)
		if err != nil {
			return b, nil, fmt.Errorf("%s: %w", m.ID, err)
		}
		if changed {
			masked[m.Seq] = hex.EncodeToString(one.SHA256[:])
		}
		size += int(one.Size)
		b.Messages = append(b.Messages, one)
	}
	if last != b.Through {
		b.Mark = "" // the last one was erased
	}
	return b, masked, nil
}

// message returns a message with the record that may leave the machine: without private
// blocks and secrets.
func (p *Pusher) message(ctx context.Context, m store.Message) (_ store.Message, changed bool, err error) {
	record, err := p.Store.Record(ctx, m.ID)
	if err != nil {
		return m, false, err
	}
	if err := p.checkDirectory(record); err != nil {
		return m, false, err
	}
	out, changed, err := ingest.Outgoing(p.Privacy, m, record)
	if changed {
		m.Flags |= store.FlagRedacted
	}
	m.Body.Raw, m.Size, m.SHA256 = out.Raw, int64(len(out.Raw.Bytes)), sha256.Sum256(out.Raw.Bytes)
	return m, changed, err
}

// digest digests a batch without the messages that the server refused.
func (b Batch) digest(without []int64) string {
	d := NewDigest()
	for _, m := range b.Messages {
		if !slices.Contains(without, m.Seq) {
			d.Add(m.Seq, m.Body.Time, m.Body.Role, m.SHA256)
		}
	}
	return d.String()
}

// keepMasked keeps the hashes of changed records.
func (p *Pusher) keepMasked(ctx context.Context, id store.ConversationID, after int64, masked map[int64]string, row *local) error {
	key := p.maskedRow(id, after)
	var was map[int64]string
	version, err := p.load(ctx, key, &was)
	if err != nil {
		return err
	}
	if _, err := p.save(ctx, key, masked, version); err != nil {
		return err
	}
	if !slices.Contains(row.Masked, after) {
		row.Masked = append(row.Masked, after)
		row.version, err = p.save(ctx, p.rowOf(id), row, row.version)
	}
	return err
}
