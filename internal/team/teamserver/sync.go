package teamserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// progress is how far a source was pushed. Its row is written last, by compare-and-set:
// two pushes of one source at a time cannot both count.
type progress struct {
	Key          string               `json:"key,omitempty"` // of the session on this server
	Conversation store.ConversationID `json:"conversation,omitempty"`
	Project      store.Project        `json:"project"` // of the conversation
	Through      int64                `json:"through"`
	Mark         string               `json:"mark,omitempty"`
	// Batches are the numbers after which each batch begins. A batch's own row has
	// the ids of its messages.
	Batches []int64 `json:"batches,omitempty"`
	// Forgotten are the numbers of messages that were refused because they had been
	// erased here, or because this machine keeps its own form of them.
	Forgotten []int64 `json:"forgotten,omitempty"`
	// Own are the numbers of messages that this machine had before a peer pushed them, and
	// had sent there itself.
	Own []int64 `json:"own,omitempty"`

	row     string
	version int64
}

// rowOf is the key of a source's row. The user comes from the token: nobody writes to the
// sources of others.
func (c *client) rowOf(s teamsync.Source) (string, error) {
	if !teamsync.ValidMachine(s.Machine) || s.Key == "" || s.Segment < 1 {
		return "", fmt.Errorf("%w: a source needs a machine, a key and a segment", errBadRequest)
	}
	if c.machine != "" && s.Machine != c.peer.Machine {
		return "", fmt.Errorf("%w: the source is of another machine", errBadRequest)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", s.Key, s.Segment))
	return fmt.Sprintf("%s/%s/%s", c.token.User, s.Machine, hex.EncodeToString(sum[:12])), nil
}

// progress reads the row of a source. A source that was pushed into a project outside of
// the token has a second row for the token's projects, so that no answer tells of the first.
func (c *client) progress(ctx context.Context, s teamsync.Source) (p progress, err error) {
	row, err := c.rowOf(s)
	if err != nil {
		return p, err
	}
	if p, err = c.readProgress(ctx, row); err == nil && p.version > 0 && !c.token.Covers(p.Project) {
		projects := sha256.Sum256(fmt.Appendf(nil, "%q", c.token.Projects))
		p, err = c.readProgress(ctx, row+"@"+hex.EncodeToString(projects[:12]))
	}
	return p, err
}

func (c *client) readProgress(ctx context.Context, row string) (progress, error) {
	p := progress{row: row}
	v, err := c.config.Store.Get(ctx, store.SyncSpace, row)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(v.Data, &p)
	}
	p.version = v.Version
	return p, err
}

// status says what the token allows and how much of each source is here.
func (c *client) status(ctx context.Context, q teamsync.StatusRequest) (any, error) {
	if len(q.Sources) > teamsync.StatusSources {
		return nil, fmt.Errorf("%w: %d sources, and one request may ask for %d", errTooMuch, len(q.Sources), teamsync.StatusSources)
	}
	a := teamsync.StatusAnswer{User: c.token.User, Append: c.token.Append, Erase: c.token.Erase, Projects: c.token.Projects, Statuses: make([]teamsync.Status, len(q.Sources))}
	for i, s := range q.Sources {
		p, err := c.progress(ctx, s)
		if err != nil {
			return nil, err
		}
		a.Statuses[i] = teamsync.Status{Through: p.Through, Mark: p.Mark}
		if c.machine != "" {
			if a.Statuses[i].Erased, err = c.erasures(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// push stores a batch and reads it back.
func (c *client) push(ctx context.Context, b teamsync.Batch) (any, error) {
	inputs, err := c.inputs(b)
	if err != nil {
		return nil, err
	}
	p, err := c.progress(ctx, b.Source)
	if err != nil {
		return nil, err
	}
	if p.Through != b.After {
		return nil, fmt.Errorf("%w: it has %d, and this begins after %d", errBehind, p.Through, b.After)
	}
	if p.Key == "" {
		if !c.token.Covers(b.Project) { // before anything tells what was erased there
			return nil, fmt.Errorf("a push into this project is %w with this token", scope.ErrDenied)
		}
		if p.Key, err = c.sessionKey(ctx, b, inputs); err != nil {
			return nil, err
		}
	}
	session := c.engine.Session(p.Key, lcm.WithProject(b.Project), lcm.WithAgent(c.agent(b)), lcm.WithTitle(b.Title))
	held, err := c.held(ctx, p.Key, inputs)
	if err != nil {
		return nil, err
	}
	done, err := appendInputs(ctx, session, inputs, held)
	if err != nil {
		return nil, err
	}
	own, err := c.disown(ctx, p, b, done, held)
	if err != nil {
		return nil, err
	}
	p.Own = append(p.Own, own...)
	receipt, ids, err := c.receipt(ctx, b, done, held)
	if err != nil {
		return nil, err
	}
	p.Forgotten = slices.Concat(p.Forgotten, receipt.Forgotten, receipt.Held)
	if err := c.record(ctx, p, b, ids); err != nil {
		return nil, err
	}
	for _, a := range done {
		if !a.Existed {
			c.metrics.add("lcm_messages_appended_total", 1)
		}
	}
	return receipt, nil
}

// agent names who said the messages of a batch: its agent and, in parentheses, user and
// machine. Signs in the name of the agent that could look like another user become dashes.
func (c *client) agent(b teamsync.Batch) string {
	if c.machine != "" && strings.Contains(b.Agent, "@") {
		return prose.Clip(b.Agent, maxName) // of a third machine
	}
	who := c.token.User + "@" + b.MachineName
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ._:/+-", r) {
			return r
		}
		return '-'
	}, prose.Clip(b.Agent, maxName))
	if name == "" {
		return who
	}
	return name + " (" + who + ")"
}

// Bounds of the fields of a batch.
const (
	maxName  = 100     // characters of the name of an agent
	maxField = 4 << 10 // bytes of keys, ids, titles, origins and directories
	// maxParts bounds the parts of all messages of a batch: each costs some hundred
	// bytes of memory, and two bytes of a record are enough for one.
	maxParts = 1 << 17
)

// checkBatch refuses a batch with wrong or excessive fields.
func checkBatch(b teamsync.Batch) error {
	if !access.ValidName(b.MachineName) {
		return fmt.Errorf("%w: %q cannot name a machine", errBadRequest, prose.Clip(b.MachineName, 80))
	}
	if b.After < 0 || b.Through < b.After {
		return fmt.Errorf("%w: it ends with message %d, and begins after %d", errBadRequest, b.Through, b.After)
	}
	fields := []string{b.Key, b.Title, b.Project.Origin, b.Project.Root}
	last := b.After
	for _, m := range b.Messages {
		if m.Seq <= last || m.Seq > b.Through {
			return fmt.Errorf("%w: message %d is out of order", errBadRequest, m.Seq)
		}
		last = m.Seq
		if store.RoleCode(m.Body.Role) == 0 {
			return fmt.Errorf("%w: the role of message %d is %q", errBadRequest, m.Seq, prose.Clip(string(m.Body.Role), 80))
		}
		fields = append(fields, m.Native, string(m.Format))
	}
	for _, f := range fields {
		if len(f) > maxField {
			return fmt.Errorf("%w: a name, id, title or directory has %d bytes, and may have %d", errTooMuch, len(f), maxField)
		}
		if !utf8.ValidString(f) || strings.ContainsRune(f, 0) {
			return fmt.Errorf("%w: a name, id, title or directory is not text", errBadRequest)
		}
	}
	return nil
}

// inputs turns the messages of a batch into messages to store. What they say comes from
// their records alone.
func (c *client) inputs(b teamsync.Batch) ([]ingest.Input, error) {
	if err := checkBatch(b); err != nil {
		return nil, err
	}
	row, err := c.rowOf(b.Source)
	if err != nil {
		return nil, err
	}
	parts := 0
	all := make([]ingest.Input, len(b.Messages))
	for i, m := range b.Messages {
		said, err := wire.Decode(m.Format, m.Body.Role, m.Body.Raw.Bytes)
		if err != nil { // it is kept as it is, and shown as text
			said = llms.Message{Parts: []llms.Part{{Kind: llms.PartText, Text: string(m.Body.Raw.Bytes)}}}
		}
		if parts += countParts(said.Parts); parts > maxParts {
			return nil, fmt.Errorf("%w: the messages up to %d have more than %d parts", errTooMuch, m.Seq, maxParts)
		}
		said.ID, said.Time, said.Role, said.Raw = m.Native, m.Body.Time, m.Body.Role, m.Body.Raw
		if said.ID == "" { // a repeated push must find it again
			said.ID = fmt.Sprintf("sync:%s:%d", row, m.Seq)
		}
		all[i] = ingest.Input{Message: said, Flags: m.Flags & pushedFlags}
	}
	return all, nil
}

// pushedFlags are the flags that a client may set.
const pushedFlags = store.FlagEcho | store.FlagSynthetic | store.FlagDuplicate | store.FlagUnknown | store.FlagRedacted | store.FlagHidden

func countParts(parts []llms.Part) int {
	n := len(parts)
	for _, p := range parts {
		if p.Result != nil {
			n += countParts(p.Result.Output)
		}
	}
	return n
}

// sessionKey chooses the session of a source. The same session of a user on several
// machines, known by the ids of its messages, is one session here. An unrelated one that
// has the same key gets a key of its own, and so does one that another project has.
func (c *client) sessionKey(ctx context.Context, b teamsync.Batch, inputs []ingest.Input) (string, error) {
	key := b.Key
	if c.machine == "" {
		key = c.token.User + "/" + key
	}
	if b.Segment > 1 {
		key += fmt.Sprintf("#%d", b.Segment)
	}
	known, err := c.config.Store.Conversations(ctx, store.ConversationQuery{Key: key, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(known) > 0 && c.peer.Stays != nil && c.peer.Stays(known[0]) {
		return "", fmt.Errorf("a push into a private session is %w", scope.ErrDenied)
	}
	if len(known) == 0 || known[0].Messages == 0 {
		if mine, err := c.claim(ctx, key, b.Project); err != nil || mine {
			return key, err
		}
	} else if c.machine != "" && b.Joined {
		return key, nil
	} else if len(inputs) > 0 {
		natives := make([]string, len(inputs))
		for i, in := range inputs {
			natives[i] = in.ID
		}
		_, err = store.First(c.store.Messages(ctx, store.MessageQuery{Conversation: known[0].ID, Natives: natives, NoRaw: true, Limit: 1}))
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return key, err
		}
	}
	own := sha256.Sum256(fmt.Appendf(nil, "%s %q", b.Machine, b.Project))
	return fmt.Sprintf("%s@%s-%x", key, b.MachineName, own[:4]), nil
}

// claim reports whether a session's key belongs to a project, and gives a free key to it. A
// session that is erased whole keeps its key, because the key refuses its messages; a
// session of another project with that key must not be refused with them.
func (c *client) claim(ctx context.Context, key string, p store.Project) (bool, error) {
	if p.Origin != "" {
		p = store.Project{Origin: strings.ToLower(p.Origin)}
	}
	name, owner := sha256.Sum256([]byte(key)), sha256.Sum256(fmt.Appendf(nil, "%q", p))
	row := "session:" + hex.EncodeToString(name[:12])
	_, err := c.config.Store.Put(ctx, store.SyncSpace, row, owner[:], 0, time.Time{})
	if !errors.Is(err, store.ErrConflict) {
		return err == nil, err
	}
	was, err := c.config.Store.Get(ctx, store.SyncSpace, row)
	return bytes.Equal(was.Data, owner[:]), err
}

// stored is the id of a pushed message on this server.
type stored struct {
	seq int64
	id  store.MessageID
}

// receipt reads the messages of a batch back and digests them.
func (c *client) receipt(ctx context.Context, b teamsync.Batch, done []store.Appended, held map[int]store.MessageID) (teamsync.Receipt, []stored, error) {
	receipt := teamsync.Receipt{Through: b.Through}
	var kept []stored
	var proved []int // indexes of messages
	var ids []store.MessageID
	for i, a := range done {
		if a.Forgotten {
			receipt.Forgotten = append(receipt.Forgotten, b.Messages[i].Seq)
			continue
		}
		if _, own := held[i]; own {
			receipt.Held = append(receipt.Held, b.Messages[i].Seq)
			if a.ID != 0 {
				kept = append(kept, stored{b.Messages[i].Seq, a.ID})
			}
			continue
		}
		kept = append(kept, stored{b.Messages[i].Seq, a.ID})
		proved, ids = append(proved, i), append(ids, a.ID)
	}
	digest := teamsync.NewDigest()
	if len(ids) > 0 {
		n := 0
		for m, err := range c.store.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
			if err != nil {
				return receipt, nil, fmt.Errorf("read the batch back: %w", err)
			}
			if m.Damaged {
				return receipt, nil, fmt.Errorf("read the batch back: %s: %w", m.ID, store.ErrDamaged)
			}
			pushed := b.Messages[proved[n]]
			sum := m.SHA256
			if sum != pushed.SHA256 && m.Flags&store.FlagRedacted != 0 && pushed.Flags&store.FlagRedacted == 0 {
				sum = pushed.SHA256 // this server masks records itself
				receipt.Masked++
			}
			n++
			if c.machine != "" && (m.Body.Time.UnixMilli() != pushed.Body.Time.UnixMilli() || m.Body.Role != pushed.Body.Role) {
				receipt.Held = append(receipt.Held, pushed.Seq) // this machine had it before
				continue
			}
			digest.Add(pushed.Seq, m.Body.Time, m.Body.Role, sum)
		}
	}
	receipt.Digest = digest.String()
	return receipt, kept, nil
}

// record notes the ids of a batch and how far the source was pushed.
func (c *client) record(ctx context.Context, p progress, b teamsync.Batch, ids []stored) error {
	if len(ids) > 0 {
		data := binary.AppendVarint(nil, b.After)
		seq, id := b.After, int64(0)
		for _, s := range ids {
			data = binary.AppendVarint(binary.AppendVarint(data, s.seq-seq), int64(s.id)-id)
			seq, id = s.seq, int64(s.id)
		}
		row := fmt.Sprintf("%s/%d", p.row, b.After)
		was, err := c.config.Store.Get(ctx, store.SyncSpace, row)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if _, err := c.config.Store.Put(ctx, store.SyncSpace, row, data, was.Version, time.Time{}); err != nil {
			return fmt.Errorf("note the batch: %w", err)
		}
		p.Batches = append(p.Batches, b.After)
		if p.Conversation == 0 {
			m, err := store.First(c.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{ids[0].id}, NoRaw: true}))
			if err != nil {
				return err
			}
			conversation, err := c.store.Conversation(ctx, m.Conversation)
			if err != nil {
				return err
			}
			p.Conversation, p.Project = conversation.ID, conversation.Project
		}
	}
	if p.Conversation == 0 {
		p.Project = b.Project
	}
	p.Through, p.Mark = b.Through, prose.Clip(b.Mark, 64)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if _, err := c.config.Store.Put(ctx, store.SyncSpace, p.row, data, p.version, time.Time{}); err != nil {
		return fmt.Errorf("note how far the push came: %w", err)
	}
	return nil
}

// pushed returns the ids of all messages that a source pushed.
func (c *client) pushed(ctx context.Context, p progress) (all []stored, err error) {
	for _, after := range p.Batches {
		batch, err := c.batch(ctx, p, after)
		if err != nil {
			return nil, err
		}
		all = append(all, batch...)
	}
	return all, nil
}

// batch returns the ids of the messages of one batch.
func (c *client) batch(ctx context.Context, p progress, after int64) ([]stored, error) {
	v, err := c.config.Store.Get(ctx, store.SyncSpace, fmt.Sprintf("%s/%d", p.row, after))
	if err != nil {
		return nil, fmt.Errorf("read the ids of a batch: %w", err)
	}
	return decodeBatch(v.Data)
}

// decodeBatch reads the row of a batch.
func decodeBatch(data []byte) (all []stored, err error) {
	var wrong bool
	next := func() int64 {
		n, size := binary.Varint(data)
		wrong = wrong || size <= 0
		data = data[max(size, 0):]
		return n
	}
	seq, id := next(), int64(0)
	for len(data) > 0 && !wrong {
		seq, id = seq+next(), id+next()
		all = append(all, stored{seq, store.MessageID(id)})
	}
	if wrong {
		return nil, fmt.Errorf("the ids of a batch are %w", store.ErrDamaged)
	}
	return all, nil
}
