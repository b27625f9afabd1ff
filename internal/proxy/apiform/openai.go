package apiform

// chatMessage reads an element of "messages" of Chat Completions.
func chatMessage(b []byte) (m Message, err error) {
	v, err := readMembers(b, "role", "content", "tool_calls", "tool_call_id")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	switch v[0].str(b) {
	case "user":
	case "assistant":
		m.Role = Assistant
	case "system", "developer":
		m.Role = System
	case "tool":
		id := v[3].str(b)
		if id == "" {
			return m, shapeError("a result without an id")
		}
		m.Results = []Key{CallKey(id)}
		return m, nil
	default:
		return m, shapeError("an unknown role")
	}
	if err = m.openaiContent(b, v[1]); err != nil {
		return m, err
	}
	if calls := v[2]; calls.end > 0 && b[calls.at] == '[' {
		_, err = eachElement(b, calls.at, func(i int) (int, error) {
			block, end, err := readBlock(b, i)
			if err == nil && block.id == "" {
				err = shapeError("a call without an id")
			}
			m.Calls = append(m.Calls, CallKey(block.id))
			return end, err
		})
	}
	return m, err
}

// openaiContent reads a string, null, or an array of parts.
func (m *Message) openaiContent(b []byte, content member) error {
	if content.end == 0 || b[content.at] == 'n' {
		return nil
	}
	if b[content.at] == '"' {
		m.addText(b, content.at, content.end)
		return nil
	}
	_, err := eachElement(b, content.at, func(i int) (int, error) {
		block, end, err := readBlock(b, i)
		if err != nil {
			return 0, err
		}
		switch block.kind {
		case "text", "input_text", "output_text":
			if block.text == ([2]int{}) {
				return 0, shapeError("a text part without text")
			}
			m.addText(b, block.text[0], block.text[1])
		default:
			m.other(block.kind, end-i)
		}
		return end, err
	})
	return err
}

// responsesItem reads an element of "input" of Responses.
func responsesItem(b []byte) (m Message, err error) {
	v, err := readMembers(b, "type", "role", "content", "call_id", "output", "id")
	if err != nil {
		return m, err
	}
	m.Units = len(b)
	id := v[3].str(b)
	switch v[0].str(b) {
	case "message", "":
		switch v[1].str(b) {
		case "user":
		case "assistant":
			m.Role = Assistant
		case "system", "developer":
			m.Role = System
		default:
			return m, shapeError("an unknown role")
		}
		return m, m.openaiContent(b, v[2])
	case "reasoning":
		m.Role = Assistant
	case "function_call", "custom_tool_call", "local_shell_call":
		m.Role = Assistant
		if id == "" {
			id = v[5].str(b)
		}
		if id == "" {
			return m, shapeError("a call without an id")
		}
		m.Calls = []Key{CallKey(id)}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		if id == "" {
			return m, shapeError("a result without an id")
		}
		m.Results = []Key{CallKey(id)}
		err = m.nested(b, v[4].at)
	case "web_search_call", "image_generation_call", "tool_search_call", "tool_search_output":
		m.Role, m.Opaque = Assistant, true
	default:
		m.Opaque = true
	}
	return m, err
}
