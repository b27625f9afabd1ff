// Package hosts imports the transcripts of the agent programs that people already
// use: it finds them, reads them and keeps the record up to date with them.
//
// A host is one package (hosts/claude, hosts/codex, hosts/opencode), which has everything
// that lcm knows of the program, and hosts/all lists them. A [Host] has facts ([About]) and
// finds and reads transcripts. More interfaces are optional: setup.Host, for a program
// whose settings can name lcm, launch.Host, for one that `lcm run` can start, and
// [Restoring], for one that opens a session again that was deleted.
// docs/hosts/ADDING.md shows how to add a host.
//
// A [Feed] stores transcripts: it continues each from the position of the last reading and
// passes new records to the engine. Import, hooks and the MCP server all use a Feed,
// so that they store the same records.
//
// Reading is lossless. Every record of a transcript becomes a message, byte for
// byte. Records that are not messages to a model (a host's bookkeeping, unknown
// record types) become hidden messages.
//
// Feeding is idempotent. The id of a record does not depend on when or how often it
// is read, so that a rewritten file, a lost cursor or a killed process costs only
// time.
//
// Transcripts are untrusted: reading any bytes ends in records or an error, in
// bounded memory.
package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// Host is one agent program. Hosts have no state: the caller passes the machine, so
// that a test can use a home directory of its own.
type Host interface {
	// About returns the facts about the program.
	About() About
	// Find locates the host's files on a machine. It reads no transcript.
	Find(m Machine) Installation
	// Transcripts yields the sessions of an installation, sub-agents after the
	// session that started them. An error concerns one session and does not end
	// the sequence.
	Transcripts(ctx context.Context, in Installation) iter.Seq2[Transcript, error]
	// In returns the transcripts in a file, or ErrNoTranscript.
	In(ctx context.Context, path string) ([]Transcript, error)
	// Read yields the records of a transcript from a position on, in order. It
	// leaves out a last record that is still being written. An error ends the
	// sequence. From a position of another file it begins at the start.
	Read(ctx context.Context, t Transcript, from Position) iter.Seq2[Record, error]
}

// Noticing is a host with something to say of the sessions of an installation, for `lcm doctor`.
type Noticing interface {
	Notice(ctx context.Context, in Installation) string
}

// Summarising is a host with transcripts that have summaries of their own, as those of another
// context engine have.
type Summarising interface {
	// Summaries returns what a transcript has beside its records.
	Summaries(ctx context.Context, t Transcript) (Beside, error)
}

// Beside is what a transcript has beside its records.
type Beside struct {
	Summaries []GivenSummary // sources before those that are made from them
	Left      map[string]int // what the record has no place for, by kind
}

// GivenSummary is a summary that another program wrote.
type GivenSummary struct {
	ID, Text, Model string
	// Of are its sources, in order: the ids of records or, if Condensed, of summaries.
	Of        []string
	Condensed bool
}

// About has the facts about a host that do not depend on the machine.
type About struct {
	// Name is the short name, such as "claude". Commands take it, conversations carry
	// it as their agent, and the file of the program is called so.
	Name string
	// Title is the name for people: "Claude Code".
	Title string
	// Trust says how the user allows hooks, if the program asks for that.
	Trust string
	// FlatAnswers says that a hook answers with its context at the top level, and not in
	// hookSpecificOutput.
	FlatAnswers bool
	// ShowsMessages says that the program shows the user the systemMessage of a hook.
	ShowsMessages bool
	// CompactsUnseen says that no SessionStart follows a compaction: a session is told of
	// itself with its next prompt or after its next tool call.
	CompactsUnseen bool
	// CompactsInFile says that no event tells of a compaction, but the transcript does.
	CompactsInFile bool
	// StartsWithPrompt says that a session gets the block about earlier work with its first
	// prompt, and not when it starts.
	StartsWithPrompt bool
	// ForgetsStart says that a session does not keep the block that it got when it started: one
	// that is resumed gets it again.
	ForgetsStart bool
	// WritesLate says that the last records of a turn are written after the hook for its end.
	WritesLate bool
	// HasEngine says that the program may have lcm for its context engine: a turn may be stored
	// before the transcript has it.
	HasEngine bool
	// Events has Claude Code's names of the events that the program calls otherwise.
	Events map[string]string
	// HookTag is the tag in which the program puts the text of other hooks before a prompt, in
	// events too.
	HookTag string
	// LoadTools tells a model how to load lcm's tools, if the program shows it none of them.
	LoadTools string
	// HidesInstructions says that the program does not show the instructions of an MCP server
	// to its model: setup then adds the skill without being asked.
	HidesInstructions bool
	// MCP is how the program calls lcm's MCP server.
	MCP MCP
}

// MCP says how a program identifies itself to an MCP server. What it does not send is
// empty.
type MCP struct {
	Client      string   // the name in the handshake
	SessionMeta string   // the key in _meta of a call with the session's id
	CallMeta    string   // the key in _meta with the id of the tool call
	SessionEnv  []string // variables of the server's environment with the session's id
	DirEnv      string   // the variable with the project's directory
	AnyDir      bool     // the server's working directory is not that of the session
}

// ErrNoTranscript says that a path or session is not a transcript of a host.
var ErrNoTranscript = errors.New("no transcript of this host")

// FindSession searches all transcripts of a host for a session, or fails with
// ErrNoTranscript. If none of them can be read it returns the error for that.
func FindSession(ctx context.Context, h Host, in Installation, id string) (Transcript, error) {
	var problem error
	readable := false
	for t, err := range h.Transcripts(ctx, in) {
		if err == nil && id != "" && t.Session == id {
			return t, nil
		}
		problem, readable = cmp.Or(problem, err), readable || err == nil
	}
	if problem != nil && !readable {
		return Transcript{}, problem
	}
	return Transcript{}, fmt.Errorf("%w: session %q", ErrNoTranscript, id)
}

// Machine is the machine on which hosts are searched.
type Machine struct {
	Home   string
	Getenv func(string) string
}

// Env returns an environment variable, or other if it is not set.
func (m Machine) Env(name, other string) string {
	if m.Getenv != nil {
		if v := m.Getenv(name); v != "" {
			return v
		}
	}
	return other
}

// Installation locates a host's files.
type Installation struct {
	// Present says that there is any sign of the host: its data or its settings.
	Present bool
	Data    string // the directory or database of its transcripts
}

// FindIn returns the installation of a host that is present if its directory is there, with
// its transcripts in a directory below it.
func FindIn(dir, transcripts string) Installation {
	_, err := os.Stat(dir)
	return Installation{Data: filepath.Join(dir, transcripts), Present: err == nil}
}

// Transcript is one session in a host's files.
type Transcript struct {
	Host    string
	Path    string // the file or database that holds it
	Session string // the host's own id of the session
	// Parent is the id of the session that started this sub-agent.
	Parent string
	Agent  string // the sub-agent's name, if the host has one
	Dir    string // the working directory, if known without reading
	Title  string
	// Size and Modified show whether there are new records.
	Size     int64
	Modified time.Time
}

// Key is the session key of the transcript's conversation.
func (t Transcript) Key() string { return t.Host + ":" + t.Session }

// parentKey is the session key of the parent, or "".
func (t Transcript) parentKey() string {
	if t.Parent == "" {
		return ""
	}
	return t.Host + ":" + t.Parent
}

// Position is how far a transcript was read. It is stored as JSON.
type Position struct {
	// Offset is the offset of the next record in the file.
	Offset int64 `json:"offset,omitempty"`
	// Head has hashes of the file's beginning and of the last record that was read. If they
	// differ, the file is new.
	Head string `json:"head,omitempty"`
	// State is further state of the host's reader, in its own format.
	State string `json:"state,omitempty"`
}
