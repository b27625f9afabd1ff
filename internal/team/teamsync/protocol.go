// Package teamsync pushes the record of a laptop to a team server (`lcm sync`), and
// searches the server. Package teamserver is the other side.
//
// # A push
//
// A laptop names itself by a random machine id and a name for people. A source is one
// conversation of one machine. The laptop asks the server for the rights of its token, and
// leaves out projects that the token may not push to. It then asks through which message
// the server has each source ([Status]), and sends the messages after it in batches ([Batch]). The
// server stores them in a conversation of the user and answers with a digest of the
// records that it reads back ([Receipt]). The laptop compares the digest with its own.
//
// The server is the one that knows how far a push came. So a push can be cut off at any
// point, by either side, and repeated: messages with a known id are stored once.
//
// # What is pushed
//
// Records as they are stored, without private blocks and, unless ingest.redact is off,
// without secrets. Digests cover the pushed form. Ignored and private projects are not
// pushed, sessions that enter one are not pushed any further, and erased messages are not
// pushed. Summaries are not pushed: the server folds by
// itself.
//
// # Erasures
//
// A message that was pushed and is erased on the laptop is erased on the server with the
// next push, if the token allows that.
package teamsync

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// The paths of the server.
const (
	StatusPath = "/v1/sync/status"
	PushPath   = "/v1/sync/push"
	ErasePath  = "/v1/sync/erase"
	VerifyPath = "/v1/sync/verify"
	GrepPath   = "/v1/grep"
	AskPath    = "/v1/ask"
	// TurnPath and DonePath are for two machines: see package peersync.
	TurnPath = "/v1/sync/turn"
	DonePath = "/v1/sync/done"
	// DescribePath answers a recall.DescribeRequest with a [Described].
	DescribePath = "/v1/describe"
)

// Encoding is the content encoding of a batch.
const Encoding = "zstd"

// The bounds of a batch, before compression. A message that is larger is sent alone.
const (
	BatchMessages = 500
	BatchBytes    = 4 << 20
	// MaxBody is the most that a server reads of one request, unpacked. A larger
	// message stays on its machine.
	MaxBody = 16 << 20
	// StatusSources is for how many sources one request may ask.
	StatusSources = 200
)

// Source is a conversation of a machine.
type Source struct {
	Machine string `json:"machine"` // its random id
	Key     string `json:"key"`
	Segment int    `json:"segment"`
}

// StatusRequest asks for the rights of the token and the status of sources.
type StatusRequest struct {
	Sources []Source `json:"sources"`
}

// Status says how much of a source the server has.
type Status struct {
	// Through is the number of the last message that was pushed, 0 for none.
	Through int64 `json:"through"`
	// Mark is that of the batch.
	Mark string `json:"mark,omitempty"`
	// Erased changes when messages of the source's session are erased there. A server
	// leaves it empty.
	Erased string `json:"erased,omitempty"`
}

// StatusAnswer has the statuses in the order of the request.
type StatusAnswer struct {
	User   string `json:"user"`
	Append bool   `json:"append"`
	Erase  bool   `json:"erase"`
	// Projects are the patterns of the token's projects; none means all.
	Projects []string `json:"projects,omitempty"`
	Statuses []Status `json:"statuses"`
}

// Batch is a run of messages of a source.
type Batch struct {
	Source
	MachineName string        `json:"machineName"`
	Agent       string        `json:"agent,omitempty"`
	Project     store.Project `json:"project"`
	Title       string        `json:"title,omitempty"`
	// After is the number of the message before the first; it is Through of the
	// server's status.
	After int64 `json:"after"`
	// Through is the number of the last message that the batch stands for: later
	// messages up to it were erased.
	Through int64 `json:"through"`
	// Mark identifies the last message, to the machine alone.
	Mark string `json:"mark,omitempty"`
	// Joined says that the session has messages of the machine that it is pushed to.
	Joined   bool     `json:"joined,omitempty"`
	Messages Messages `json:"messages"`
}

// Messages are those of a batch: at most [BatchMessages]. Seq, Native, Flags, Size, SHA256 and
// of the Body role, time and record are set.
type Messages []store.Message

// UnmarshalJSON implements [json.Unmarshaler]. It stops at the bound: millions of empty
// messages fit a few bytes each.
func (all *Messages) UnmarshalJSON(data []byte) error {
	if data[0] != '[' && string(data) != "null" {
		return errors.New("messages must be a list")
	}
	for element := range wire.Elements(data) {
		if len(*all) == BatchMessages {
			return fmt.Errorf("a batch has more than %d messages", BatchMessages)
		}
		var p pushed
		if err := json.Unmarshal(element, &p); err != nil {
			return err
		}
		record := p.Data
		if record == nil {
			record = []byte(p.Text)
		}
		m := store.Message{Seq: p.Seq, Native: p.Native, Flags: p.Flags, Format: p.Format, Size: int64(len(record)), SHA256: sha256.Sum256(record)}
		m.Body = llms.Message{Role: p.Role, Time: p.Said, Raw: llms.Raw{Format: p.Format, Bytes: record}}
		*all = append(*all, m)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (all Messages) MarshalJSON() ([]byte, error) {
	list := make([]pushed, len(all))
	for i, m := range all {
		list[i] = pushed{Seq: m.Seq, Native: m.Native, Role: m.Body.Role, Said: m.Body.Time.UTC(), Flags: m.Flags, Format: m.Body.Raw.Format}
		if record := m.Body.Raw.Bytes; utf8.Valid(record) {
			list[i].Text = string(record)
		} else {
			list[i].Data = record
		}
	}
	return marshal(list)
}

// marshal writes JSON, without the escapes that only pages of the web need.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}

// pushed is a message as it is sent.
type pushed struct {
	Seq    int64       `json:"seq"`
	Native string      `json:"native,omitempty"`
	Role   llms.Role   `json:"role"`
	Said   time.Time   `json:"said"`
	Flags  store.Flag  `json:"flags,omitempty"`
	Format llms.Format `json:"format"`
	// Text is the record if it is UTF-8, else Data is.
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// Receipt says what became of a batch.
type Receipt struct {
	Through int64 `json:"through"`
	// Digest is that of the stored messages of the batch, read back.
	Digest string `json:"digest"`
	// Forgotten are the numbers of messages that the server refuses because they
	// were erased there.
	Forgotten []int64 `json:"forgotten,omitempty"`
	// Held are the numbers of messages that the other machine has already, in a form that
	// it keeps: without the marks that this machine puts in place of secrets.
	Held []int64 `json:"held,omitempty"`
	// Masked counts messages whose secrets the server has removed itself.
	Masked int `json:"masked,omitempty"`
}

// EraseRequest asks for the erasure of messages of a source.
type EraseRequest struct {
	Source
	Seqs []int64 `json:"seqs,omitempty"`
	// All stands for all messages of the source.
	All bool `json:"all,omitempty"`
}

// EraseAnswer says how many messages were erased.
type EraseAnswer struct {
	Messages int64 `json:"messages"`
}

// VerifyRequest asks for the digest of a source, without the messages that the laptop has
// erased.
type VerifyRequest struct {
	Source
	Except []int64 `json:"except,omitempty"`
}

// VerifyAnswer is the digest of all messages of a source that the server has.
type VerifyAnswer struct {
	Messages int64  `json:"messages"`
	Digest   string `json:"digest"`
	// Erased are the numbers of messages that were erased on the server, or refused
	// because they had been.
	Erased []int64 `json:"erased,omitempty"`
	// Held are the numbers of messages that another machine did not take: [Receipt.Held]
	// and [Receipt.Forgotten]. Its Erased has none of the latter.
	Held []int64 `json:"held,omitempty"`
}

// Described is a summary, a file or a message of the team's record.
type Described struct {
	Text    string          `json:"text"` // for people
	Answer  json.RawMessage `json:"answer"`
	Damaged bool            `json:"damaged,omitempty"`
}

// Problem is the answer to a request that failed.
type Problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// Digest digests messages in their order: number, time, role and hash of the record.
type Digest struct {
	h hash.Hash
	n int64
}

// NewDigest returns the digest of nothing.
func NewDigest() *Digest { return &Digest{h: sha256.New()} }

// Add adds a message.
func (d *Digest) Add(seq int64, said time.Time, role llms.Role, sum [sha256.Size]byte) {
	b := binary.BigEndian.AppendUint64(nil, uint64(seq))
	b = binary.BigEndian.AppendUint64(b, uint64(said.UnixMilli()))
	b = append(b, store.RoleCode(role))
	d.h.Write(append(b, sum[:]...))
	d.n++
}

// Count returns how many messages were added.
func (d *Digest) Count() int64 { return d.n }

// String returns the digest in hex.
func (d *Digest) String() string { return hex.EncodeToString(d.h.Sum(nil)) }
