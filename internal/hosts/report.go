package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Limits bound one call of CatchUp. Zero fields are no bound.
type Limits struct {
	// Bytes and Time end it after the batch that reaches them.
	Bytes int64
	Time  time.Duration
	// Wait waits for another process that reads the same transcript.
	Wait bool
}

// Counts are numbers of records.
type Counts struct {
	Records int            `json:"records"` // read: new and known ones
	New     int            `json:"new"`
	Known   int            `json:"known"`
	Hidden  int            `json:"hidden"`            // of the new ones
	Unknown map[string]int `json:"unknown,omitempty"` // new ones of unknown types, by type
	Bytes   int64          `json:"bytes"`             // read
	// Summaries of another program that were taken, and what of it the record has no place
	// for, by kind.
	Summaries int            `json:"summaries,omitempty"`
	Left      map[string]int `json:"left,omitempty"`
}

func (c *Counts) add(o Counts) {
	c.Records += o.Records
	c.New += o.New
	c.Known += o.Known
	c.Hidden += o.Hidden
	c.Bytes += o.Bytes
	c.Summaries += o.Summaries
	for kind, n := range o.Unknown {
		count(&c.Unknown, kind, n)
	}
	for kind, n := range o.Left {
		count(&c.Left, kind, n)
	}
}

func count(by *map[string]int, kind string, n int) {
	if *by == nil {
		*by = map[string]int{}
	}
	(*by)[kind] += n
}

// Report is the result of reading one transcript.
type Report struct {
	Transcript   Transcript
	Conversation store.ConversationID // 0 if nothing of it is stored
	Counts
	// TooLong lists the sizes of records that were too large to read.
	TooLong []int64
	// Complete says that the transcript was read to its end.
	Complete bool
	// Busy says that another process is reading the transcript.
	Busy bool
	// Compacted is the time of the last summary with which the host replaced messages.
	Compacted time.Time
	// Ignored says why the transcript must not be stored.
	Ignored string
}

// Filter selects transcripts. Zero fields select everything.
type Filter struct {
	Hosts []string
	// Path selects the transcripts in a file or directory instead.
	Path string
	// Since excludes transcripts that were last written before it.
	Since time.Time
	// Project selects one project.
	Project *store.Project
	// DryRun counts the sessions and their new bytes, and reads none.
	DryRun bool
}

// Summary is the result of all transcripts of one host.
type Summary struct {
	Host      string `json:"host"`
	Title     string `json:"-"`
	Present   bool   `json:"found"`
	Sessions  int    `json:"sessions"`          // transcripts that the filter selects
	Unchanged int    `json:"unchanged"`         // of them, without new records
	Ignored   int    `json:"ignored,omitempty"` // of them, must not be stored
	Deleted   int    `json:"deleted,omitempty"` // stored sessions that the host no longer has
	Counts
	Failures []Failure `json:"failures,omitempty"`

	Lost    []Lost                 `json:"-"` // the deleted ones, and their sub-agents
	Changed []store.ConversationID `json:"-"` // those that have new messages
}

// Failure is a transcript that could not be read to its end.
type Failure struct {
	Path string
	Err  error
}

// MarshalJSON implements [json.Marshaler].
func (f Failure) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"path": f.Path, "error": f.Err.Error()})
}

// Progress reports on a running All.
type Progress struct {
	// Bytes of Total are done, over all transcripts with new records.
	Bytes, Total int64
	Records      int
	Sessions     int // of SessionsTotal
	SessionTotal int
}

// Lag says how far the record is behind a transcript.
type Lag struct {
	// Behind says that there are records to read, and Bytes about how many bytes.
	Behind bool
	Bytes  int64
	// Truncated says that the transcript is shorter than it was.
	Truncated bool
	// Ingested is when the transcript was last read, zero if never.
	Ingested time.Time
	// Written is when the host last wrote to it.
	Written time.Time
}

// Fired is when an event last happened, and its error.
type Fired struct {
	Host    string    `json:"-"`
	Event   string    `json:"-"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

// Noted lists the recorded events, by host and name.
func Noted(ctx context.Context, s store.State) ([]Fired, error) {
	values, err := s.List(ctx, store.HookFiredSpace)
	if err != nil {
		return nil, fmt.Errorf("read when hooks ran: %w", err)
	}
	var all []Fired
	for _, v := range values {
		var f Fired
		if err := json.Unmarshal(v.Data, &f); err != nil {
			return nil, fmt.Errorf("read when hooks ran: %s: %w", v.Key, err)
		}
		f.Host, f.Event, _ = strings.Cut(v.Key, "/")
		all = append(all, f)
	}
	return all, nil
}
