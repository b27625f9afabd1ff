package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

var errContent = errors.New("llms: content must be a string, an array of blocks or null")

// decodeOpenAI reads a message of the Chat Completions API, with the
// reasoning_content that compatible servers add to it.
func decodeOpenAI(env envelope) (llms.Message, error) {
	m, err := env.message(openAIRoles)
	if err != nil {
		return llms.Message{}, err
	}
	switch env.role {
	case "developer":
		m.Role = llms.RoleSystem
	case "function":
		m.Role = llms.RoleTool
	}
	content, err := readContent(env.content, openAIPart)
	if err != nil {
		return llms.Message{}, err
	}
	if m.Role == llms.RoleTool {
		m.Parts = []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{
			CallID: Unquote(env.callID), Name: Unquote(env.name), Output: content}}}
		return m, nil
	}
	if s := Unquote(env.reasoning); s != "" {
		m.Parts = append(m.Parts, llms.Part{Kind: llms.PartReasoning, Text: s})
	}
	calls := openAICalls(env)
	// Clients write an empty content beside tool calls; it says nothing.
	if len(content) == 1 && content[0].Kind == llms.PartText && content[0].Text == "" && len(m.Parts)+len(calls) > 0 {
		content = nil
	}
	m.Parts = append(m.Parts, content...)
	if len(env.refusal) > 0 && env.refusal[0] == '"' {
		m.Parts = append(m.Parts, refusal(Unquote(env.refusal)))
	}
	m.Parts = append(m.Parts, calls...)
	return m, nil
}

// refusal is text that the model said in place of an answer.
func refusal(s string) llms.Part {
	return llms.Part{Kind: llms.PartText, Text: s, Extra: json.RawMessage(`{"type":"refusal"}`)}
}

func openAIPart(part []byte) llms.Part {
	switch typ := Unquote(member(part, "type")); typ {
	case "text", "input_text", "output_text":
		s := [...]slot{{name: "text"}}
		if extra := pick(part, s[:]); s[0].is('"') {
			if typ != "text" { // the Responses API's names for the same thing
				extra = withMember(extra, "type", member(part, "type"))
			}
			return llms.Part{Kind: llms.PartText, Text: s[0].str(), Extra: extra}
		}
	case "refusal":
		s := [...]slot{{name: "refusal"}}
		if extra := pick(part, s[:]); s[0].is('"') && extra == nil {
			return refusal(s[0].str())
		}
	case "image_url", "input_audio", "file":
		s := [...]slot{{name: typ}}
		extra := pick(part, s[:])
		if b, more, ok := openAIBlob(typ, s[0].val); ok {
			if more != nil {
				extra = withMember(extra, typ, more)
			}
			return llms.Part{Kind: llms.PartBlob, Blob: b, Extra: extra}
		}
	}
	return other(part)
}

// openAIBlob reads the object inside an image_url, input_audio or file part.
// more holds its members that a Blob has no place for, such as detail.
func openAIBlob(typ string, obj []byte) (b *llms.Blob, more json.RawMessage, ok bool) {
	switch typ {
	case "image_url":
		s := [...]slot{{name: "url"}}
		more = pick(obj, s[:])
		b = fromURL(s[0].str())
		return b, more, b.URL != "" || b.Data != nil
	case "input_audio":
		s := [...]slot{{name: "data"}, {name: "format"}}
		more = pick(obj, s[:])
		b = &llms.Blob{MIME: "audio/" + s[1].str()}
		b.Data, ok = fromBase64(s[0].str())
		return b, more, ok && len(b.Data) > 0 && s[1].is('"')
	}
	s := [...]slot{{name: "file_data"}, {name: "filename"}}
	more = pick(obj, s[:])
	if b = (&llms.Blob{MIME: "application/octet-stream"}); s[0].is('"') {
		b = fromURL(s[0].str())
	}
	b.Name = s[1].str()
	return b, more, b.Data != nil || more != nil
}

// fromURL makes a blob of a URL, with the data inline if it is a data: URL.
func fromURL(url string) *llms.Blob {
	if head, body, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		if data, exact := fromBase64(body); exact && len(data) > 0 {
			return &llms.Blob{MIME: strings.TrimPrefix(head, "data:"), Data: data}
		}
	}
	return &llms.Blob{MIME: anyImage, URL: url}
}

// openAICalls reads tool_calls and the older function_call.
func openAICalls(env envelope) []llms.Part {
	var parts []llms.Part
	for call := range Elements(env.calls) {
		parts = append(parts, openAICall(call))
	}
	if s := [...]slot{{name: "name"}, {name: "arguments"}}; len(env.call) > 0 && env.call[0] == '{' {
		extra := withMember(pick(env.call, s[:]), "type", []byte(`"function_call"`))
		parts = append(parts, llms.Part{Kind: llms.PartToolCall, Extra: extra,
			Call: &llms.ToolCall{Name: s[0].str(), Arguments: arguments(s[1])}})
	}
	return parts
}

func openAICall(call []byte) llms.Part {
	inner, input := "function", "arguments"
	if Unquote(member(call, "type")) == "custom" {
		inner, input = "custom", "input"
	}
	s := [...]slot{{name: "id"}, {name: inner}}
	extra := pick(call, s[:])
	f := [...]slot{{name: "name"}, {name: input}}
	more := pick(s[1].val, f[:])
	if !f[0].is('"') || more != nil {
		return other(call)
	}
	if inner == "custom" {
		extra = withMember(extra, "type", []byte(`"custom"`))
	}
	return llms.Part{Kind: llms.PartToolCall, Extra: extra,
		Call: &llms.ToolCall{ID: s[0].str(), Name: f[0].str(), Arguments: arguments(f[1])}}
}

// arguments are a string in this shape; some servers write the object itself.
func arguments(s slot) string {
	if s.is('"') {
		return s.str()
	}
	return string(s.val)
}

// appendOpenAI appends the records of a message: one for each tool result,
// then one for its other parts.
func appendOpenAI(records []json.RawMessage, m llms.Message) []json.RawMessage {
	own := ownExtra(m, llms.FormatOpenAI)
	before := len(records)
	var rest []llms.Part
	for _, p := range m.Parts {
		if p.Kind == llms.PartToolResult && p.Result != nil {
			records = append(records, openAIResult(p, own))
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) > 0 || len(records) == before {
		records = append(records, encodeOpenAI(m.Role, rest, own))
	}
	return records
}

func openAIResult(p llms.Part, own bool) json.RawMessage {
	dst := appendQuoted([]byte(`{"role":"tool","tool_call_id":`), p.Result.CallID)
	if p.Result.Name != "" {
		dst = appendQuoted(append(dst, `,"name":`...), p.Result.Name)
	}
	output := p.Result.Output
	if p.Ref != nil {
		output = []llms.Part{{Kind: llms.PartText, Text: p.Ref.String()}}
	}
	return sendable(append(appendOpenAIContent(append(dst, `,"content":`...), llms.RoleTool, output, own), '}'))
}

func encodeOpenAI(role llms.Role, parts []llms.Part, own bool) json.RawMessage {
	if role == llms.RoleTool {
		role = llms.RoleUser // parts beside tool results are not results
	}
	dst := append([]byte(`{"role":"`), role...)
	dst = append(dst, '"')
	var said, calls []llms.Part
	var thoughts []string
	for _, p := range parts {
		switch {
		case p.Kind == llms.PartReasoning && p.Ref == nil:
			if p.Text != "" {
				thoughts = append(thoughts, p.Text)
			}
		case p.Kind == llms.PartToolCall && p.Call != nil, p.Kind == llms.PartOther && own && isCall(p):
			calls = append(calls, p)
		default:
			said = append(said, p)
		}
	}
	if len(thoughts) > 0 {
		dst = appendQuoted(append(dst, `,"reasoning_content":`...), strings.Join(thoughts, "\n\n"))
	}
	dst = append(dst, `,"content":`...)
	if len(said) == 0 && len(calls) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = appendOpenAIContent(dst, role, said, own)
	}
	return sendable(append(appendOpenAICalls(dst, calls, own), '}'))
}

// isCall reports whether an unknown block came out of tool_calls: parts of the
// content have none of these members.
func isCall(p llms.Part) bool {
	return Check(p.Extra) == nil && (member(p.Extra, "id") != nil || member(p.Extra, "function") != nil || member(p.Extra, "custom") != nil)
}

// appendOpenAIContent writes parts as a string where they are one plain text,
// and as an array otherwise.
func appendOpenAIContent(dst []byte, role llms.Role, parts []llms.Part, own bool) []byte {
	if len(parts) == 0 {
		return append(dst, `""`...)
	}
	if len(parts) == 1 && parts[0].Kind == llms.PartText && (!own || len(parts[0].Extra) == 0) {
		return appendQuoted(dst, shown(parts[0]))
	}
	list := len(dst)
	for _, p := range parts {
		if !own {
			p.Extra = nil
		}
		dst = appendOpenAIPart(dst, role, p)
	}
	if len(dst) == list { // nothing that this shape has a place for
		return append(dst, `""`...)
	}
	return closeList(dst, list)
}

func appendOpenAIPart(dst []byte, role llms.Role, p llms.Part) []byte {
	switch {
	case p.Kind == llms.PartOther:
		if len(p.Extra) > 0 && Check(p.Extra) == nil {
			dst = append(append(dst, ','), p.Extra...)
		}
		return dst
	case p.Kind == llms.PartBlob && p.Blob != nil && p.Ref == nil && role == llms.RoleUser && (len(p.Blob.Data) > 0 || p.Blob.URL != "" || len(p.Extra) > 0):
		return appendOpenAIBlob(dst, p)
	case p.Kind != llms.PartText || p.Ref != nil:
		return append(appendQuoted(append(dst, `,{"type":"text","text":`...), shown(p)), '}')
	}
	switch typ := partType(p); typ {
	case "refusal":
		return append(appendQuoted(append(dst, `,{"type":"refusal","refusal":`...), p.Text), '}')
	case "":
		dst = append(dst, `,{"type":"text","text":`...)
	default: // Extra has it
		dst = append(dst, `,{"text":`...)
	}
	return appendExtra(appendQuoted(dst, p.Text), p.Extra)
}

// partType returns the type of block that Extra insists on.
func partType(p llms.Part) string {
	if len(p.Extra) == 0 || Check(p.Extra) != nil {
		return ""
	}
	return Unquote(member(p.Extra, "type"))
}

// appendOpenAIBlob writes a blob as an image, a recording or a file.
func appendOpenAIBlob(dst []byte, p llms.Part) []byte {
	b := p.Blob
	typ := "file"
	var obj []byte
	switch {
	case strings.HasPrefix(b.MIME, "image/") || b.URL != "":
		if typ = "image_url"; b.URL != "" {
			obj = appendQuoted(append(obj, `{"url":`...), b.URL)
		} else {
			obj = appendDataURL(append(obj, `{"url":`...), b)
		}
	case strings.HasPrefix(b.MIME, "audio/") && len(b.Data) > 0:
		typ = "input_audio"
		obj = appendQuoted(append(obj, `{"format":`...), strings.TrimPrefix(b.MIME, "audio/"))
		obj = base64.StdEncoding.AppendEncode(append(obj, `,"data":"`...), b.Data)
		obj = append(obj, '"')
	default:
		if obj = append(obj, `{"filename":`...); len(b.Data) > 0 {
			obj = appendDataURL(append(appendQuoted(obj, b.Name), `,"file_data":`...), b)
		} else {
			obj = appendQuoted(obj, b.Name)
		}
	}
	s := [...]slot{{name: typ}}
	var extra json.RawMessage
	if len(p.Extra) > 0 && Check(p.Extra) == nil {
		extra = pick(p.Extra, s[:])
	}
	dst = append(append(append(append(append(dst, `,{"type":"`...), typ...), `","`...), typ...), `":`...)
	return appendExtra(appendExtra(append(dst, obj...), s[0].val), extra)
}

func appendDataURL(dst []byte, b *llms.Blob) []byte {
	dst = appendEscaped(append(dst, `"data:`...), b.MIME, 0)
	return append(base64.StdEncoding.AppendEncode(append(dst, ";base64,"...), b.Data), '"')
}

// appendOpenAICalls writes the calls into the open object dst.
func appendOpenAICalls(dst []byte, calls []llms.Part, own bool) []byte {
	var list []byte
	for _, p := range calls {
		if !own {
			p.Extra = nil
		}
		if p.Kind == llms.PartOther {
			list = append(append(list, ','), p.Extra...)
			continue
		}
		args := p.Call.Arguments
		if p.Ref != nil {
			args = string(appendInput(nil, p))
		}
		typ := partType(p)
		if typ == "function_call" {
			dst = appendQuoted(append(dst, `,"function_call":{"name":`...), p.Call.Name)
			dst = append(appendQuoted(append(dst, `,"arguments":`...), args), '}')
			continue
		}
		list = appendQuoted(append(list, `,{"id":`...), p.Call.ID)
		if typ == "custom" {
			list = appendQuoted(append(list, `,"custom":{"name":`...), p.Call.Name)
			list = appendQuoted(append(list, `,"input":`...), args)
		} else {
			list = appendQuoted(append(list, `,"type":"function","function":{"name":`...), p.Call.Name)
			list = appendQuoted(append(list, `,"arguments":`...), args)
		}
		list = appendExtra(append(list, '}'), p.Extra)
	}
	if len(list) == 0 {
		return dst
	}
	return closeList(append(append(dst, `,"tool_calls":`...), list...), len(dst)+len(`,"tool_calls":`))
}
