package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

type object = map[string]any

func (b *bed) prompt(text string) {
	b.write("user", object{"role": "user", "content": text})
	b.messages = append(b.messages, b.json(object{"role": "user", "content": []any{object{"type": "text", "text": text}}}))
}

// step is a call and its result, of about 4,000 bytes.
func (b *bed) step(n int) {
	b.result(n, strings.Repeat(fmt.Sprintf("line %d of the log says that all is well. ", n), 100))
}

// result is a call and its result.
func (b *bed) result(n int, output string) {
	id := fmt.Sprintf("toolu_%d", n)
	call := object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": id, "name": "Bash", "input": object{"command": "cat log"}}}}
	result := object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": id, "content": output}}}
	b.write("assistant", call)
	b.write("user", result)
	b.messages = append(b.messages, b.json(call), b.json(result))
}

func (b *bed) json(v any) json.RawMessage {
	b.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		b.t.Fatal(err)
	}
	return raw
}

func (b *bed) body() []byte {
	b.t.Helper()
	var messages [][]byte
	for _, m := range b.messages {
		raw, done := m.(json.RawMessage) // a long session is not encoded anew for every request
		if !done {
			raw = b.json(m)
		}
		messages = append(messages, raw)
	}
	return fmt.Appendf(nil, `{"max_tokens":1,"messages":[%s],"model":"claude-test","stream":true,"tools":%s}`, bytes.Join(messages, []byte(",")), b.json(b.tools))
}
