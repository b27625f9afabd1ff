package llmtest

import (
	"encoding/json"
	"fmt"

	"github.com/lossless-context/lcm/llms"
)

// inputItem is one item of a Responses request. Which fields are set depends
// on its type.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"` // of a custom tool call
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
}

func decodeResponses(body []byte) (wireRequest, error) {
	var in struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []inputTool     `json:"tools"`

		MaxOutputTokens int      `json:"max_output_tokens"`
		Temperature     *float64 `json:"temperature"`
		Stream          bool     `json:"stream"`

		ToolChoice json.RawMessage `json:"tool_choice"`
		Reasoning  struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
		Text struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return wireRequest{}, fmt.Errorf("the request is not JSON of the Responses API: %w", err)
	}
	r := wireRequest{Stream: in.Stream, Request: llms.Request{
		Model: in.Model, System: in.Instructions, MaxTokens: in.MaxOutputTokens, Temperature: in.Temperature,
		ToolChoice: toolChoice(in.ToolChoice), Effort: in.Reasoning.Effort, Schema: in.Text.Format.Schema,
	}}
	r.addTools(in.Tools)
	var err error
	r.Messages, err = responsesInput(in.Input)
	return r, err
}

// inputTool is a tool of a Responses request, or a namespace of them.
type inputTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Tools       []inputTool     `json:"tools"`
}

// addTools lists the tools of a request. One in a namespace goes by both
// names, as MCP's tools do in other agents: mcp__lcm__lcm_grep.
func (r *wireRequest) addTools(tools []inputTool) {
	for _, t := range tools {
		if t.Name == "" {
			t.Name = t.Type // a tool that the provider runs, such as web_search
		}
		r.Tools = append(r.Tools, llms.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
		for _, sub := range t.Tools {
			name := t.Name + "__" + sub.Name
			r.Tools = append(r.Tools, llms.ToolSpec{Name: name, Description: sub.Description, Parameters: sub.Parameters})
			if r.Namespaces == nil {
				r.Namespaces = map[string]string{}
			}
			r.Namespaces[name] = t.Name
		}
	}
}

// responsesInput reads a string, or a list of items.
func responsesInput(raw json.RawMessage) ([]llms.Message, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []llms.Message{llms.User(text)}, nil
	}
	var records []json.RawMessage
	if err := json.Unmarshal(raw, &records); err != nil {
		return nil, fmt.Errorf("input is neither a text nor a list of items: %w", err)
	}
	var ms []llms.Message
	for i, record := range records {
		var it inputItem
		if err := json.Unmarshal(record, &it); err != nil {
			return nil, fmt.Errorf("input item %d: %w", i+1, err)
		}
		m := it.message(record)
		if !m.Role.Valid() {
			return nil, fmt.Errorf("input item %d: unknown role %q", i+1, m.Role)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// message returns the item as a message of its own.
func (it inputItem) message(record json.RawMessage) llms.Message {
	part := func(role llms.Role, p llms.Part) llms.Message { return llms.Message{Role: role, Parts: []llms.Part{p}} }
	switch it.Type {
	case "function_call", "custom_tool_call":
		return part(llms.RoleAssistant, llms.Part{Kind: llms.PartToolCall,
			Call: &llms.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Arguments + it.Input}})
	case "function_call_output", "custom_tool_call_output":
		return part(llms.RoleTool, llms.Part{Kind: llms.PartToolResult,
			Result: &llms.ToolResult{CallID: it.CallID, Output: responsesContent(it.Output)}})
	case "reasoning":
		return part(llms.RoleAssistant, llms.Part{Kind: llms.PartReasoning, Text: joinedText(it.Summary)})
	case "message", "":
		role := llms.Role(it.Role)
		if role == "developer" {
			role = llms.RoleSystem
		}
		return llms.Message{Role: role, Parts: responsesContent(it.Content)}
	}
	return part(llms.RoleAssistant, llms.Part{Kind: llms.PartOther, Extra: record})
}

// responsesContent reads a string, or a list of texts and images.
func responsesContent(raw json.RawMessage) []llms.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []llms.Part{{Kind: llms.PartText, Text: text}}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return []llms.Part{{Kind: llms.PartText, Text: string(raw)}}
	}
	var parts []llms.Part
	for _, record := range blocks {
		var b struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			ImageURL string `json:"image_url"`
		}
		switch {
		case json.Unmarshal(record, &b) != nil:
			parts = append(parts, llms.Part{Kind: llms.PartOther, Extra: record})
		case b.Type == "input_image":
			parts = append(parts, llms.Part{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/*", URL: b.ImageURL}})
		case b.Type == "input_text", b.Type == "output_text":
			parts = append(parts, llms.Part{Kind: llms.PartText, Text: b.Text})
		default:
			parts = append(parts, llms.Part{Kind: llms.PartOther, Extra: record})
		}
	}
	return parts
}
