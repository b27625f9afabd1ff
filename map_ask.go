package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/tools"
)

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
