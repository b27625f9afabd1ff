package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
)

// want compares a decoded message with an expected one, leaving Raw to the
// caller.
func want(t *testing.T, got, want llms.Message) {
	t.Helper()
	got.Raw = llms.Raw{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message differs (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, f llms.Format, record string) llms.Message {
	t.Helper()
	m, err := Decode(f, "", []byte(record))
	if err != nil {
		t.Fatalf("Decode(%s): %v", record, err)
	}
	if m.Raw.Format != f || string(m.Raw.Bytes) != record {
		t.Errorf("Raw = %s %q, want the record", m.Raw.Format, m.Raw.Bytes)
	}
	if err := m.Validate(); err != nil {
		t.Errorf("decoded message is not valid: %v", err)
	}
	return m
}

func textPart(s string) llms.Part { return llms.Part{Kind: llms.PartText, Text: s} }

var png = []byte("\x89PNG\r\n\x1a\n")

const pngBase64 = "iVBORw0KGgo="

func TestDecodeAnthropic(t *testing.T) {
	tests := []struct {
		name, record string
		want         llms.Message
	}{
		{"string content", `{"role":"user","content":"Hi\u00e9\n\ud83d\ude00"}`, llms.User("Hié\n😀")},
		{"keys in any order and spelling", "{ \"content\" : [ {\"text\":\"a\", \"t\\u0079pe\":\"text\"} ] ,\n\"r\\u006fle\":\"assistant\"}", llms.Assistant("a")},
		{"the last of two keys wins", `{"role":"user","role":"assistant","content":"a","content":"b"}`, llms.Assistant("b")},
		{"thinking, text and calls", `{"id":"msg_01","type":"message","role":"assistant","content":[
			{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0"},
			{"type":"text","text":"Looking.","citations":null},
			{"type":"tool_use","id":"toolu_1","name":"grep","input":{"q": "x\n",  "n":1.0}}]}`,
			llms.Message{ID: "msg_01", Role: llms.RoleAssistant, Parts: []llms.Part{
				{Kind: llms.PartReasoning, Text: "hm", Signature: "c2ln"},
				{Kind: llms.PartReasoning, Signature: "ZGF0", Extra: json.RawMessage(`{"type":"redacted_thinking"}`)},
				{Kind: llms.PartText, Text: "Looking.", Extra: json.RawMessage(`{"citations":null}`)},
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "toolu_1", Name: "grep", Arguments: `{"q": "x\n",  "n":1.0}`}},
			}}},
		{"only tool results: role tool", `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"out"},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngBase64 + `"}}]},
			{"type":"tool_result","tool_use_id":"c","cache_control":{"type":"ephemeral"}}]}`,
			llms.Message{Role: llms.RoleTool, Parts: []llms.Part{
				{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "a", Output: []llms.Part{textPart("out")}}},
				{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "b", IsError: true, Output: []llms.Part{textPart("no"), {Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: png}}}}},
				{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c"}, Extra: json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`)},
			}}},
		{"results with text stay with the user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""},{"type":"text","text":"go on"}]}`,
			llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
				{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "a", Output: []llms.Part{textPart("")}}}, textPart("go on")}}},
		{"blobs", `{"role":"user","content":[
			{"type":"image","source":{"type":"url","url":"https://x/y.png"}},
			{"type":"image","source":{"type":"file","file_id":"f1"}},
			{"type":"document","title":"T","source":{"type":"text","media_type":"text/plain","data":"body"},"context":"c"}]}`,
			llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/*", URL: "https://x/y.png"}},
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/*"}, Extra: json.RawMessage(`{"source":{"type":"file","file_id":"f1"}}`)},
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "text/plain", Name: "T", Data: []byte("body")}, Extra: json.RawMessage(`{"context":"c"}`)},
			}}},
		{"foreign and broken blocks are kept whole", `{"role":"assistant","content":[{"type":"server_tool_use","id":"s"},{"type":"text","text":7},"bare",{"type":"image","source":{"type":"base64","data":"!"}}]}`,
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
				{Kind: llms.PartOther, Extra: json.RawMessage(`{"type":"server_tool_use","id":"s"}`)},
				{Kind: llms.PartOther, Extra: json.RawMessage(`{"type":"text","text":7}`)},
				{Kind: llms.PartOther, Extra: json.RawMessage(`"bare"`)},
				{Kind: llms.PartOther, Extra: json.RawMessage(`{"type":"image","source":{"type":"base64","data":"!"}}`)},
			}}},
		{"id and time of a transcript", `{"uuid":"u-1","id":"msg_2","timestamp":"2026-01-02T03:04:05.678Z","role":"user","content":"x"}`,
			llms.Message{ID: "u-1", Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Role: llms.RoleUser, Parts: []llms.Part{textPart("x")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { want(t, decode(t, llms.FormatAnthropic, tt.record), tt.want) })
	}
}

func TestDecodeOpenAI(t *testing.T) {
	call := func(id, name, args string) llms.Part {
		return llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: name, Arguments: args}}
	}
	legacy := call("", "g", "{}")
	legacy.Extra = json.RawMessage(`{"type":"function_call"}`)
	custom := call("c3", "sql", "select 1")
	custom.Extra = json.RawMessage(`{"type":"custom"}`)
	tests := []struct {
		name, record string
		want         llms.Message
	}{
		{"developer is system", `{"role":"developer","content":"Be brief."}`, llms.System("Be brief.")},
		{"empty content", `{"role":"user","content":""}`, llms.User("")},
		{"calls, one with broken arguments", `{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
			{"id":"c2","type":"function","function":{"name":"f","arguments":"{\"a\":"}},
			{"id":"c3","type":"custom","custom":{"name":"sql","input":"select 1"}}]}`,
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartReasoning, Text: "hm"}, call("c1", "f", `{"a":1}`), call("c2", "f", `{"a":`), custom}}},
		{"arguments that are no string", `{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]}`,
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{textPart("x"), call("", "f", `{"a": 1}`)}}},
		{"function_call of old", `{"role":"assistant","content":null,"function_call":{"name":"g","arguments":"{}"}}`,
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{legacy}}},
		{"tool", `{"role":"tool","tool_call_id":"c1","content":"out","created_at":1767323045}`,
			llms.Message{Time: time.Unix(1767323045, 0).UTC(), Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c1", Output: []llms.Part{textPart("out")}}}}}},
		{"refusal", `{"role":"assistant","content":null,"refusal":"No."}`,
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: "No.", Extra: json.RawMessage(`{"type":"refusal"}`)}}}},
		{"parts", `{"role":"user","id":7,"time":1767323045123,"content":[{"type":"text","text":"see"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pngBase64 + `","detail":"low"}},
			{"type":"input_audio","input_audio":{"data":"` + pngBase64 + `","format":"wav"}},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + pngBase64 + `"}},
			{"type":"file","file":{"file_id":"f"}},{"type":"video_url","video_url":{}}]}`,
			llms.Message{ID: "7", Time: time.UnixMilli(1767323045123).UTC(), Role: llms.RoleUser, Parts: []llms.Part{textPart("see"),
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: png}, Extra: json.RawMessage(`{"image_url":{"detail":"low"}}`)},
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "audio/wav", Data: png}},
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "application/pdf", Name: "a.pdf", Data: png}},
				{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "application/octet-stream"}, Extra: json.RawMessage(`{"file":{"file_id":"f"}}`)},
				{Kind: llms.PartOther, Extra: json.RawMessage(`{"type":"video_url","video_url":{}}`)},
			}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { want(t, decode(t, llms.FormatOpenAI, tt.record), tt.want) })
	}
}

// What is decoded and written again in the same shape without the original
// bytes must decode to the same message: nothing of a block is lost.
func TestSameShapeWithoutRaw(t *testing.T) {
	records := map[llms.Format][]string{
		llms.FormatAnthropic: {
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"tool_use","id":"t","name":"n","input":{"a":[1]}},{"type":"web_search_tool_result","content":[]}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngBase64 + `"}},{"type":"search_result","x":1}]}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"u"}},{"type":"document","source":{"type":"file","file_id":"f"},"title":"T"},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]}`,
			`{"role":"system","content":"S"}`,
		},
		llms.FormatOpenAI: {
			`{"role":"assistant","content":"x","reasoning_content":"r","tool_calls":[{"id":"c","index":0,"type":"function","function":{"name":"f","arguments":"{"}},{"id":"d","type":"custom","custom":{"name":"s","input":"i"}},{"id":"e","type":"odd","function":{"name":"f","arguments":"","strict":true}}]}`,
			`{"role":"assistant","content":[{"type":"refusal","refusal":"No"}],"function_call":{"name":"g","arguments":"{}"}}`,
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pngBase64 + `","detail":"low"}},{"type":"image_url","image_url":{"url":"http://x"}},{"type":"file","file":{"file_id":"f"}},{"type":"input_audio","input_audio":{"data":"` + pngBase64 + `","format":"mp3"}},{"type":"video_url","video_url":{"url":"v"}},{"type":"input_text","text":"t"}]}`,
			`{"role":"tool","tool_call_id":"c","name":"f","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
		},
	}
	for f, list := range records {
		for _, record := range list {
			m := decode(t, f, record)
			m.Raw.Bytes = nil
			out, err := Encode(f, m)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(out) {
				t.Fatalf("not JSON: %s", out)
			}
			again := decode(t, f, string(out))
			m.Raw = llms.Raw{}
			want(t, again, m)
		}
	}
}

func TestEncodeSameShapeGivesTheBytesBack(t *testing.T) {
	for _, tt := range []struct {
		f      llms.Format
		record string
	}{
		{llms.FormatText, "a\x00\xff\r\n"}, {llms.FormatText, ""},
		{llms.FormatAnthropic, "{\"content\":  \"\\u0041\\/\",\"odd\":[ ] ,\"role\":\"user\"}\r\n"},
		{llms.FormatOpenAI, `{"role":"user","content":[],"name":"x"}`},
	} {
		m, err := Decode(tt.f, llms.RoleUser, []byte(tt.record))
		if err != nil {
			t.Fatal(err)
		}
		out, err := Encode(tt.f, m)
		if err != nil || string(out) != tt.record {
			t.Errorf("Encode = %q, %v; want %q", out, err, tt.record)
		}
	}
}

func TestEncodeAcrossShapes(t *testing.T) {
	anthropic := []string{
		`{"role":"user","content":"find it"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"2"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pngBase64 + `"}}],"is_error":true},{"type":"text","text":"and?","cache_control":{}}]}`,
	}
	openai := []string{
		`{"role":"user","content":"find it"}`,
		`{"role":"assistant","reasoning_content":"hm","content":"ok","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"1"}`,
		`{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"2"},{"type":"text","text":"[image/png 8 B]"}]}`,
		`{"role":"user","content":"and?"}`,
	}
	check := func(from, to llms.Format, in, out []string) {
		t.Helper()
		var ms []llms.Message
		for _, r := range in {
			ms = append(ms, decode(t, from, r))
		}
		records, err := EncodeAll(to, ms)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range records {
			got = append(got, string(r))
		}
		if diff := cmp.Diff(out, got); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", from, to, diff)
		}
	}
	check(llms.FormatAnthropic, llms.FormatOpenAI, anthropic, openai)
	check(llms.FormatOpenAI, llms.FormatAnthropic, append([]string{`{"role":"system","content":"S"}`}, openai...), []string{
		`{"role":"system","content":"S"}`,
		anthropic[0],
		`{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"2"},{"type":"text","text":"[image/png 8 B]"}]}]}`,
		`{"role":"user","content":"and?"}`,
	})
	check(llms.FormatOpenAI, llms.FormatAnthropic,
		[]string{`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x"}},{"id":"b","function":{"name":"f","arguments":""}}]}`},
		[]string{`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"raw_arguments":"{\"x"}},{"type":"tool_use","id":"b","name":"f","input":{}}]}`})
}

func TestEncodeRefs(t *testing.T) {
	ref := &llms.Ref{ID: "file_0123456789abcdef", Name: "log.txt", MIME: "text/plain", Bytes: 9, Tokens: 3, Note: "a log"}
	line := `[file_0123456789abcdef | log.txt | text/plain | 9 bytes | 3 tokens] a log`
	m := llms.Message{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "a", Output: []llms.Part{{Kind: llms.PartText, Ref: ref}}}}}}
	for f, want := range map[llms.Format]string{
		llms.FormatOpenAI:    `{"role":"tool","tool_call_id":"a","content":"` + line + `"}`,
		llms.FormatAnthropic: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + line + `"}]}`,
	} {
		if got, err := Encode(f, m); err != nil || string(got) != want {
			t.Errorf("Encode(%s) = %s, %v\nwant %s", f, got, err, want)
		}
	}
}

func TestDetect(t *testing.T) {
	for record, want := range map[string]llms.Format{
		`{"role":"user","content":"x"}`:                                             llms.FormatOpenAI,
		`{"role":"developer","content":"x"}`:                                        llms.FormatOpenAI,
		`{"role":"assistant","content":null,"tool_calls":[]}`:                       llms.FormatOpenAI,
		`{"role":"user","content":[{"type":"image_url"}]}`:                          llms.FormatOpenAI,
		`{"role":"tool","tool_call_id":"x","content":"x"}`:                          llms.FormatOpenAI,
		`{"role":"user","content":[{"type":"tool_result"}]}`:                        llms.FormatAnthropic,
		`{"role":"assistant","content":[{"type":"text"},{"type":"tool_use"}]}`:      llms.FormatAnthropic,
		`{"role":"assistant","stop_reason":"end_turn","content":[]}`:                llms.FormatAnthropic,
		`{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}`: llms.FormatAnthropic,
		`{"lcm":1,"role":"user","parts":[]}`:                                        llms.FormatLCM,
	} {
		if got, err := Detect([]byte(record)); got != want || err != nil {
			t.Errorf("Detect(%s) = %q, %v; want %s", record, got, err, want)
		}
	}
}

func TestUnknownRoleNamesWhatIsAllowed(t *testing.T) {
	for _, f := range []llms.Format{llms.FormatText, llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI, ""} {
		record := []byte(`{"role":"robot","content":"x","parts":[]}`)
		var err error
		if f == "" {
			_, err = Detect(record)
		} else {
			_, err = Decode(f, "robot", record)
		}
		var role *llms.RoleError
		if !errors.As(err, &role) || role.Role != "robot" || !strings.Contains(err.Error(), "user, assistant, system") {
			t.Errorf("%s: error %v", f, err)
		}
	}
	if _, err := Detect([]byte(`{"content":"x"}`)); err == nil || !strings.Contains(err.Error(), "no role") {
		t.Errorf("no role: %v", err)
	}
}

func TestBadRecords(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for _, record := range []string{"", " ", "{", "[]", "7", `{"role":"user"`, `{"role":"user","content":"a`, `{"role":"user","content":7}`, `{"role":"user","content":"a"} x`,
		`{"role":"user","content":"` + "\n" + `"}`, `{"role":"user","content":"\x"}`, `{"role":"user","content":"\u12"}`, `{"role":"user","content":01}`, `{"role":"user",}`, `{"a":[1,]}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"role":"user","content":tru}`, deep} {
		for _, f := range []llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
			if _, err := Decode(f, llms.RoleUser, []byte(record)); err == nil {
				t.Errorf("Decode(%s, %.40q) gave no error", f, record)
			}
		}
	}
	if _, err := Decode("yaml", llms.RoleUser, []byte("{}")); err == nil {
		t.Error("an unknown format gave no error")
	}
}

func TestNestedResultsStopAtTheLimit(t *testing.T) {
	n := 3 * partDepth
	record := `{"role":"user","content":` + strings.Repeat(`[{"type":"tool_result","tool_use_id":"a","content":`, n) + `"x"` + strings.Repeat(`}]`, n) + `}`
	m := decode(t, llms.FormatAnthropic, record)
	if !strings.Contains(m.SearchText(), "x") {
		t.Error("what lies below the limit is not searchable")
	}
	m.Raw.Bytes = nil
	if _, err := Encode(llms.FormatLCM, m); err != nil {
		t.Errorf("a decoded message cannot be encoded: %v", err)
	}
	loop := &llms.ToolResult{}
	loop.Output = []llms.Part{{Kind: llms.PartToolResult, Result: loop}}
	m = llms.Message{Role: llms.RoleTool, Parts: loop.Output}
	if _, err := Encode(llms.FormatLCM, m); err == nil {
		t.Error("an endless message was encoded")
	}
	_, _ = m.Render(), m.SearchText()
	if m.Validate() == nil || Equal(m, m) {
		t.Error("an endless message passes for a good one")
	}
}

func TestEncodeText(t *testing.T) {
	if got, err := Encode(llms.FormatText, llms.User("x")); err != nil || !bytes.Equal(got, []byte("x")) {
		t.Errorf("Encode = %q, %v", got, err)
	}
	withMeta := llms.User("x")
	withMeta.Meta = map[string]any{"a": 1}
	for _, m := range []llms.Message{withMeta, {Role: llms.RoleUser}, llms.Result("a", "b", "c", false)} {
		if _, err := Encode(llms.FormatText, m); err == nil {
			t.Errorf("%v was written as text", m)
		}
	}
}

func TestTimes(t *testing.T) {
	const want = "2026-01-02T03:04:05"
	for val, frac := range map[string]string{
		`"2026-01-02T03:04:05Z"`:         "",
		`"2026-01-02T04:04:05.25+01:00"`: ".25",
		`1767323045`:                     "",
		`1767323045.25`:                  ".25",
		`1767323045250`:                  ".25",
		`1767323045250.0`:                ".25",
		`1767323045250000`:               ".25",
		`1767323045250000000`:            ".25",
		`"1767323045"`:                   "",
	} {
		m := decode(t, llms.FormatOpenAI, `{"role":"user","content":"x","timestamp":`+val+`}`)
		if got := m.Time.UTC().Format(time.RFC3339Nano); got != want+frac+"Z" {
			t.Errorf("%s is read as %s", val, got)
		}
	}
	for _, val := range []string{`"yesterday"`, `null`, `true`, `[]`, `1e300`, `{}`} {
		if m := decode(t, llms.FormatOpenAI, `{"role":"user","content":"x","time":`+val+`}`); !m.Time.IsZero() {
			t.Errorf("%s is read as %s", val, m.Time)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	two := llms.Message{Role: llms.RoleTool, Parts: append(llms.Result("a", "", "1", false).Parts, llms.Result("b", "", "2", false).Parts...)}
	if _, err := Encode(llms.FormatOpenAI, two); err == nil || !strings.Contains(err.Error(), "EncodeAll") {
		t.Errorf("two results in one record: %v", err)
	}
	for _, f := range []llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
		var role *llms.RoleError
		if _, err := Encode(f, llms.Message{Role: "robot"}); !errors.As(err, &role) {
			t.Errorf("%s: a bad role gives %v", f, err)
		}
	}
	for _, f := range []llms.Format{llms.FormatText, "yaml"} {
		if _, err := EncodeAll(f, []llms.Message{llms.User("x")}); err == nil {
			t.Errorf("EncodeAll(%s) gave no error", f)
		}
	}
	if _, err := Encode("yaml", llms.User("x")); err == nil {
		t.Error("an unknown format gave no error")
	}
}

// A record of very many values costs no memory beyond its bytes.
func TestManyValues(t *testing.T) {
	record := `{"role":"user","content":[` + strings.Repeat("1,", 1<<19) + `1]}`
	if m, err := Decode(llms.FormatAnthropic, llms.RoleUser, []byte(record)); err == nil {
		t.Errorf("a record of %d parts was decoded", len(m.Parts))
	}
}
