package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// decodeAnthropic reads a message of the Messages API. A user message that
// holds nothing but tool results is a tool message here.
func decodeAnthropic(env envelope) (llms.Message, error) {
	m, err := env.message(lcmRoles)
	if err != nil {
		return llms.Message{}, err
	}
	if m.Parts, err = anthropicContent(env.content, 0); err != nil {
		return llms.Message{}, err
	}
	said := func(p llms.Part) bool { return p.Kind != llms.PartToolResult }
	if m.Role == llms.RoleUser && len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, said) {
		m.Role = llms.RoleTool
	}
	return m, nil
}

// anthropicContent reads a string or an array of blocks.
func anthropicContent(content []byte, depth int) ([]llms.Part, error) {
	return readContent(content, func(block []byte) llms.Part { return anthropicBlock(block, depth) })
}

// readContent reads a string, an array of blocks or null.
func readContent(content []byte, read func(block []byte) llms.Part) ([]llms.Part, error) {
	if len(content) == 0 || content[0] == 'n' {
		return nil, nil
	}
	switch content[0] {
	case '"':
		return []llms.Part{{Kind: llms.PartText, Text: Unquote(content)}}, nil
	case '[':
		var parts []llms.Part
		for block := range Elements(content) {
			parts = append(parts, read(block))
		}
		return parts, nil
	}
	return nil, errContent
}

// anthropicBlock reads one block. A block whose fields are not of the types
// that the API documents is kept whole, like one of an unknown type.
func anthropicBlock(block []byte, depth int) llms.Part {
	switch Unquote(member(block, "type")) {
	case "text":
		s := [...]slot{{name: "text"}}
		if extra := pick(block, s[:]); s[0].is('"') {
			return llms.Part{Kind: llms.PartText, Text: s[0].str(), Extra: extra}
		}
	case "thinking":
		s := [...]slot{{name: "thinking"}, {name: "signature"}}
		if extra := pick(block, s[:]); s[0].is('"') {
			return llms.Part{Kind: llms.PartReasoning, Text: s[0].str(), Signature: s[1].str(), Extra: extra}
		}
	case "redacted_thinking":
		s := [...]slot{{name: "data"}}
		if extra := pick(block, s[:]); s[0].is('"') && extra == nil {
			return llms.Part{Kind: llms.PartReasoning, Signature: s[0].str(), Extra: redactedExtra()}
		}
	case "tool_use":
		s := [...]slot{{name: "id"}, {name: "name"}, {name: "input"}}
		if extra := pick(block, s[:]); s[0].is('"') && s[1].is('"') {
			return llms.Part{Kind: llms.PartToolCall, Extra: extra,
				Call: &llms.ToolCall{ID: s[0].str(), Name: s[1].str(), Arguments: string(s[2].val)}}
		}
	case "tool_result":
		if p, ok := anthropicResult(block, depth); ok {
			return p
		}
	case "image", "document":
		if p, ok := anthropicBlob(block); ok {
			return p
		}
	}
	return other(block)
}

// other keeps a block that has no part of its own.
func other(block []byte) llms.Part {
	return llms.Part{Kind: llms.PartOther, Extra: bytes.Clone(block)}
}

// redactedExtra marks a reasoning part whose Signature is the provider's
// encrypted text, which must go back in another kind of block than a
// signature does.
func redactedExtra() json.RawMessage { return json.RawMessage(`{"type":"redacted_thinking"}`) }

func isRedacted(p llms.Part) bool {
	return p.Text == "" && bytes.Equal(p.Extra, redactedExtra())
}

func anthropicResult(block []byte, depth int) (llms.Part, bool) {
	s := [...]slot{{name: "tool_use_id"}, {name: "content"}, {name: "is_error"}}
	extra := pick(block, s[:])
	if !s[0].is('"') || depth >= partDepth {
		return llms.Part{}, false
	}
	output, err := anthropicContent(s[1].val, depth+1)
	if err != nil {
		return llms.Part{}, false
	}
	return llms.Part{Kind: llms.PartToolResult, Extra: extra,
		Result: &llms.ToolResult{CallID: s[0].str(), Output: output, IsError: s[2].is('t')}}, true
}

// Media types for blobs whose shape says no more than that.
const (
	anyImage = "image/*"
	pdf      = "application/pdf"
)

// anthropicBlob reads an image or document. A source that is neither inline
// nor a URL (a file id, say) stays in Extra.
func anthropicBlob(block []byte) (llms.Part, bool) {
	s := [...]slot{{name: "source"}, {name: "title"}}
	extra := pick(block, s[:])
	b := &llms.Blob{MIME: anyImage, Name: s[1].str()}
	if Unquote(member(block, "type")) == "document" {
		b.MIME = pdf
	}
	f := [...]slot{{name: "media_type"}, {name: "data"}, {name: "url"}}
	more := pick(s[0].val, f[:])
	ok := more == nil
	switch Unquote(member(s[0].val, "type")) {
	case "base64":
		var exact bool
		b.Data, exact = fromBase64(f[1].str())
		ok = ok && exact && len(b.Data) > 0 && f[2].val == nil
	case "text":
		b.Data = []byte(f[1].str())
		ok = ok && len(b.Data) > 0 && f[2].val == nil
	case "url":
		b.URL = f[2].str()
		ok = ok && b.URL != "" && f[1].val == nil
	default:
		if s[0].val == nil {
			return llms.Part{}, false
		}
		extra = withMember(extra, "source", s[0].val)
		return llms.Part{Kind: llms.PartBlob, Blob: b, Extra: extra}, true
	}
	if mime := f[0].str(); mime != "" {
		b.MIME = mime
	}
	return llms.Part{Kind: llms.PartBlob, Blob: b, Extra: extra}, ok
}

// withMember adds a member to an Extra.
func withMember(extra json.RawMessage, key string, val []byte) json.RawMessage {
	var open []byte
	if len(extra) > 0 {
		open = extra[:len(extra)-1]
	}
	return closeObject(appendMember(open, []byte(key), val))
}

// encodeAnthropic writes a run of messages (more than one only where they are
// tool messages) as one message of the Messages API.
func encodeAnthropic(run []llms.Message) json.RawMessage {
	role := run[0].Role
	if role == llms.RoleTool {
		role = llms.RoleUser
	}
	dst := append([]byte(`{"role":"`), role...)
	dst = append(dst, `","content":`...)
	if p := run[0].Parts; len(run) == 1 && len(p) == 1 && p[0].Kind == llms.PartText && (p[0].Ref != nil || len(p[0].Extra) == 0) {
		return sendable(append(appendQuoted(dst, shown(p[0])), '}'))
	}
	list := len(dst)
	for _, m := range run {
		own := ownExtra(m, llms.FormatAnthropic)
		for _, p := range m.Parts {
			// The API refuses empty text blocks beside others.
			if p.Kind == llms.PartText && p.Ref == nil && p.Text == "" && len(m.Parts) > 1 {
				continue
			}
			dst = appendAnthropicPart(dst, p, own, 0)
		}
	}
	return sendable(append(closeList(dst, list), '}'))
}

// ownExtra says whether the Extra of the message's parts belongs in the shape
// f: it came from there, or was put there by hand.
func ownExtra(m llms.Message, f llms.Format) bool {
	return shape(m.Raw.Format) == f || m.Raw.Format == ""
}

// closeList turns the comma-led elements after dst[from] into an array.
func closeList(dst []byte, from int) []byte {
	if len(dst) == from {
		return append(dst, "[]"...)
	}
	dst[from] = '['
	return append(dst, ']')
}

// appendAnthropicPart appends a comma and the block of a part, or nothing
// where the shape has none for it.
func appendAnthropicPart(dst []byte, p llms.Part, own bool, depth int) []byte {
	if !own && !isRedacted(p) {
		p.Extra = nil
	}
	switch {
	case p.Kind == llms.PartOther:
		if len(p.Extra) > 0 && Check(p.Extra) == nil {
			dst = append(append(dst, ','), p.Extra...)
		}
		return dst
	case p.Kind == llms.PartReasoning && p.Ref == nil:
		if p.Signature == "" {
			return dst
		}
		if isRedacted(p) {
			dst = append(dst, `,{"type":"redacted_thinking","data":`...)
			return append(appendQuoted(dst, p.Signature), '}')
		}
		dst = appendQuoted(append(dst, `,{"type":"thinking","thinking":`...), p.Text)
		dst = appendQuoted(append(dst, `,"signature":`...), p.Signature)
	case p.Kind == llms.PartToolCall && p.Call != nil:
		dst = appendQuoted(append(dst, `,{"type":"tool_use","id":`...), p.Call.ID)
		dst = appendQuoted(append(dst, `,"name":`...), p.Call.Name)
		dst = appendInput(append(dst, `,"input":`...), p)
	case p.Kind == llms.PartToolResult && p.Result != nil:
		dst = appendQuoted(append(dst, `,{"type":"tool_result","tool_use_id":`...), p.Result.CallID)
		dst = appendAnthropicOutput(dst, p, own, depth)
	case p.Kind == llms.PartBlob && p.Ref == nil && p.Blob != nil && (len(p.Blob.Data) > 0 || p.Blob.URL != "" || len(p.Extra) > 0):
		dst = appendAnthropicBlob(dst, p.Blob)
	default:
		dst = appendQuoted(append(dst, `,{"type":"text","text":`...), shown(p))
	}
	return appendExtra(dst, p.Extra)
}

// appendInput writes a call's arguments as the object that the API wants.
func appendInput(dst []byte, p llms.Part) []byte {
	args := p.Call.Arguments
	if p.Ref != nil {
		args = p.Ref.String()
	}
	raw := []byte(args)
	if strings.TrimSpace(args) == "" {
		return append(dst, "{}"...)
	}
	if Check(raw) == nil && raw[Space(raw, 0)] == '{' {
		return append(dst, raw...)
	}
	return append(appendQuoted(append(dst, `{"raw_arguments":`...), args), '}')
}

func appendAnthropicOutput(dst []byte, p llms.Part, own bool, depth int) []byte {
	output := p.Result.Output
	if p.Ref != nil {
		output = []llms.Part{{Kind: llms.PartText, Text: p.Ref.String()}}
	}
	if len(output) == 1 && output[0].Kind == llms.PartText && (!own || len(output[0].Extra) == 0) {
		dst = appendQuoted(append(dst, `,"content":`...), shown(output[0]))
	} else if len(output) > 0 && depth < partDepth {
		dst = append(dst, `,"content":`...)
		list := len(dst)
		for _, o := range output {
			dst = appendAnthropicPart(dst, o, own, depth+1)
		}
		dst = closeList(dst, list)
	}
	if p.Result.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return dst
}

func appendAnthropicBlob(dst []byte, b *llms.Blob) []byte {
	kind := "document"
	if strings.HasPrefix(b.MIME, "image/") {
		kind = "image"
	}
	dst = append(append(append(dst, `,{"type":"`...), kind...), '"')
	switch {
	case b.URL != "":
		dst = appendQuoted(append(dst, `,"source":{"type":"url","url":`...), b.URL)
		dst = append(dst, '}')
	case len(b.Data) > 0 && b.MIME == "text/plain":
		dst = append(dst, `,"source":{"type":"text","media_type":"text/plain","data":`...)
		dst = append(appendQuoted(dst, string(b.Data)), '}')
	case len(b.Data) > 0:
		dst = appendQuoted(append(dst, `,"source":{"type":"base64","media_type":`...), b.MIME)
		dst = append(dst, `,"data":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, b.Data), `"}`...)
	}
	if b.Name != "" && kind == "document" {
		dst = appendQuoted(append(dst, `,"title":`...), b.Name)
	}
	return dst
}

// appendExtra closes an open object, after the members of extra if it is an
// object too.
func appendExtra(dst []byte, extra json.RawMessage) []byte {
	if len(extra) > 0 && Check(extra) == nil {
		for key, val := range members(extra) {
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = append(dst, val...)
		}
	}
	return append(dst, '}')
}
