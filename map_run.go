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
	"slices"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/tools"
)

var errOtherJob = errors.New("the key belongs to a job with other items, another prompt or another schema: choose another key")

// mapRun is a job with its defaults, in a session.
type mapRun struct {
	MapJob
	session *Session
	items   []json.RawMessage
	sum     [sha256.Size]byte
	check   func(string) (string, error)
	round   int // how many retries there were before
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

// asker sets how a job is done: a model is asked about an item, or an agent.
func (j *mapRun) asker(ctx context.Context, parent record.ConversationID, work *mapjob.Job) error {
	chat := tools.ScopeFrom(ctx)
	if chat != nil {
		work.Room = max(chat.Left().Tokens, 1) // of the agent that has the job done
	}
	if j.Agent == nil {
		work.Item = func(n int) mapjob.Ask { return j.askModel(chat, n) }
		return nil
	}
	if _, err := agents.New(j.itemConfig(parent, 0)); err != nil {
		return err
	}
	handOff := func(from *tools.Scope) (*tools.Scope, error) {
		return from.HandOff(j.Prompt, "what is made of the results")
	}
	var shared *tools.Scope
	var err error
	if chat != nil {
		if shared, err = handOff(chat); err != nil {
			return err
		}
	}
	work.Item = func(n int) mapjob.Ask {
		scope, err := shared, error(nil)
		if chat == nil { // nobody shares its limits
			scope, err = handOff(tools.NewScope(tools.Budget{}))
		}
		if err != nil {
			return func(context.Context, string) (string, llms.Usage, error) { return "", llms.Usage{}, err }
		}
		return j.askAgent(parent, scope, n)
	}
	return nil
}

// form tells the model how to reply.
func (j *mapRun) form() string {
	if len(j.Schema) == 0 {
		return ""
	}
	return "\n\nReply with JSON that fits this JSON Schema, and nothing else:\n" + string(j.Schema)
}

// askModel asks the model about an item. The prompt is the same for all items, so that
// providers cache it.
func (j *mapRun) askModel(scope *tools.Scope, n int) mapjob.Ask {
	r := llms.Request{System: j.Prompt + j.form(), Messages: []llms.Message{llms.User(string(j.items[n]))}}
	var kind struct{ Type any }
	if json.Unmarshal(j.Schema, &kind) == nil && kind.Type == "object" {
		r.Schema = j.Schema
	}
	return func(ctx context.Context, message string) (string, llms.Usage, error) {
		if message != "" {
			r.Messages = append(r.Messages, llms.User(message))
		}
		answer, err := llms.Complete(ctx, j.Model, r)
		if scope != nil {
			scope.Charge(answer.Usage)
		}
		told(ctx, toolname.LLMMap, answer.Usage)
		if err != nil {
			return "", answer.Usage, err
		}
		if answer.Stop == llms.StopRefusal {
			return "", answer.Usage, mapjob.OfItem(fmt.Errorf("%w: %s", agents.ErrRefused, answer.Message.PlainText()))
		}
		r.Messages = append(r.Messages, answer.Message)
		return answer.Message.PlainText(), answer.Usage, nil
	}
}

// itemConfig is the config of the agent that works on an item, in a session of its own.
func (j *mapRun) itemConfig(parent record.ConversationID, n int) agents.AgentConfig {
	c := *j.Agent
	c.LLMEngine = j.Model
	s := j.session
	key := fmt.Sprintf("%s/map/%s/%d", s.Key(), j.Key, n)
	if j.round > 0 {
		key += fmt.Sprint("/", j.round)
	}
	child := s.engine.Session(key, WithParent(parent), WithAgent(c.AgentName), WithProject(s.open.Project))
	options := []ToolOption{WithCallerModel(j.Model)}
	if j.maps != nil && !j.ReadOnly {
		options = append(options, WithMaps(*j.maps))
	}
	c.Memory = child.Memory(0, options...)
	if j.ReadOnly {
		c.SubAgents = nil
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(t llms.Tool) bool { return !core.BehaviorOf(t).ReadOnly })
	}
	return c
}

// askAgent has an agent work on an item. A turn that another process left unfinished is
// continued.
func (j *mapRun) askAgent(parent record.ConversationID, scope *tools.Scope, n int) mapjob.Ask {
	config := j.itemConfig(parent, n)
	memory := config.Memory.(*Memory)
	agent, err := agents.New(config)
	return func(ctx context.Context, message string) (string, llms.Usage, error) {
		if err != nil {
			return "", llms.Usage{}, err
		}
		call := agent.ChatStream(message)
		if message == "" {
			turn, err := memory.Turn(ctx)
			if err != nil {
				return "", llms.Usage{}, err
			}
			switch pending := agents.PendingOf(turn); {
			case len(turn) == 0:
				call = agent.ChatStream(j.Prompt + j.form() + "\n\nThe item:\n" + string(j.items[n]))
			case pending.Unfinished:
				call = agent.Continue(ctx)
			default:
				return turn[len(turn)-1].PlainText(), llms.Usage{}, nil
			}
		}
		text, used, err := answerOf(tools.WithScope(ctx, scope), call)
		told(ctx, toolname.AgenticMap, used)
		return text, used, err
	}
}

// told tells the agent that has the job done what an item cost, which is also a sign of life.
func told(ctx context.Context, tool string, used llms.Usage) {
	core.Emit(ctx, core.Event{Kind: core.EventUsage, Usage: &used}.Relayed(tool))
}

// answerOf waits for the answer of an agent. It waits too while the session has the turn of a
// process that died.
func answerOf(ctx context.Context, call core.IResponseChStarter) (text string, used llms.Usage, err error) {
	for {
		end := call.StartContext(ctx).Wait()
		if end.Usage != nil {
			used = used.Add(*end.Usage)
		}
		if errors.Is(end.Err, errTurnTaken) && ctx.Err() == nil {
			continue
		}
		for _, own := range []error{agents.ErrTooManyIterations, agents.ErrRepeated, agents.ErrChatBudget, agents.ErrRefused, agents.ErrEmpty, tools.ErrBudgetSpent} {
			if errors.Is(end.Err, own) {
				return "", used, mapjob.OfItem(end.Err)
			}
		}
		return end.Text, used, end.Err
	}
}

func reportOf(key string, s store.MapState) MapReport {
	return MapReport{Key: key, Items: s.Items, Done: s.Done, Failed: s.Failed, Calls: s.Attempts,
		TokensIn: s.Usage.InputTokens, TokensOut: s.Usage.OutputTokens}
}
