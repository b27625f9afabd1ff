package e2e

import (
	"encoding/json"
	"fmt"
)

type responsesRequest struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        json.RawMessage   `json:"tools"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	CallID    string          `json:"call_id"`
	Encrypted string          `json:"encrypted_content"`
	Content   json.RawMessage `json:"content"`
}

// own reports whether the model produced the item.
func (it responsesItem) own() bool {
	switch it.Type {
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "reasoning":
		return true
	}
	return it.Role == "assistant"
}

// checkResponses checks a request of the Responses API.
func checkResponses(body []byte, known issuedSignatures) (apiVerdict, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return apiVerdict{}, fmt.Errorf("the request is not JSON of the Responses API: %w", err)
	}
	v := apiVerdict{model: in.Model, items: len(in.Input)}
	v.blocks = append(v.blocks, cacheBlock{role: "tools", raw: in.Tools}, cacheBlock{role: "instructions", raw: []byte(in.Instructions)})
	items := make([]responsesItem, len(in.Input))
	for i, raw := range in.Input {
		if err := json.Unmarshal(raw, &items[i]); err != nil {
			return v, fmt.Errorf("input[%d]: %w", i, err)
		}
		v.blocks = append(v.blocks, cacheBlock{role: "input", raw: raw})
	}
	if err := checkItems(items); err != nil {
		return v, err
	}
	return v, checkReasoning(items, known)
}

func checkItems(items []responsesItem) error {
	ids, calls := map[string]bool{}, map[string]bool{} // calls without an output yet
	answered := map[string]bool{}
	for i, it := range items {
		if it.ID != "" && ids[it.ID] {
			return fmt.Errorf("input[%d]: Duplicate item found with id %s", i, it.ID)
		}
		ids[it.ID] = true
		switch it.Type {
		case "message", "":
			if it.Role != "user" && it.Role != "assistant" && it.Role != "system" && it.Role != "developer" {
				return fmt.Errorf("input[%d].role: invalid value %q", i, it.Role)
			}
			if len(it.Content) == 0 || string(it.Content) == "[]" {
				return fmt.Errorf("input[%d].content: empty", i)
			}
		case "function_call", "custom_tool_call":
			if calls[it.CallID] || answered[it.CallID] {
				return fmt.Errorf("input[%d]: call %s repeats", i, it.CallID)
			}
			calls[it.CallID] = true
		case "function_call_output", "custom_tool_call_output":
			if !calls[it.CallID] {
				return fmt.Errorf("input[%d]: No tool call found for function call output with call_id %s", i, it.CallID)
			}
			delete(calls, it.CallID)
			answered[it.CallID] = true
		}
	}
	for id := range calls {
		return fmt.Errorf("input: no tool output found for function call %s", id)
	}
	return nil
}

// checkReasoning checks that reasoning is the model's own and stands before the
// item that it was given out with.
func checkReasoning(items []responsesItem, known issuedSignatures) error {
	for i, it := range items {
		if it.Type == "reasoning" {
			if _, ok := known.thinking[it.Encrypted]; !ok {
				return fmt.Errorf("input[%d]: The encrypted content for item %s could not be verified", i, it.ID)
			}
			if i+1 == len(items) || !items[i+1].own() {
				return fmt.Errorf("input[%d]: Item %s of type 'reasoning' was provided without its required following item", i, it.ID)
			}
		}
		if needs := known.reasoning[it.ID]; needs != "" && (i == 0 || items[i-1].ID != needs) {
			return fmt.Errorf("input[%d]: Item %s of type %q was provided without its required 'reasoning' item: %s", i, it.ID, it.Type, needs)
		}
	}
	return nil
}

type chatRequest struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// checkChat checks a request of Chat Completions.
func checkChat(body []byte, _ issuedSignatures) (apiVerdict, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return apiVerdict{}, fmt.Errorf("the request is not JSON of Chat Completions: %w", err)
	}
	v := apiVerdict{model: in.Model, items: len(in.Messages), blocks: []cacheBlock{{role: "tools", raw: in.Tools}}}
	seen, open := map[string]bool{}, map[string]bool{}
	for i, raw := range in.Messages {
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return v, fmt.Errorf("messages[%d]: %w", i, err)
		}
		v.blocks = append(v.blocks, cacheBlock{role: "messages", raw: raw})
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return v, fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls': %s", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		for id := range open {
			return v, fmt.Errorf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %s", i, id)
		}
		switch m.Role {
		case "system", "developer", "user", "assistant":
		default:
			return v, fmt.Errorf("messages[%d].role: invalid value %q", i, m.Role)
		}
		if c := string(m.Content); len(m.ToolCalls) == 0 && (c == "" || c == "null" || c == "[]" || c == `""`) {
			return v, fmt.Errorf("messages[%d].content: empty", i)
		}
		for _, c := range m.ToolCalls {
			if seen[c.ID] {
				return v, fmt.Errorf("messages[%d]: call %s repeats", i, c.ID)
			}
			seen[c.ID], open[c.ID] = true, true
		}
	}
	for id := range open {
		return v, fmt.Errorf("messages: no tool message responds to %s", id)
	}
	return v, nil
}
