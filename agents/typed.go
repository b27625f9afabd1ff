package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
)

// ErrMisfit ends a Run whose model does not give an answer that fits the type.
var ErrMisfit = errors.New("the answer does not fit its type")

// maxMisfits is how many answers of a Run may not fit.
const maxMisfits = 3

// Run chats with an agent and returns the answer as a T, which is a struct; see
// [core.SchemaFor] for how its fields become a schema. The model is held to the schema by its
// provider where that is possible. An answer that does not fit goes back to the model with
// the reason; the third that does not fit ends the chat with [ErrMisfit]. A turn that is cut short
// or waits for approval goes on with [Continue].
func Run[T any](ctx context.Context, a *Agent, prompt string) (T, error) {
	return typed[T](ctx, a, func(c *chat, ctx context.Context) error { return c.begin(ctx, llms.User(prompt)) })
}

// Continue is [Agent.Continue] for a turn of [Run]: it returns the answer as a T.
func Continue[T any](ctx context.Context, a *Agent) (T, error) {
	return typed[T](ctx, a, (*chat).resume)
}

// typed runs a chat whose answer is a T.
func typed[T any](ctx context.Context, a *Agent, open func(*chat, context.Context) error) (T, error) {
	var out T
	schema, err := core.SchemaFor[T]()
	if err == nil {
		err = a.err
	}
	if err != nil {
		return out, err
	}
	text, err := a.starter(func(c *chat, ctx context.Context) error {
		c.schema = schema
		return open(c, ctx)
	}).StartContext(ctx).Text()
	if err != nil {
		return out, err
	}
	fitting, _ := fit(schema, text) // which the chat has checked
	return out, json.Unmarshal(fitting, &out)
}

// fit returns the JSON object of an answer, corrected where that is safe, or what is wrong.
func fit(schema *core.Schema, text string) (json.RawMessage, error) {
	from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if from < 0 || to < from {
		return nil, errors.New("there is no JSON object in it")
	}
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text[from : to+1]))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	applied, problems := schema.Apply(schema.Coerce(object))
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return json.Marshal(applied)
}

// askAgain tells the model what is wrong with an answer. It returns false if the answer fits.
func (c *chat) askAgain(ctx context.Context, text string) (bool, error) {
	_, err := fit(c.schema, text)
	if err == nil {
		return false, nil
	}
	if c.misfit++; c.misfit >= maxMisfits {
		return false, fmt.Errorf("%w: %w", ErrMisfit, err)
	}
	return true, c.memory.Append(ctx, llms.User(fmt.Sprintf("Your answer does not fit the JSON Schema: %v. Answer with the corrected JSON object and nothing else.", err)))
}
