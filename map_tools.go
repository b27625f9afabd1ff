package lcm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// MapTools says what the tools llm_map and agentic_map may do; see [WithMaps].
type MapTools struct {
	// Model answers llm_map, and agentic_map if Agent has none. Default: the model of the agent
	// that calls the tool.
	Model llms.Model
	// Agent is the config of the sub-agents of agentic_map. Without it there is no such tool.
	Agent *agents.AgentConfig
	// Dir is a directory of files of items that the agent may name. Without it, the agent
	// gives items in the call, or names a file of the session.
	Dir string
}

// WithMaps adds the tools llm_map and agentic_map, with which an agent has a model or sub-agents
// work on many items; see [Session.Map]. The agent gets a report; the output is a file of the session.
func WithMaps(m MapTools) ToolOption { return func(t *toolset) { t.maps = &m } }

type mapArgs struct {
	Prompt      string         `json:"prompt" description:"What to do with each item, with everything that is to be known"`
	Items       []any          `json:"items,omitempty" description:"The items, if they are few"`
	Input       string         `json:"input,omitempty" description:"The items in a file, one JSON value a line: file_… of the session, or a path"`
	Schema      map[string]any `json:"schema,omitempty" description:"JSON Schema that each reply must fit (default: any text)"`
	Key         string         `json:"key,omitempty" description:"Name of the job: a call with the same key goes on with it"`
	Retry       bool           `json:"retry" default:"false" description:"Ask again about the items of an ended job that failed, and about no other"`
	MaxAttempts int            `json:"maxAttempts" default:"3" minimum:"1" maximum:"10" description:"How often an item is asked about until its reply fits"`
}

type agenticMapArgs struct {
	mapArgs
	ReadOnly bool `json:"readOnly" default:"false" description:"Leave the sub-agents only the tools that change nothing"`
}

// mapTools returns the tools of WithMaps.
func (t *toolset) mapTools() []core.Tool {
	if t.maps == nil {
		return nil
	}
	all := []core.Tool{newMapTool(toolname.LLMMap, func(ctx context.Context, in mapArgs) (MapReport, error) {
		return t.runMap(ctx, in, MapJob{})
	})}
	if t.maps.Agent != nil {
		all = append(all, newMapTool(toolname.AgenticMap, func(ctx context.Context, in agenticMapArgs) (MapReport, error) {
			return t.runMap(ctx, in.mapArgs, MapJob{Agent: t.maps.Agent, ReadOnly: in.ReadOnly, maps: t.maps})
		}))
	}
	return all
}

func newMapTool[In any](name string, run func(context.Context, In) (MapReport, error)) core.Tool {
	return core.MustTool(core.MustToolInfo(name, prompt(name)), func(ctx context.Context, in In) (core.Result, error) {
		report, err := run(ctx, in)
		if err != nil {
			return core.Result{}, fmt.Errorf("%w\n%s", err, toolname.LearnMore(name))
		}
		raw, err := jsonstring.Marshal(report)
		return core.Result{Text: string(raw), Data: report}, err
	})
}

func (t *toolset) runMap(ctx context.Context, in mapArgs, job MapJob) (MapReport, error) {
	var err error
	job.Key, job.Prompt, job.Items, job.MaxAttempts, job.Retry = in.Key, in.Prompt, in.Items, in.MaxAttempts, in.Retry
	if (in.Input == "") == (len(in.Items) == 0) {
		return MapReport{}, errors.New("give either items or input")
	}
	if in.Input != "" {
		if job.Items, err = t.readInput(ctx, in.Input); err != nil {
			return MapReport{}, fmt.Errorf("input: %w", err)
		}
	}
	if len(in.Schema) > 0 {
		if job.Schema, err = json.Marshal(in.Schema); err != nil {
			return MapReport{}, err
		}
	}
	if job.Agent != nil {
		job.Model = job.Agent.LLMEngine
	}
	for _, m := range []llms.Model{t.maps.Model, t.model, llms.ModelFrom(ctx)} {
		if core.IsNil(job.Model) {
			job.Model = m
		}
	}
	if job.Key == "" {
		asked, err := json.Marshal([]any{job.Agent != nil, job.ReadOnly, job.Prompt, job.Schema, job.Items})
		if err != nil {
			return MapReport{}, err
		}
		job.Key = fmt.Sprintf("%x", sha256.Sum256(asked))[:12]
	}
	report, err := t.session.Map(ctx, job)
	if err != nil && report.Items > 0 {
		err = fmt.Errorf("%w; %d of %d items are done, %d have failed: the same call with key %q goes on", err, report.Done, report.Items, report.Failed, job.Key)
	}
	return report, err
}

// readInput reads the items of a file of the session, or of one in the directory of the tools.
func (t *toolset) readInput(ctx context.Context, name string) ([]any, error) {
	var from io.Reader
	switch {
	case strings.HasPrefix(name, "file_"):
		id := record.PayloadID(name)
		if _, err := t.session.Describe(ctx, recall.DescribeRequest{ID: record.ID{Payload: id}, Where: t.where(ctx, 0, false), MaxTokens: 1}); err != nil {
			return nil, err // it belongs to another session
		}
		p, err := t.session.engine.store.Payload(ctx, id)
		if err != nil {
			return nil, err
		}
		from = io.NewSectionReader(p.Content, 0, p.Size)
	case t.maps.Dir == "":
		return nil, errors.New("only a file of the session can be named, file_…")
	default:
		root, err := os.OpenRoot(t.maps.Dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	lines, err := mapjob.Lines(from)
	items := make([]any, len(lines))
	for i, line := range lines {
		items[i] = line
	}
	return items, err
}
