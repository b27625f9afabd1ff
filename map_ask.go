package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/tools"
)

// asker returns the function that asks about an item: a model, or an agent.
func (j *mapRun) asker(ctx context.Context, parent record.ConversationID) (func(n int) mapjob.Ask, error) {
	scope := tools.ScopeFrom(ctx)
	if scope == nil {
		scope = tools.NewScope(tools.Budget{Tokens: math.MaxInt})
	} else if left := scope.Left().Tokens; j.Budget == 0 || left < j.Budget {
		j.Budget = max(left, 1) // of the agent that has the job done
	}
	if j.Agent == nil {
		return func(n int) mapjob.Ask { return j.askModel(scope, n) }, nil
	}
	inner, err := scope.HandOff(j.Prompt, "what is made of the results")
	if err != nil {
		return nil, err
	}
	if _, err := agents.New(j.itemConfig(parent, 0)); err != nil {
		return nil, err
	}
	return func(n int) mapjob.Ask { return j.askAgent(parent, inner, n) }, nil
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
		scope.Charge(answer.Usage)
		told(ctx, toolname.LLMMap, answer.Usage)
		if err != nil {
			return "", answer.Usage, err
		}
		if answer.Stop == llms.StopRefusal {
			return "", answer.Usage, fmt.Errorf("%w: %s", agents.ErrRefused, answer.Message.PlainText())
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
	child := s.engine.Session(fmt.Sprintf("%s/map/%s/%d", s.Key(), j.Key, n), WithParent(parent), WithAgent(c.AgentName), WithProject(s.open.Project))
	c.Memory = child.Memory(0, WithCallerModel(j.Model))
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
		if !errors.Is(end.Err, errTurnTaken) || ctx.Err() != nil {
			return end.Text, used, end.Err
		}
	}
}
