package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// seeds are records of every shape, and some that are none.
var seeds = []string{
	`{"role":"user","content":"hi\u00e9\ud83d\ude00"}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a","name":"n","input":{"a":[1,-2.5e3,true,null]}}]}`,
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}],"is_error":true}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}],"refusal":null,"reasoning_content":"r"}`,
	`{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}],"timestamp":1767323045.5,"id":7}`,
	`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"file","file":{"file_id":"f"}}]}`,
	`{"lcm":1,"role":"user","id":"i","time":"2026-01-02T03:04:05Z","parts":[{"kind":"text","text":{"encoding":"base64","data":"/w=="}},{"kind":"blob","blob":{"mime":"m","data":"aGk="},"ref":{"id":"file_0","bytes":1,"tokens":2},"extra":{"a":1}}],"meta":{"k":{"encoding":"object","data":{"encoding":"x"}}}}`,
	`{"lcm":1,"role":"tool","id":"\u0041","time":"0001-01-01T01:00:00+01:00","parts":[{"kind":"text","text":"a\n"},{"kind":"tool_call","call":{"id":"c","name":"n","arguments":"{}"}},{"kind":"tool_result","result":{"call_id":"c","is_error":true,"output":[]}},{"kind":"x","call":{},"result":{}}]}`,
	`{"lcm":1,"role":"user","parts":]}`, `{"lcm":1,"role":"user","parts":[{"kind":"tool_result","result":{"output":]}}]}`,
	`{"lcm":1,"role":"user","parts":[{"kind":"tool_result","result":{"output":` + strings.Repeat(`[{"kind":"tool_result","result":{"output":`, 64) + "[]" + strings.Repeat(`}}]`, 65) + "}",
	"{\"role\":\"user\",\"content\":\"\xff\\ud800\"}", `[[[[{"a":`, `{"role":"user","content":"\`, "", "null",
}

// transcriptFormats are the shapes of transcripts.
var transcriptFormats = slices.Sorted(maps.Keys(transcripts))

func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if got, want := Check(record) == nil, json.Valid(record); got != want {
			t.Fatalf("valid = %v, encoding/json says %v", got, want)
		}
		_, _ = Detect(record)
		for _, shape := range transcriptFormats {
			m, err := Decode(shape, llms.RoleUser, record)
			apart(t, shape, record, m, err)
		}
		for _, shape := range []llms.Format{llms.FormatText, llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
			m, err := Decode(shape, llms.RoleUser, record)
			apart(t, shape, record, m, err)
			if err != nil {
				continue
			}
			same, err := Encode(shape, m)
			if err != nil || !bytes.Equal(same, record) {
				t.Fatalf("%s: the same shape gives %q, %v", shape, same, err)
			}
			_, _ = m.Render(), m.SearchText()
			if llms.CountMessage(llms.Estimate, m) < llms.CountMessage(llms.Estimate, llms.Message{}) {
				t.Fatal("a message that costs nothing")
			}
			for _, other := range []llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
				encodeAnew(t, m, other)
			}
		}
	})
}

// apart decodes a copy of the record and then overwrites the copy: apart from
// Raw, a message does not share its bytes.
func apart(t *testing.T, f llms.Format, record []byte, m llms.Message, failed error) {
	t.Helper()
	own := bytes.Clone(record)
	got, err := Decode(f, llms.RoleUser, own)
	for i := range own {
		own[i] = '#'
	}
	m.Raw, got.Raw = llms.Raw{}, llms.Raw{}
	if (err == nil) != (failed == nil) || !reflect.DeepEqual(got, m) {
		t.Fatalf("%s: without its record it is %#v, %v, else %#v, %v", f, got, err, m, failed)
	}
}

// encodeAnew writes m without help from its record, which must give JSON that
// reads back.
func encodeAnew(t *testing.T, m llms.Message, f llms.Format) {
	t.Helper()
	m.Raw.Bytes = nil
	records, err := EncodeAll(f, []llms.Message{m})
	if err != nil {
		t.Fatalf("EncodeAll(%s): %v", f, err)
	}
	for _, r := range records {
		back, err := Decode(f, "", r)
		if err != nil {
			t.Fatalf("%s reads back with %v: %s", f, err, r)
		}
		if f == llms.FormatLCM && !Equal(m, back) {
			t.Fatalf("lcm lost something:\n%#v\n%#v", m, back)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("id", "text\xff", "sig", "{}", []byte{0}, `{"a":1}`, int64(1), int64(2))
	f.Fuzz(func(t *testing.T, id, text, sig, args string, data []byte, extra string, sec, nsec int64) {
		m := llms.Message{ID: id, Role: llms.RoleTool, Meta: map[string]any{strings.ToValidUTF8(text, "?"): strings.ToValidUTF8(args, "?"), "list": []any{strings.ToValidUTF8(sig, "?")}}, Parts: []llms.Part{
			{Kind: llms.PartReasoning, Text: text, Signature: sig, Extra: json.RawMessage(extra)},
			{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: text, Arguments: args}},
			{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: id, Output: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{Name: text, Data: data}, Ref: &llms.Ref{Note: args, Bytes: sec, Tokens: int(nsec)}}}}},
		}}
		m.Time = time.Unix(sec%1e10, nsec%1e9)
		encodeAnew(t, m, llms.FormatLCM)
	})
}

func FuzzCarve(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), 1)
	}
	f.Add([]byte(`["data:;base64,aGk=","aB1+\/aB1","\u003c<","\u001B\/\u00e9é"]`), 0)
	f.Fuzz(func(t *testing.T, record []byte, min int) {
		carveAndJoin(t, record, min)
	})
}

// FuzzSearchText compares the search text with that of the decoder, and checks
// that no word of it is taken for absent.
func FuzzSearchText(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		`{"lcm":1,"role":"tool","id":"a","parts":[{"kind":"tool_result","result":{"call_id":"c","name":"read_file","is_error":true,"output":[{"kind":"text","text":"a\n\tb\"c\"\\ \u001b[0m \u00e9 \/"},{"kind":"text"},{"kind":"text","text":""}]}}]}`,
		`{"lcm":1,"role":"assistant","time":"2026-01-02T03:04:05Z","parts":[{"kind":"text","text":"x","signature":"s"},{"kind":"tool_call","call":{"id":"c","name":"n","arguments":"{\"a\":1}"}},{"kind":"text","text":"\ud83d\ude00"}]}`,
		`{"lcm":1,"role":"user","parts":[]}`, `{"lcm":1,"role":"nobody","parts":[{"kind":"text","text":"x"}]}`, `{"lcm":1,"role":"user","parts":[{"kind":"text","text":"x"}]} `,
		`{"lcm":1,"role":"user","parts":[{"kind":"text","text":"x","text":"y"}]}`, `{"lcm":1,"role":"user","parts":[{"kind":"text","text":"x"}],"meta":{}}`,
		`{"lcm":1,"role":"user","parts":[{"kind":"tool_result","result":{"output":[{"kind":"tool_result","result":{"name":"deep"}}]}}]}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"run","namespace":"mcp","arguments":"{}"}}`,
		`{"type":"response_item","payload":{"type":"local_shell_call","action":{"command":["ls"]}}}`,
		`{"lcm":1,"role":"user","parts":[{"kind":"blob","blob":{"mime":"text/plain","data":"aGVsbG8gd29ybGQ="}}]}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"one two"}]}}`,
		`{"id":"p","message_id":"m","data":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"a":"b"},"output":"done well"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, shape := range append([]llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI}, transcriptFormats...) {
			m, failed := Decode(shape, llms.RoleUser, record)
			got, err := AppendSearchText([]byte("before"), shape, llms.RoleUser, record)
			if want := "before" + m.SearchText(); (err == nil) != (failed == nil) || string(got) != want {
				t.Fatalf("%s: the text is %q, %v, decoded it is %q, %v", shape, got, err, want, failed)
			}
			if failed != nil {
				continue
			}
			for _, line := range strings.Split(m.SearchText(), "\n") {
				if Lacks(shape, record, []byte(line)) {
					t.Fatalf("%s: %q is taken for absent", shape, line)
				}
			}
		}
	})
}

// A literal that no text of the record has is found out without decoding.
func TestLacks(t *testing.T) {
	record := []byte(`{"lcm":1,"role":"tool","parts":[{"kind":"text","text":"a \u001b[0m green\nline \"quoted\" a\/b"}]}`)
	for literal, want := range map[string]bool{
		"green": false, "quoted": false, "purple": true, "green\nline": false, "green\npurple": true, "": false, "/": false, "\n": false, "zz/green": false,
	} {
		if got := Lacks(llms.FormatLCM, record, []byte(literal)); got != want {
			t.Errorf("%q: %v, want %v", literal, got, want)
		}
	}
	if Lacks(llms.FormatLCM, []byte(`{"lcm":1,"role":"tool","parts":[{"kind":"text","text":"\u0067reen"}]}`), []byte("green")) {
		t.Error("a letter may be spelled as an escape")
	}
}
