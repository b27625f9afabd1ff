package lcm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/internal/record/store"
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

// mapRun is a job with its defaults, in a session.
type mapRun struct {
	MapJob
	session *Session
	items   []json.RawMessage
	sum     [sha256.Size]byte
	check   func(string) (string, error)
	round   int // how many retries there were before
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

// run finds the output of a job, or works on it.
func (j *mapRun) run(ctx context.Context) (MapReport, error) {
	report, home, err := j.ended(ctx)
	if err != nil || report.FileID != "" && (!j.Retry || report.Failed == 0) {
		return report, err
	}
	var done []store.MapItem
	if report.FileID != "" {
		if done, err = j.keep(ctx); err != nil {
			return report, err
		}
		j.round++
	}
	gone, err := j.session.engine.store.Forgotten(ctx, j.session.Key(), j.session.open.Project, slices.Values([]store.Fingerprint{{Native: j.id()}}))
	if err != nil || slices.Contains(gone, true) {
		return report, cmp.Or(err, errors.New("its output was erased: choose another key"))
	}
	if home == 0 {
		if home, err = j.session.active(ctx); err != nil {
			return report, err
		}
	}
	work := mapjob.Job{
		Store: j.session.engine.store, Conversation: home, Check: j.checkClean, Clean: j.session.engine.ingest.Clean,
		Concurrency: j.Concurrency, MaxAttempts: j.MaxAttempts, ItemTimeout: j.ItemTimeout, Budget: j.Budget,
	}
	if j.Progress != nil {
		work.Progress = func(state store.MapState) { j.Progress(reportOf(j.Key, state)) }
	}
	if err := j.asker(ctx, home, &work); err != nil {
		return report, err
	}
	work.Run, err = work.Store.StartMap(ctx, home, store.NewMap{Key: j.id(), Job: j.sum, Items: len(j.items), Done: done})
	if errors.Is(err, store.ErrConflict) {
		return report, errOtherJob
	}
	if err != nil {
		return report, err
	}
	state, err := work.Do(ctx)
	if err == nil {
		err = j.store(ctx, work)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return reportOf(j.Key, state), err
	}
	report, _, err = j.ended(ctx)
	if err == nil && report.FileID == "" {
		err = errors.New("something of the session was erased, which ends its jobs: begin again")
	}
	return report, err
}

var errOtherJob = errors.New("the key belongs to a job with other items, another prompt or another schema: choose another key")

// checkClean checks a reply, and removes what may not be stored.
func (j *mapRun) checkClean(reply string) (string, error) {
	output, err := j.check(reply)
	if err != nil {
		return "", err
	}
	if output = j.session.engine.ingest.Clean(output); !json.Valid([]byte(output)) {
		return "", errors.New("it has a private block that is not closed")
	}
	return output, nil
}

func reportOf(key string, s store.MapState) MapReport {
	return MapReport{Key: key, Items: s.Items, Done: s.Done, Failed: s.Failed, Calls: s.Attempts,
		TokensIn: s.Usage.InputTokens, TokensOut: s.Usage.OutputTokens}
}

// id is the id of the message with the output of a job, and until then the key of its map.
func (j *mapRun) id() string {
	if j.round == 0 {
		return "map:" + j.Key
	}
	return fmt.Sprintf("map/%d:%s", j.round, j.Key)
}

// output returns the message with the output of a job, if it has ended, and the conversation in
// which the job is kept until then: the first one of the session. Of retries it is the last.
func (j *mapRun) output(ctx context.Context) (found record.Message, home record.ConversationID, err error) {
	db := j.session.engine.store
	segments, err := db.Conversations(ctx, store.ConversationQuery{Key: j.session.Key()})
	for _, c := range segments {
		if home == 0 || c.ID < home {
			home = c.ID
		}
	}
	for j.round = 0; err == nil; j.round++ {
		last := found.ID
		for _, c := range segments {
			for m, err := range db.Messages(ctx, store.MessageQuery{Conversation: c.ID, Natives: []string{j.id()}}) {
				if err != nil {
					return found, home, err
				}
				found = m
			}
		}
		if found.ID == last {
			break
		}
	}
	j.round = max(j.round-1, 0)
	return found, home, err
}

// keep returns the items of the output of a job that are done.
func (j *mapRun) keep(ctx context.Context) (done []store.MapItem, err error) {
	for line, err := range j.lines(ctx) {
		if err != nil {
			return nil, err
		}
		if line.Error == "" {
			done = append(done, store.MapItem{N: line.Item, Status: store.MapDone, Output: string(line.Output)})
		}
	}
	return done, nil
}

// ended returns the report of a job that has ended, or one without a file.
func (j *mapRun) ended(ctx context.Context) (MapReport, record.ConversationID, error) {
	m, home, err := j.output(ctx)
	var note mapNote
	switch {
	case err != nil || m.ID == 0:
		return note.MapReport, home, err
	case m.Damaged:
		return note.MapReport, home, fmt.Errorf("%v, the output of the map: %w", m.ID, store.ErrDamaged)
	case len(m.Body.Parts) != 2 || m.Body.Parts[1].Ref == nil || json.Unmarshal([]byte(m.Body.Parts[0].Text), &note) != nil:
		return note.MapReport, home, fmt.Errorf("%v is not the output of a job", m.ID)
	case note.Job != hex.EncodeToString(j.sum[:]):
		return MapReport{}, home, errOtherJob
	}
	note.FileID = record.PayloadID(m.Body.Parts[1].Ref.ID)
	return note.MapReport, home, j.session.engine.store.EndMap(ctx, home, j.id()) // a process may have died before it did
}

// store stores the output of a job as a message that no model is shown. Two processes may do so
// at once: the message has an id and is made of the items alone, so that it is stored once.
func (j *mapRun) store(ctx context.Context, work mapjob.Job) error {
	note := mapNote{MapReport: MapReport{Key: j.Key, Items: len(j.items)}, Job: hex.EncodeToString(j.sum[:])}
	var lines [][]byte
	for item, err := range work.Store.MapItems(ctx, work.Conversation, work.Run) {
		if err != nil {
			return err
		}
		note.Calls += item.Attempts
		note.TokensIn, note.TokensOut = note.TokensIn+item.Usage.InputTokens, note.TokensOut+item.Usage.OutputTokens
		if item.Status == store.MapDone {
			note.Done++
		} else if note.Failed++; len(note.Failures) < shownFailures {
			note.Failures = append(note.Failures, MapFailure{item.N, item.Error})
		}
		line, err := jsonstring.Marshal(mapLine{Item: item.N, Output: json.RawMessage(item.Output), Error: item.Error})
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if len(lines) != len(j.items) {
		return store.Missing("the map") // another process was faster and has ended it, or an erasure
	}
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	m := record.Input{Message: llms.Assistant(string(text)), Flags: record.FlagHidden}
	m.ID = j.id()
	if _, err := work.Store.StepMap(ctx, work.Conversation, work.Run, store.MapStep{}); err != nil {
		return err // an erasure has ended the job
	}
	return j.session.onActive(ctx, j.session.active, func(id record.ConversationID) error {
		_, err := j.session.engine.ingest.AppendLines(ctx, id, m, j.Key+".jsonl", "application/jsonl", lines)
		return err
	})
}

// lines yields the lines of the output of a job that has ended, as they were made: the file that
// recall shows has masks in place of secrets.
func (j *mapRun) lines(ctx context.Context) iter.Seq2[mapLine, error] {
	return func(yield func(mapLine, error) bool) {
		m, _, err := j.output(ctx)
		if err == nil {
			m, err = j.session.engine.asCalled(ctx, m)
		}
		if err != nil {
			yield(mapLine{}, err)
			return
		}
		lines := json.NewDecoder(bytes.NewReader(m.Body.Parts[1].Blob.Data))
		for range j.items {
			var line mapLine
			if err := lines.Decode(&line); !yield(line, err) || err != nil {
				return
			}
		}
	}
}
