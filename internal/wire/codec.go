package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
)

var (
	lcmRoles    = []string{"user", "assistant", "system", "tool"}
	openAIRoles = []string{"user", "assistant", "system", "developer", "tool", "function"}
)

// Decode reads one record of the shape f. The argument role is for records that do
// not name one: FormatText, which is the text itself, and parts of FormatOpencode.
//
// The message keeps record as Raw.Bytes, without a copy: the caller must not
// change it afterwards. ID comes from a top-level "uuid" or "id" and Time from
// "timestamp", "created_at" or "time" (RFC 3339 or a Unix time). Blocks that the
// shape does not define become PartOther. A record is an error if it is not JSON,
// has no known role or has content of an impossible type.
func Decode(f llms.Format, role llms.Role, record []byte) (llms.Message, error) {
	var m llms.Message
	var err error
	switch f {
	case llms.FormatText:
		if !role.Valid() {
			return llms.Message{}, &llms.RoleError{Role: string(role), Allowed: lcmRoles}
		}
		m = llms.Text(role, string(record))
	default:
		if err = Check(record); err == nil {
			m, err = decodeJSON(f, role, record)
		}
	}
	if err != nil {
		return llms.Message{}, err
	}
	if record == nil {
		record = []byte{} // nil would say that there is no record
	}
	m.Raw = llms.Raw{Format: f, Bytes: record}
	return m, nil
}

func decodeJSON(f llms.Format, role llms.Role, record []byte) (llms.Message, error) {
	switch f {
	case llms.FormatLCM:
		return decodeLCM(readEnvelope(record))
	case llms.FormatAnthropic:
		return decodeAnthropic(readEnvelope(record))
	case llms.FormatOpenAI:
		return decodeOpenAI(readEnvelope(record))
	}
	if decode, ok := transcripts[f]; ok {
		return decode(role, record), nil
	}
	return llms.Message{}, unknownFormat(f)
}

// transcripts decode the records of agents' transcripts.
var transcripts = map[llms.Format]func(llms.Role, []byte) llms.Message{
	llms.FormatClaude:   func(_ llms.Role, record []byte) llms.Message { return decodeClaude(record) },
	llms.FormatCodex:    func(_ llms.Role, record []byte) llms.Message { return decodeCodex(record) },
	llms.FormatOpencode: decodeOpencode,
	llms.FormatCopilot:  func(_ llms.Role, record []byte) llms.Message { return decodeCopilot(record) },
	llms.FormatCline:    func(_ llms.Role, record []byte) llms.Message { return decodeCline(record) },
	llms.FormatDroid:    func(_ llms.Role, record []byte) llms.Message { return decodeDroid(record) },
	llms.FormatPi:       func(_ llms.Role, record []byte) llms.Message { return decodePi(record) },
	llms.FormatGemini:   func(_ llms.Role, record []byte) llms.Message { return decodeGemini(record) },
	llms.FormatQwen:     func(_ llms.Role, record []byte) llms.Message { return decodeQwen(record) },
}

func unknownFormat(f llms.Format) error {
	if _, ok := transcripts[f]; ok {
		return fmt.Errorf("llms: records of %s transcripts are read, not written", f)
	}
	return fmt.Errorf("llms: unknown format %q: it must be one of %s, %s, %s, %s", string(f), llms.FormatText, llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI)
}

// Encode writes m as one record of the shape f. A message that was read in that
// shape returns its original bytes, the same slice; others are translated, see
// EncodeAll. It fails for a message that needs several records, and with FormatText
// for a message that is more than one plain text.
//
// FormatLCM carries everything but Raw: decoding it gives a message that is Equal
// to m, and equal messages give equal bytes. encoding/json must be able to write
// the values of Meta.
func Encode(f llms.Format, m llms.Message) ([]byte, error) {
	if m.Raw.Format == f && m.Raw.Bytes != nil {
		return m.Raw.Bytes, nil
	}
	switch f {
	case llms.FormatText:
		return encodeText(m)
	case llms.FormatLCM:
		return encodeLCM(m)
	case llms.FormatAnthropic, llms.FormatOpenAI:
	default:
		return nil, unknownFormat(f)
	}
	records, err := EncodeAll(f, []llms.Message{m})
	if err != nil {
		return nil, err
	}
	if len(records) != 1 {
		return nil, fmt.Errorf("llms: this message takes %d records in the %s shape: write it with EncodeAll", len(records), f)
	}
	return records[0], nil
}

var errNotText = errors.New("llms: only a message of one plain text part, without metadata, can be written as text: write it as lcm")

func encodeText(m llms.Message) ([]byte, error) {
	if len(m.Parts) != 1 || len(m.Meta) > 0 {
		return nil, errNotText
	}
	p := m.Parts[0]
	if p.Kind != llms.PartText || p.Signature != "" || p.Call != nil || p.Result != nil || p.Blob != nil || p.Ref != nil || len(p.Extra) > 0 {
		return nil, errNotText
	}
	return []byte(p.Text), nil
}

// EncodeAll writes a conversation in a JSON shape. A message that was read in
// that shape gives its original bytes; the others are translated:
//
//   - To OpenAI, each tool result becomes a tool message of its own, before the
//     other parts of its message. Content that only user messages may carry is
//     described in text elsewhere. OpenAI has no mark for a failed call.
//   - To Anthropic, consecutive tool messages become one user message of
//     tool_result blocks. System messages are written with role "system",
//     which this package reads back but the Messages API does not take: its
//     callers use SplitSystem first. Reasoning without a signature is left
//     out, since the API refuses it, and arguments that are not a JSON object
//     are wrapped in one, as {"raw_arguments": "…"}.
//   - A Ref is written as the line that stands for it. Extra and PartOther
//     are written only in the shape they came from, or if they were made in
//     Go.
//   - Bytes that are not UTF-8 become U+FFFD, since no API takes them.
//
// A translated record is one line. FormatText is not a JSON shape and is an
// error.
func EncodeAll(f llms.Format, ms []llms.Message) ([]json.RawMessage, error) {
	var records []json.RawMessage
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		if m.Raw.Format == f && m.Raw.Bytes != nil && f != llms.FormatText {
			records = append(records, m.Raw.Bytes)
			continue
		}
		if !m.Role.Valid() {
			return nil, fmt.Errorf("message %d: %w", i, &llms.RoleError{Role: string(m.Role), Allowed: lcmRoles})
		}
		switch f {
		case llms.FormatLCM:
			record, err := encodeLCM(m)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			records = append(records, record)
		case llms.FormatAnthropic:
			run := []llms.Message{m}
			for m.Role == llms.RoleTool && i+1 < len(ms) && ms[i+1].Role == llms.RoleTool && (ms[i+1].Raw.Format != f || ms[i+1].Raw.Bytes == nil) {
				i++
				run = append(run, ms[i])
			}
			records = append(records, encodeAnthropic(run))
		case llms.FormatOpenAI:
			records = appendOpenAI(records, m)
		case llms.FormatText:
			return nil, errors.New("llms: text is not a JSON shape: write messages one by one with Encode")
		default:
			return nil, unknownFormat(f)
		}
	}
	return records, nil
}

// sendable makes a record valid UTF-8 on one line. A line break in JSON can only
// stand between values, where a space will do.
func sendable(record []byte) json.RawMessage {
	if !utf8.Valid(record) {
		record = bytes.ToValidUTF8(record, []byte("\ufffd"))
	}
	for i, c := range record {
		if c == '\n' || c == '\r' {
			record[i] = ' '
		}
	}
	return record
}

// Detect says which JSON shape a record is in. A message that could be of
// either provider, such as {"role": "user", "content": "text"}, counts as
// OpenAI's; it reads the same in both. A role that no shape has is a
// *RoleError, a record that is not JSON a *SyntaxError.
func Detect(record []byte) (llms.Format, error) {
	if err := Check(record); err != nil {
		return "", err
	}
	env := readEnvelope(record)
	allowed := openAIRoles
	if len(env.parts) > 0 {
		allowed = lcmRoles
	}
	if _, err := env.message(allowed); err != nil {
		return "", err
	}
	if len(env.parts) > 0 {
		return llms.FormatLCM, nil
	}
	switch {
	case env.openAIOnly || env.role == "tool" || env.role == "developer" || env.role == "function":
		return llms.FormatOpenAI, nil
	case env.anthropicOnly:
		return llms.FormatAnthropic, nil
	case len(env.content) == 0 || env.content[0] != '"' && env.content[0] != '[' && env.content[0] != 'n':
		return "", fmt.Errorf("llms: a message of role %q needs content: a string or an array of blocks", env.role)
	}
	for block := range Elements(env.content) {
		switch typ := Unquote(member(block, "type")); typ {
		case "text":
			if member(block, "cache_control") != nil || member(block, "citations") != nil {
				return llms.FormatAnthropic, nil
			}
		case "image_url", "input_audio", "file", "refusal", "input_text", "output_text":
			return llms.FormatOpenAI, nil
		default:
			return llms.FormatAnthropic, nil
		}
	}
	return llms.FormatOpenAI, nil
}

var errNotObject = errors.New("llms: a message record is a JSON object")

// message returns a message without parts. Its role must be one of those allowed.
func (env envelope) message(allowed []string) (llms.Message, error) {
	if env.kind != '{' {
		return llms.Message{}, errNotObject
	}
	if !slices.Contains(allowed, env.role) {
		return llms.Message{}, &llms.RoleError{Role: env.role, Allowed: allowed}
	}
	return llms.Message{ID: env.id, Time: env.time, Role: llms.Role(env.role)}, nil
}

// envelope holds the top-level members of a record, as far as any shape knows
// them.
type envelope struct {
	kind    byte // the record's first byte
	role    string
	content []byte
	id      string
	time    time.Time

	parts, meta, version []byte // lcm

	calls, call               []byte // openai: tool_calls, function_call
	callID, name, refusal     []byte
	reasoning                 []byte
	openAIOnly, anthropicOnly bool
}

// readEnvelope sorts the members of a checked record.
func readEnvelope(record []byte) (env envelope) {
	env.kind = record[Space(record, 0)]
	var id, uuid []byte
	for key, val := range members(record) {
		switch string(plainKey(key)) {
		case "role":
			env.role = Unquote(val)
		case "content":
			env.content = val
		case "id":
			id = val
		case "uuid":
			uuid = val
		case "timestamp", "created_at", "time":
			if t := readTime(val); !t.IsZero() {
				env.time = t
			}
		case "parts":
			env.parts = val
		case "meta":
			env.meta = val
		case "lcm":
			env.version = val
		case "tool_calls":
			env.calls, env.openAIOnly = val, true
		case "function_call":
			env.call, env.openAIOnly = val, true
		case "tool_call_id":
			env.callID, env.openAIOnly = val, true
		case "refusal":
			env.refusal, env.openAIOnly = val, true
		case "reasoning_content", "reasoning":
			env.reasoning, env.openAIOnly = val, true
		case "name":
			env.name = val
		case "stop_reason", "stop_sequence":
			env.anthropicOnly = true
		}
	}
	// A record's uuid is its own; beside one, an id tends to be that of the
	// response, which several records share.
	if env.id = readID(uuid); env.id == "" {
		env.id = readID(id)
	}
	return env
}

// readID accepts strings, plain or in the lcm spelling, and numbers.
func readID(val []byte) string {
	if len(val) == 0 {
		return ""
	}
	switch c := val[0]; {
	case c == '"':
		return Unquote(val)
	case c == '-' || '0' <= c && c <= '9':
		return string(val)
	case c == '{':
		s, _ := readString(val)
		return s
	}
	return ""
}

// readTime reads RFC 3339, or a Unix time whose size tells its unit. Other values
// give the zero time; the record keeps them.
func readTime(val []byte) time.Time {
	s := string(val)
	if val[0] == '"' {
		s = Unquote(val)
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n < 1e11 && n > -1e11:
			return time.Unix(n, 0).UTC()
		case n < 1e14 && n > -1e14:
			return time.UnixMilli(n).UTC()
		case n < 1e17 && n > -1e17:
			return time.UnixMicro(n).UTC()
		}
		return time.Unix(0, n).UTC()
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil && x > -1e14 && x < 1e14 {
		if x < 1e11 && x > -1e11 {
			x *= 1e3
		}
		return time.UnixMicro(int64(x * 1e3)).UTC()
	}
	return time.Time{}
}
