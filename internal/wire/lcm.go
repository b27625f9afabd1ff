package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/llms"
)

// lcmVersion is the version of this module's own shape. A reader refuses
// records of a later one, since it could not promise to read all of them.
const lcmVersion = 1

var errTooDeep = fmt.Errorf("llms: parts nest more than %d deep", partDepth)

// encodeLCM writes every field of the message but Raw, in a fixed order and
// on one line. It leaves out fields at their zero value.
func encodeLCM(m llms.Message) ([]byte, error) {
	if !m.Role.Valid() {
		return nil, &llms.RoleError{Role: string(m.Role), Allowed: lcmRoles}
	}
	dst := append([]byte(`{"lcm":1,"role":"`), m.Role...)
	dst = append(dst, '"')
	dst = appendStringMember(dst, "id", m.ID)
	if !m.Time.IsZero() {
		text, err := m.Time.UTC().MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("llms: %w", err)
		}
		dst = append(append(dst, `,"time":`...), text...)
	}
	dst = append(dst, `,"parts":`...)
	dst, err := appendParts(dst, m.Parts, 0)
	if err != nil {
		return nil, err
	}
	if len(m.Meta) > 0 {
		meta, err := jsonstring.Marshal(m.Meta)
		if err == nil && !isUTF8(m.Meta) {
			err = errors.New("a string is not valid UTF-8")
		}
		if err != nil {
			return nil, fmt.Errorf("llms: metadata: %w", err)
		}
		dst = append(append(dst, `,"meta":`...), meta...)
	}
	return append(dst, '}'), nil
}

// isUTF8 reports whether the strings of a metadata value are valid: encoding/json would
// replace their bytes.
func isUTF8(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isUTF8(e) })
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !isUTF8(e) {
				return false
			}
		}
	}
	return true
}

// Equal reports whether two messages are the same in all fields but Raw. Nil and
// empty are the same, times are compared as instants, and metadata as they are
// written. A message that cannot be written equals none.
func Equal(a, b llms.Message) bool {
	a.Raw, b.Raw = llms.Raw{}, llms.Raw{}
	if len(a.Meta) == 0 && shallow(a.Parts, partDepth) && reflect.DeepEqual(a, b) {
		return true // nearly every message of an import, which takes a quarter longer if both are written
	}
	x, errX := encodeLCM(a)
	y, errY := encodeLCM(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func shallow(parts []llms.Part, depth int) bool {
	return depth >= 0 && !slices.ContainsFunc(parts, func(p llms.Part) bool { return p.Result != nil && !shallow(p.Result.Output, depth-1) })
}

// appendString writes a string, as an object with its base64 if JSON could
// not hold its bytes.
func appendString(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return appendQuoted(dst, s)
	}
	dst = append(dst, `{"encoding":"base64","data":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(s)), `"}`...)
}

// readString is the inverse of appendString.
func readString(val []byte) (string, bool) {
	if len(val) == 0 {
		return "", true
	}
	if val[0] == '"' {
		return Unquote(val), true
	}
	if Unquote(member(val, "encoding")) != "base64" {
		return "", false
	}
	data, ok := fromBase64(Unquote(member(val, "data")))
	return string(data), ok
}

func appendStringMember(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(append(append(dst, `,"`...), name...), `":`...), s)
}

func appendIntMember(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(append(append(dst, `,"`...), name...), `":`...), n, 10)
}

func appendParts(dst []byte, parts []llms.Part, depth int) ([]byte, error) {
	if depth > partDepth {
		return nil, errTooDeep
	}
	list := len(dst)
	for _, p := range parts {
		dst = appendString(append(dst, `,{"kind":`...), string(p.Kind))
		dst = appendStringMember(dst, "text", p.Text)
		dst = appendStringMember(dst, "signature", p.Signature)
		if c := p.Call; c != nil {
			from := len(dst) + len(`,"call":`)
			dst = appendStringMember(append(dst, `,"call":`...), "id", c.ID)
			dst = appendStringMember(dst, "name", c.Name)
			dst = closeMembers(appendStringMember(dst, "arguments", c.Arguments), from)
		}
		if r := p.Result; r != nil {
			from := len(dst) + len(`,"result":`)
			dst = appendStringMember(append(dst, `,"result":`...), "call_id", r.CallID)
			dst = appendStringMember(dst, "name", r.Name)
			if r.IsError {
				dst = append(dst, `,"is_error":true`...)
			}
			if len(r.Output) > 0 {
				var err error
				if dst, err = appendParts(append(dst, `,"output":`...), r.Output, depth+1); err != nil {
					return nil, err
				}
			}
			dst = closeMembers(dst, from)
		}
		dst = appendExtraMember(appendRef(appendBlob(dst, p.Blob), p.Ref), p.Extra)
		dst = append(dst, '}')
	}
	return closeList(dst, list), nil
}

// closeMembers turns the comma-led members after dst[from] into an object.
func closeMembers(dst []byte, from int) []byte {
	if len(dst) == from {
		return append(dst, "{}"...)
	}
	dst[from] = '{'
	return append(dst, '}')
}

func appendBlob(dst []byte, b *llms.Blob) []byte {
	if b == nil {
		return dst
	}
	dst = append(dst, `,"blob":`...)
	from := len(dst)
	dst = appendStringMember(dst, "mime", b.MIME)
	dst = appendStringMember(dst, "name", b.Name)
	dst = appendStringMember(dst, "url", b.URL)
	if len(b.Data) > 0 {
		dst = base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), b.Data)
		dst = append(dst, '"')
	}
	return closeMembers(dst, from)
}

func appendRef(dst []byte, r *llms.Ref) []byte {
	if r == nil {
		return dst
	}
	dst = append(dst, `,"ref":`...)
	from := len(dst)
	dst = appendStringMember(dst, "id", r.ID)
	dst = appendStringMember(dst, "name", r.Name)
	dst = appendStringMember(dst, "mime", r.MIME)
	dst = appendIntMember(dst, "bytes", r.Bytes)
	dst = appendIntMember(dst, "tokens", int64(r.Tokens))
	return closeMembers(appendStringMember(dst, "note", r.Note), from)
}

// appendExtraMember writes Extra as it is where that keeps the record one
// line of JSON in UTF-8, and as a string otherwise.
func appendExtraMember(dst []byte, extra []byte) []byte {
	if len(extra) == 0 {
		return dst
	}
	control := func(r rune) bool { return r < ' ' }
	if bytes.ContainsFunc(extra, control) || extra[0] == ' ' || extra[len(extra)-1] == ' ' || !utf8.Valid(extra) || Check(extra) != nil {
		return appendStringMember(dst, "extra_text", string(extra))
	}
	return append(append(dst, `,"extra":`...), extra...)
}

// decodeLCM reads a record of this module's own shape.
func decodeLCM(env envelope) (llms.Message, error) {
	if v := string(env.version); v != "" && v != strconv.Itoa(lcmVersion) {
		return llms.Message{}, fmt.Errorf("llms: the record is of version %s and this program reads version %d: use a newer one", v, lcmVersion)
	}
	m, err := env.message(lcmRoles)
	if err != nil {
		return llms.Message{}, err
	}
	if len(env.parts) == 0 || env.parts[0] != '[' {
		return llms.Message{}, errors.New("llms: an lcm record has an array of parts")
	}
	r := lcmReader{}
	m.Parts = r.parts(env.parts, 0)
	if len(env.meta) > 0 {
		d := json.NewDecoder(bytes.NewReader(env.meta))
		d.UseNumber() // it keeps every number as it is written
		if d.Decode(&m.Meta) != nil || m.Meta == nil {
			r.fail("meta must be an object")
		}
	}
	if r.err != nil {
		return llms.Message{}, r.err
	}
	return m, nil
}

// lcmReader reads parts and keeps the first error: unlike a provider's record,
// this one has no foreign blocks.
type lcmReader struct{ err error }

func (r *lcmReader) fail(reason string) {
	if r.err == nil {
		r.err = errors.New("llms: lcm record: " + reason)
	}
}

func (r *lcmReader) str(name string, val []byte) string {
	s, ok := readString(val)
	if !ok {
		r.fail(name + " must be a string, or an object with its base64")
	}
	return s
}

func (r *lcmReader) num(name string, val []byte) int64 {
	n, err := strconv.ParseInt(string(val), 10, 64)
	if err != nil {
		r.fail(name + " must be a whole number")
	}
	return n
}

func (r *lcmReader) parts(list []byte, depth int) []llms.Part {
	if list[0] != '[' || depth > partDepth {
		r.fail("parts must be an array, nested no deeper than " + strconv.Itoa(partDepth))
		return nil
	}
	var parts []llms.Part
	for obj := range Elements(list) {
		if obj[0] != '{' {
			r.fail("a part must be an object")
			return nil
		}
		parts = append(parts, r.part(obj, depth))
	}
	return parts
}

func (r *lcmReader) part(obj []byte, depth int) (p llms.Part) {
	for key, val := range members(obj) {
		switch string(plainKey(key)) {
		case "kind":
			p.Kind = llms.PartKind(r.str("kind", val))
		case "text":
			p.Text = r.str("text", val)
		case "signature":
			p.Signature = r.str("signature", val)
		case "call":
			s := [...]slot{{name: "id"}, {name: "name"}, {name: "arguments"}}
			pick(val, s[:])
			p.Call = &llms.ToolCall{ID: r.str("id", s[0].val), Name: r.str("name", s[1].val), Arguments: r.str("arguments", s[2].val)}
		case "result":
			s := [...]slot{{name: "call_id"}, {name: "name"}, {name: "is_error"}, {name: "output"}}
			pick(val, s[:])
			p.Result = &llms.ToolResult{CallID: r.str("call_id", s[0].val), Name: r.str("name", s[1].val), IsError: s[2].is('t')}
			if s[3].val != nil {
				p.Result.Output = r.parts(s[3].val, depth+1)
			}
		case "blob":
			p.Blob = r.blob(val)
		case "ref":
			p.Ref = r.ref(val)
		case "extra":
			p.Extra = append(p.Extra[:0], val...)
		case "extra_text":
			p.Extra = []byte(r.str("extra_text", val))
		}
	}
	return p
}

func (r *lcmReader) blob(obj []byte) *llms.Blob {
	s := [...]slot{{name: "mime"}, {name: "name"}, {name: "url"}, {name: "data"}}
	pick(obj, s[:])
	b := &llms.Blob{MIME: r.str("mime", s[0].val), Name: r.str("name", s[1].val), URL: r.str("url", s[2].val)}
	if s[3].val != nil {
		var ok bool
		if b.Data, ok = fromBase64(s[3].str()); !ok || !s[3].is('"') {
			r.fail("data must be base64")
		}
	}
	return b
}

func (r *lcmReader) ref(obj []byte) *llms.Ref {
	s := [...]slot{{name: "id"}, {name: "name"}, {name: "mime"}, {name: "note"}, {name: "bytes"}, {name: "tokens"}}
	pick(obj, s[:])
	ref := &llms.Ref{ID: r.str("id", s[0].val), Name: r.str("name", s[1].val), MIME: r.str("mime", s[2].val), Note: r.str("note", s[3].val)}
	if s[4].val != nil {
		ref.Bytes = r.num("bytes", s[4].val)
	}
	if s[5].val != nil {
		ref.Tokens = int(r.num("tokens", s[5].val))
	}
	return ref
}
