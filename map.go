package lcm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// ErrMapBudget ends a [Session.Map] that has used MapJob.Budget.
var ErrMapBudget = mapjob.ErrBudget

// MapJob asks a model the same about many items; see [Session.Map].
type MapJob struct {
	// Key names the job in its session. A call with the same key and the same items, prompt and
	// schema goes on where the last one ended; with others it is an error. Where items change, as
	// files do, put a hash of them into the key.
	Key string
	// Items are the items: values that can be written as JSON. InputPath is a file of them
	// instead, with one JSON value a line.
	Items     []any
	InputPath string // see Items
	// Prompt says what to do with an item.
	Prompt string
	// Schema is the JSON Schema of a reply. Without one, a reply is any text.
	Schema json.RawMessage
	// Model answers. It may be another one when a job is resumed. Default: the model of Agent.
	Model llms.Model
	// Concurrency is how many items are asked about at once. Default 16.
	Concurrency int
	// MaxAttempts is how many replies of an item may not fit. Default 3.
	MaxAttempts int
	// ItemTimeout is how long all attempts of an item may take, also those of a model that
	// fails for a while. Default 2 minutes, or 10 with an Agent.
	ItemTimeout time.Duration
	// Budget is how many tokens, in and out, all runs of the job may have used when an item is
	// begun. Items that run then are finished. A retry counts anew. Default: any number.
	Budget int
	// Retry asks again about the items that failed, and about no other, if the job has ended. The
	// new output has all items. Calls and tokens in the report are those of the retry.
	Retry bool
	// Agent has a sub-agent with its config work on each item, in a session of its own. Its
	// Memory is not used.
	Agent *agents.AgentConfig
	// ReadOnly leaves the agent only the tools that declare to be read only, and no sub-agents.
	ReadOnly bool
	// Progress is called now and then while the job runs, and at its end with the whole report:
	// one call at a time.
	Progress func(MapReport)

	maps *MapTools // that the agents of items have
}

// The defaults of MapJob.
const (
	DefaultMapConcurrency = 16
	DefaultMapAttempts    = 3
	DefaultMapItemTimeout = 2 * time.Minute
)

// MapReport tells how far a job is. It has no items: the output is in the file.
type MapReport struct {
	Key       string           `json:"key"`                // of the job
	Items     int              `json:"items"`              // how many there are
	Done      int              `json:"done"`               // with an output
	Failed    int              `json:"failed"`             // without one, for good
	Calls     int              `json:"calls"`              // of the model or the agent
	TokensIn  int              `json:"tokensIn"`           // that the model read, in all calls
	TokensOut int              `json:"tokensOut"`          // that it wrote
	FileID    record.PayloadID `json:"fileId,omitempty"`   // the output, once the job has ended; see [recall.DescribeRequest]
	Failures  []MapFailure     `json:"failures,omitempty"` // the first ones, once the job has ended
}

// MapFailure is an item that failed for good, and why. It is the error of that item in
// [MapInto].
type MapFailure struct {
	Item   int    `json:"item"`  // its number, from 0
	Reason string `json:"error"` // why it failed
}

// Error implements error.
func (f *MapFailure) Error() string { return fmt.Sprintf("item %d: %s", f.Item, f.Reason) }

// shownFailures is how many failures a report has.
const shownFailures = 5

// mapLine is a line of the output: an item with its output or its error.
type mapLine struct {
	Item   int             `json:"item"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// mapNote is the text of the message that has the output of a job.
type mapNote struct {
	MapReport
	Job string `json:"job"` // the SHA-256 of what was asked
}

// Map asks a model about every item of a job and stores the replies. It returns when every item
// is done or has failed.
//
// Each item is a conversation of its own: the prompt is its system prompt, the item as JSON its
// first message. A reply that does not fit the schema goes back to the model with what is wrong.
// With [MapJob].Agent, a sub-agent with tools works on each item: prompt and item are its task.
//
// The output is a file of the session (MapReport.FileID), which lcm_grep and lcm_describe read:
// one line of JSON for each item, {"item":0,"output":…} or {"item":1,"error":"…"}, with secrets
// masked as everywhere. [MapInto] reads it as Go values, as they were made.
//
// A job survives its process: the next call with its key goes on with the items that are left,
// and several processes may work on one job. A job that has ended is not asked again, but for the
// failed items of a MapJob.Retry. An item whose process died is asked again, after a minute at most: it may be asked twice, its
// output is stored once. Map ends early, with an error, if the context ends, the budget is
// used, the key is refused, or the model fails for every item; items that are done are kept.
func (s *Session) Map(ctx context.Context, job MapJob) (MapReport, error) {
	var report MapReport
	j, err := prepareMap(s, job)
	if err == nil {
		report, err = j.run(ctx)
	}
	if err == nil && job.Progress != nil {
		job.Progress(report)
	}
	if err != nil {
		err = fmt.Errorf("map %q: %w", job.Key, err)
	}
	return report, err
}

// MapInto is [Session.Map] for replies of a type. It yields the outputs in the order of the
// items once the job has ended, and a [*MapFailure] in place of one that failed. Any other
// error is the last pair. Where the job has no schema, that of T is used, which is a struct; see
// [core.SchemaFor]. A T of json.RawMessage needs none. MapJob.Progress gets the report.
func MapInto[T any](ctx context.Context, s *Session, job MapJob) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if _, raw := any(none).(json.RawMessage); !raw && len(job.Schema) == 0 {
			schema, err := core.SchemaFor[T]()
			if err != nil {
				yield(none, err)
				return
			}
			job.Schema = schema.JSON()
		}
		_, err := s.Map(ctx, job)
		var j *mapRun
		if err == nil {
			j, err = prepareMap(s, job)
		}
		if err != nil {
			yield(none, err)
			return
		}
		for line, err := range j.lines(ctx) {
			var v T
			if err == nil && line.Error == "" {
				err = json.Unmarshal(line.Output, &v)
			}
			wrong := err != nil // else it is the item's
			if line.Error != "" {
				err = &MapFailure{line.Item, line.Error}
			}
			if !yield(v, err) || wrong {
				return
			}
		}
	}
}

func prepareMap(s *Session, job MapJob) (*mapRun, error) {
	j := &mapRun{MapJob: job, session: s}
	j.Concurrency, j.MaxAttempts = cmp.Or(j.Concurrency, DefaultMapConcurrency), cmp.Or(j.MaxAttempts, DefaultMapAttempts)
	usual := DefaultMapItemTimeout
	if j.Agent != nil {
		usual = 5 * DefaultMapItemTimeout
		if core.IsNil(j.Model) {
			j.Model = j.Agent.LLMEngine
		}
	}
	j.ItemTimeout = cmp.Or(j.ItemTimeout, usual)
	switch {
	case job.Key == "":
		return nil, errors.New("it needs a key, by which it is resumed")
	case job.Prompt == "":
		return nil, errors.New("it needs a prompt that says what to do with an item")
	case core.IsNil(j.Model):
		return nil, errors.New("it needs a model")
	case min(j.Concurrency, j.MaxAttempts, j.Budget) < 0 || j.ItemTimeout < 0:
		return nil, errors.New("limits must not be negative")
	case (job.InputPath == "") == (job.Items == nil):
		return nil, errors.New("it needs either Items or InputPath")
	}
	var err error
	if j.check, err = mapjob.Checker(j.Schema); err != nil {
		return nil, err
	}
	if j.items, err = readItems(job); err != nil {
		return nil, err
	}
	asked := struct {
		Prompt string
		Agent  *string // its system prompt
		Schema json.RawMessage
		Items  []json.RawMessage
	}{Prompt: job.Prompt, Schema: job.Schema, Items: j.items}
	if job.Agent != nil {
		asked.Agent = &job.Agent.SystemPrompt
	}
	all, err := json.Marshal(asked)
	j.sum = sha256.Sum256(all)
	return j, err
}

// readItems returns the items of a job as JSON.
func readItems(job MapJob) (items []json.RawMessage, err error) {
	for i, v := range job.Items {
		item, err := jsonstring.Marshal(v) // the model is to read "<", not its escape
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		items = append(items, item)
	}
	if job.InputPath != "" {
		f, err := os.Open(job.InputPath)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if items, err = mapjob.Lines(f); err != nil {
			return nil, fmt.Errorf("%s: %w", job.InputPath, err)
		}
	}
	if len(items) == 0 {
		return nil, errors.New("there are no items")
	}
	return items, nil
}
