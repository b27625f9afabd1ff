package hosts

import (
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// Limits bound one call of CatchUp. Zero fields do not.
type Limits struct {
	// Bytes and Time end it after the batch in which they are reached.
	Bytes int64
	Time  time.Duration
	// Wait has it wait for another process that reads the same transcript
	// instead of leaving the work to it.
	Wait bool
}

// Report says what became of a transcript.
type Report struct {
	Transcript   Transcript
	Conversation store.ConversationID // 0 if nothing is stored of it
	// Records were read; those that are not New were Known.
	Records int
	New     int
	Known   int
	Hidden  int // of the new ones
	// Unknown counts the new records of types that the host's package does
	// not know, by type.
	Unknown map[string]int
	Bytes   int64 // read
	// TooLong has the sizes of records that were too large to be read.
	TooLong []int64
	// Complete says that everything that could be read was.
	Complete bool
	// Busy says that another process is reading the transcript.
	Busy bool
	// Ignored says why nothing of it may be stored.
	Ignored string
	// Rescanned says that the file was another one than before and was read
	// from its beginning.
	Rescanned bool
}

// Filter selects transcripts. Zero fields select everything.
type Filter struct {
	Hosts []string
	// Path selects what a file or directory holds, wherever it lies, instead
	// of what is found of the hosts on the machine.
	Path string
	// Since leaves out transcripts that were last written before it.
	Since time.Time
	// Project selects those of one project.
	Project *store.Project
	// DryRun reads and counts, but stores nothing.
	DryRun bool
}

// Summary is what became of all transcripts of one host.
type Summary struct {
	Host      string
	Title     string
	Present   bool
	Sessions  int // transcripts found that the filter selects
	Unchanged int // of which had nothing new
	Ignored   int // of which may not be stored
	Records   int
	New       int
	Known     int
	Hidden    int
	Unknown   map[string]int
	Bytes     int64
	Failures  []Failure
}

// Failure is a transcript that could not be read to its end. What was read of
// it is stored.
type Failure struct {
	Path string
	Err  error
}

// Progress is told while All works.
type Progress struct {
	Host string
	// Bytes of Total are done, of all transcripts with something new.
	Bytes, Total int64
	Records      int
	Sessions     int // of SessionsTotal
	SessionTotal int
}

// Lag says how far the record is behind a transcript.
type Lag struct {
	// Behind says that there is something to read; Bytes how much, as far as
	// that can be told.
	Behind bool
	Bytes  int64
	// Ingested is when something was last read of it, zero if never.
	Ingested time.Time
	// Written is when the host last wrote to it.
	Written time.Time
}
