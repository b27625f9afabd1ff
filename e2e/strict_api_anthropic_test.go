package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	System    json.RawMessage    `json:"system"`
	Tools     []json.RawMessage  `json:"tools"`
	Messages  []anthropicMessage `json:"messages"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	blocks  []anthropicBlock
}

type anthropicBlock struct {
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	ID        string     `json:"id"`
	ToolUseID string     `json:"tool_use_id"`
	Thinking  string     `json:"thinking"`
	Signature string     `json:"signature"`
	Cache     *cacheMark `json:"cache_control"`
	raw       json.RawMessage
}

// cacheMark is a cache mark.
type cacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

func (m *cacheMark) lifetime() string {
	switch {
	case m == nil:
		return ""
	case m.TTL == "":
		return "5m"
	}
	return m.TTL
}

var toolUseID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkAnthropic checks a request of the Messages API.
func checkAnthropic(body []byte, known issuedSignatures) (apiVerdict, error) {
	var in anthropicRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return apiVerdict{}, fmt.Errorf("the request is not JSON of the Messages API: %w", err)
	}
	v := apiVerdict{model: in.Model, items: len(in.Messages), marked: true}
	system, err := anthropicContent(in.System)
	if err != nil {
		return v, fmt.Errorf("system: %w", err)
	}
	for i := range in.Messages {
		m := &in.Messages[i]
		if m.blocks, err = anthropicContent(m.Content); err != nil {
			return v, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	for _, raw := range in.Tools {
		var t anthropicBlock
		if err := json.Unmarshal(raw, &t); err != nil {
			return v, fmt.Errorf("tools: %w", err)
		}
		v.blocks = append(v.blocks, cacheBlock{"tools", unmarked(raw), t.Cache.lifetime()})
	}
	for _, b := range system {
		v.blocks = append(v.blocks, cacheBlock{"system", unmarked(b.raw), b.Cache.lifetime()})
	}
	for _, m := range in.Messages {
		for _, b := range m.blocks {
			v.blocks = append(v.blocks, cacheBlock{m.Role, unmarked(b.raw), b.Cache.lifetime()})
		}
	}
	for _, check := range []func() error{
		func() error { return checkText("system", system) },
		func() error { return checkOrder(in.Messages) },
		func() error { return checkContent(in.Messages, known) },
		func() error { return checkPairs(apiTurns(in.Messages)) },
		func() error { return checkMarks(v.blocks) },
	} {
		if err := check(); err != nil {
			return v, err
		}
	}
	return v, nil
}

// anthropicContent reads a string or a list of blocks. Both forms of a text are the same to
// the cache.
func anthropicContent(raw json.RawMessage) ([]anthropicBlock, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		b := anthropicBlock{Type: "text", raw: append(append([]byte(`{"type":"text","text":`), raw...), '}')}
		err := json.Unmarshal(raw, &b.Text)
		return []anthropicBlock{b}, err
	}
	var records []json.RawMessage
	if err := json.Unmarshal(raw, &records); err != nil {
		return nil, err
	}
	blocks := make([]anthropicBlock, len(records))
	for i, record := range records {
		if err := json.Unmarshal(record, &blocks[i]); err != nil {
			return nil, err
		}
		blocks[i].raw = record
	}
	return blocks, nil
}

func checkOrder(ms []anthropicMessage) error {
	if len(ms) == 0 {
		return fmt.Errorf("messages: at least one message is required")
	}
	for i, m := range ms {
		before, after := "", ""
		if i > 0 {
			before = ms[i-1].Role
		}
		if i+1 < len(ms) {
			after = ms[i+1].Role
		}
		switch {
		case i == 0 && m.Role != "user":
			return fmt.Errorf("messages: first message must use the \"user\" role")
		case m.Role == "system" && (before != "user" || after == "user" || after == "system"):
			return fmt.Errorf("messages.%d: role \"system\" must come after \"user\" and before \"assistant\", not between %q and %q", i, before, after)
		case m.Role != "user" && m.Role != "assistant" && m.Role != "system":
			return fmt.Errorf("messages.%d.role: unexpected role %q", i, m.Role)
		case m.Role == "assistant" && after == "":
			return fmt.Errorf("this model does not support assistant message prefill: the conversation must end with a user message")
		}
	}
	return nil
}

func checkText(where string, blocks []anthropicBlock) error {
	for i, b := range blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("%s.%d: text content blocks must contain non-whitespace text", where, i)
		}
	}
	return nil
}

func checkContent(ms []anthropicMessage, known issuedSignatures) error {
	for i, m := range ms {
		if len(m.blocks) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
		if err := checkText(fmt.Sprintf("messages.%d.content", i), m.blocks); err != nil {
			return err
		}
		for j, b := range m.blocks {
			where := fmt.Sprintf("messages.%d.content.%d", i, j)
			switch b.Type {
			case "text", "image", "document", "tool_reference", "search_result":
			case "tool_result":
				if m.Role != "user" {
					return fmt.Errorf("%s: tool_result blocks can only be in user messages", where)
				}
			case "tool_use":
				if m.Role != "assistant" {
					return fmt.Errorf("%s: tool_use blocks can only be in assistant messages", where)
				}
				if !toolUseID.MatchString(b.ID) {
					return fmt.Errorf("%s.tool_use.id: %q is not an id", where, b.ID)
				}
			case "thinking":
				if text, ok := known.thinking[b.Signature]; !ok || text != b.Thinking {
					return fmt.Errorf("%s: Invalid `signature` in `thinking` block", where)
				}
				if b.Cache != nil {
					return fmt.Errorf("%s: thinking blocks cannot have cache_control", where)
				}
			default:
				return fmt.Errorf("%s: input tag %q does not match any of the expected tags", where, b.Type)
			}
		}
	}
	return nil
}

// apiTurn is a run of messages of one role, which the API reads as one message.
type apiTurn struct {
	role   string
	blocks []anthropicBlock
}

// apiTurns joins messages of one role in a row. Messages of role system do not part
// a turn.
func apiTurns(ms []anthropicMessage) []apiTurn {
	var all []apiTurn
	for _, m := range ms {
		switch last := len(all) - 1; {
		case m.Role == "system":
		case last >= 0 && all[last].role == m.Role:
			all[last].blocks = append(all[last].blocks, m.blocks...)
		default:
			all = append(all, apiTurn{m.Role, append([]anthropicBlock(nil), m.blocks...)})
		}
	}
	return all
}

func checkPairs(ts []apiTurn) error {
	seen := map[string]bool{}
	open := map[string]bool{} // calls of the turn before
	for i, t := range ts {
		text := false
		for _, b := range t.blocks {
			if b.Type != "tool_result" {
				text = true
				continue
			}
			if !open[b.ToolUseID] {
				return fmt.Errorf("turn %d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message", i, b.ToolUseID)
			}
			if text {
				return fmt.Errorf("turn %d: tool_result %s comes after other content", i, b.ToolUseID)
			}
			delete(open, b.ToolUseID)
		}
		for id := range open {
			return fmt.Errorf("turn %d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i, id)
		}
		for _, b := range t.blocks {
			if b.Type == "tool_use" {
				if seen[b.ID] {
					return fmt.Errorf("turn %d: `tool_use` ids must be unique: %s", i, b.ID)
				}
				seen[b.ID], open[b.ID] = true, true
			}
		}
	}
	return nil
}

func checkMarks(blocks []cacheBlock) error {
	marks, short := 0, false
	for _, b := range blocks {
		if b.ttl == "" {
			continue
		}
		marks++
		if b.ttl == "1h" && short {
			return fmt.Errorf("cache_control: a ttl='1h' block must not come after a ttl='5m' block")
		}
		short = short || b.ttl == "5m"
	}
	if marks > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", marks)
	}
	return nil
}
