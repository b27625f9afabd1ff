// Package hosts knows the agents that people already use: where they keep
// their transcripts, what stands in them, and how to keep the record up to
// date with them.
//
// A [Host] finds and reads; it is one small package below this one for each
// program (hosts/claude, hosts/codex, hosts/opencode), and hosts/all lists
// them. A [Feed] stores: it reads a transcript from where it stopped the last
// time and gives what is new to the engine. Import, hooks and the MCP server
// all go through a Feed, so that there is one answer to the question of what
// was ingested.
//
// Reading is lossless. Every record of a transcript becomes a message of the
// record, byte for byte, those that are no message to a model (a host's
// bookkeeping, record types that nobody has seen before) as hidden ones.
//
// Feeding is idempotent. Every record has an id that does not depend on when
// or how often it is read, so that a file that was rewritten, a cursor that
// was lost and a process that was killed cost time and nothing else.
//
// Transcripts are untrusted: whatever their bytes are, reading them ends in
// records or an error, in bounded memory.
package hosts

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Host is one agent program. Hosts hold no state: what they read is given to
// them, so that a test can show them a home directory of its own.
type Host interface {
	// Name is the short name that commands take and conversations carry as
	// their agent: "claude".
	Name() string
	// Title is the name that people know: "Claude Code".
	Title() string
	// Find says where the host keeps its things on a machine. It looks, but
	// reads no transcript.
	Find(m Machine) Installation
	// Transcripts yields the sessions of an installation, those of sub-agents
	// after the one that started them. A session that cannot be looked at
	// yields an error and does not end the sequence.
	Transcripts(ctx context.Context, in Installation) iter.Seq2[Transcript, error]
	// In returns the transcripts that a file holds, wherever it lies, or
	// ErrNoTranscript if it is none of this host's.
	In(ctx context.Context, path string) ([]Transcript, error)
	// Session returns the transcript of a session, or ErrNoTranscript.
	Session(ctx context.Context, in Installation, id string) (Transcript, error)
	// Read yields the records of a transcript from a position on, in their
	// order. A last record that is still being written is left for the next
	// time. An error ends the sequence. Where the file is not the one that
	// the position was taken of, reading begins anew.
	Read(ctx context.Context, t Transcript, from Position) iter.Seq2[Record, error]
}

// ErrNoTranscript says that a host knows nothing of a path or session.
var ErrNoTranscript = errors.New("no transcript of this host")

// Machine is where hosts are looked for.
type Machine struct {
	Home   string
	Getenv func(string) string
}

// Env returns a variable of the environment, or other if it is not set.
func (m Machine) Env(name, other string) string {
	if m.Getenv != nil {
		if v := m.Getenv(name); v != "" {
			return v
		}
	}
	return other
}

// Installation is what was found of a host.
type Installation struct {
	Host string
	// Present is whether there is any sign of the host: its data, its
	// settings, or its program.
	Present bool
	Data    string // the directory or database of its transcripts
	Config  string // the directory of its settings
}

// Transcript is one session as a host keeps it.
type Transcript struct {
	Host    string
	Path    string // the file or database that holds it
	Session string // the host's own id of the session
	// Parent is the id of the session that started this one, of a sub-agent.
	Parent string
	Agent  string // the sub-agent's name, where the host tells
	Dir    string // the working directory, where that is known without reading
	Title  string
	// Size and Modified tell whether there is anything new.
	Size     int64
	Modified time.Time
}

// Key is the session key under which the transcript is recorded.
func (t Transcript) Key() string { return t.Host + ":" + t.Session }

// parentKey is the session key of the session that started this one.
func (t Transcript) parentKey() string {
	if t.Parent == "" {
		return ""
	}
	return t.Host + ":" + t.Parent
}

// Position is how far a transcript was read. The zero Position is its
// beginning. It is kept as JSON between runs.
type Position struct {
	// Offset is where the next record begins, in the content of the file.
	Offset int64 `json:"offset,omitempty"`
	// Head is the hash of the beginning of the content: another one there
	// means that the file was rewritten, and is read anew.
	Head string `json:"head,omitempty"`
	// State is what else the host needs to go on, as it chooses to write it.
	State string `json:"state,omitempty"`
}
