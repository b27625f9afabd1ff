package ingest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// privateForms are ways in which private text reaches lcm. HUSH must not be stored, KEEP
// must be.
func privateForms() map[string]llms.Message {
	all := map[string]llms.Message{}
	for name, text := range map[string]string{
		"plain":                     "KEEP <private>HUSH</private> KEEP",
		"upper case":                "KEEP <PRIVATE>HUSH</PRIVATE> KEEP",
		"mixed case":                "KEEP <PRivate>HUSH</pRIVATE> KEEP",
		"blanks in the tags":        "KEEP <private >HUSH</private  > KEEP",
		"blanks before the name":    "KEEP < private >HUSH< / private > KEEP",
		"an attribute":              `KEEP <private reason="contract">HUSH</private> KEEP`,
		"attributes without quotes": "KEEP <private for=acme until=2030-01-01>HUSH</private> KEEP",
		"a sign in an attribute":    `KEEP <private reason="a > b">HUSH</private> KEEP`,
		"a line break in the tag":   "KEEP <private\n>HUSH</private\n> KEEP",
		"attributes over lines":     "KEEP <private\r\n\treason='x'\r\n>HUSH</private> KEEP",
		"several lines":             "KEEP\n<private>\nHUSH\nHUSH\n</private>\nKEEP",
		"not closed":                "KEEP <private>HUSH",
		"nested":                    "KEEP <private>HUSH <private>HUSH</private> HUSH</private> KEEP",
		"nested and not closed":     "KEEP <private>HUSH <private>HUSH</private> HUSH",
		"two blocks":                "KEEP <private>HUSH</private> KEEP <private>HUSH</private>",
		"blocks without a gap":      "KEEP<private>HUSH</private><private>HUSH</private>KEEP",
		"entities":                  "KEEP &lt;private&gt;HUSH&lt;/private&gt; KEEP",
		"numbered entities":         "KEEP &#60;private&#62;HUSH&#60;/private&#62; KEEP",
		"escapes":                   `KEEP \u003cprivate\u003eHUSH\u003c/private\u003e KEEP`,
		"an address":                "KEEP https://a.example/?q=%3Cprivate%3EHUSH%3C%2Fprivate%3E KEEP",
		"other markup around it":    "KEEP <b><private><i>HUSH</i></private></b> KEEP",
		"a text that is JSON":       `{"keep":"KEEP","secret":"<private>HUSH</private>"}`,
		"JSON in JSON":              `{"keep":"KEEP","a":"{\"b\":\"<Private\\n>HUSH</Private>\"}"}`,
		"NBSP in the tag":           "KEEP <private\u00a0>HUSH</\u00a0private> KEEP",
		"thin space in the name":    "KEEP <pri\u2009vate>HUSH</private> KEEP",
		"zero width in the name":    "KEEP <pri\u200bvate>HUSH</priv\u200date> KEEP",
		"wide signs":                "KEEP ＜private＞HUSH＜／private＞ KEEP",
		"wide letters":              "KEEP <ｐｒｉｖａｔｅ>HUSH</private> KEEP",
		"a combining mark":          "KEEP <pri\u0301vate>HUSH</private> KEEP",
		"colours in the name":       "KEEP <\x1b[31mpriv\x1b[0mate>HUSH</private> KEEP",
		"a namespace":               "KEEP <lcm:private>HUSH</lcm:private> KEEP",
		"entities twice":            "KEEP &amp;lt;private&amp;gt;HUSH&amp;lt;/private&amp;gt; KEEP",
		"percent twice":             "KEEP %253Cprivate%253EHUSH%253C%252Fprivate%253E KEEP",
		"entities cut short":        "KEEP &ltprivate&gtHUSH&lt/private&gt KEEP",
		"a soft line break":         "KEEP <priv=\nate>HUSH</private> KEEP",
		"base64 in a sentence":      "KEEP, decode " + base64.StdEncoding.EncodeToString([]byte("it says <private>HUSH</private>.")) + " yourself",
		"a long attribute":          `KEEP <private note="` + strings.Repeat("x", 900) + `">HUSH</private> KEEP`,
		"after a letter":            "KEEP<private>HUSH</private> KEEP List<Private>",
		"split over JSON strings":   `{"keep":"KEEP","a":"<private>HUSH","b":["HUSH"],"c":"HUSH</private>"}`,
		"lines of JSON":             "{\"keep\":\"KEEP\"}\n{\"a\":\"\\u003cprivate\\u003eHUSH\\u003c/private\\u003e\"}",
	} {
		all["text: "+name] = llms.User(text)
	}
	const block = "KEEP <pRivate why='x'>HUSH</pRivate> KEEP"
	b64 := base64.StdEncoding.EncodeToString
	wide := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(block)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	quoted, _ := json.Marshal(block)
	q := string(quoted)
	for name, record := range map[string]string{
		"text":                   `{"role":"user","content":[{"type":"text","text":` + q + `}]}`,
		"escaped text":           `{"role":"user","content":"KEEP \u003c\u0070rivate\u003eHUSH\u003c\u002fprivate>"}`,
		"base64 document":        `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + b64([]byte(block)) + `"}}]}`,
		"short base64 document":  `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + b64([]byte("<private>HUSH")) + `"}}]}`,
		"UTF-16 document":        `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + b64(wide) + `"}}]}`,
		"binary document":        `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + b64([]byte("%PDF-1.4\x00\xff\xfe "+block)) + `"}}]}`,
		"text document":          `{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":` + q + `}}]}`,
		"title of a document":    `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"document","title":` + q + `,"source":{"type":"url","url":"https://a.example/b"}}]}`,
		"tool call":              `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"run","input":{"cmd":` + q + `}}]}`,
		"tool result":            `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":` + q + `}]}`,
		"tool result of parts":   `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":` + q + `}]}]}`,
		"split over two parts":   `{"role":"user","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"HUSH</private> KEEP"}]}`,
		"split over three parts": `{"role":"user","content":[{"type":"text","text":"KEEP <private>"},{"type":"text","text":"HUSH"},{"type":"text","text":"</private> KEEP"}]}`,
		"a tag in two parts":     `{"role":"user","content":[{"type":"text","text":"KEEP <pri"},{"type":"text","text":"vate>HUSH</private> KEEP"}]}`,
		"an open part":           `{"role":"user","content":[{"type":"text","text":"KEEP <private>"},{"type":"text","text":"HUSH"}]}`,
		"a part called text":     `{"role":"user","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"text"},{"type":"text","text":"HUSH</private>"}]}`,
		"a file between parts":   `{"role":"user","content":[{"type":"text","text":"KEEP <private>"},{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + b64([]byte("HUSH")) + `"}},{"type":"text","text":"</private>"}]}`,
		"split in a tool result": `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"HUSH</private>"}]}]}`,
		"reasoning":              `{"role":"assistant","content":[{"type":"thinking","thinking":` + q + `,"signature":"s"}]}`,
		"an unknown block":       `{"role":"user","content":[{"type":"new_thing","body":{"x":[` + q + `]}}]}`,
	} {
		m, err := wire.Decode(llms.FormatAnthropic, "", []byte(record))
		if err != nil {
			panic(name + ": " + err.Error())
		}
		all["anthropic: "+name] = m
	}
	for name, record := range map[string]string{
		"text":                  `{"role":"user","content":` + q + `}`,
		"arguments":             `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"KEEP <private\\u003eHUSH</private> KEEP\"}"}}]}`,
		"split arguments":       `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"KEEP <private>HUSH\",\"b\":\"HUSH\",\"c\":\"HUSH</private> KEEP\"}"}}]}`,
		"broken arguments":      `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":\"KEEP <Private>HUSH"}}]}`,
		"file_data":             `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"a.txt","file_data":"` + b64([]byte(block)) + `"}}]}`,
		"file_data address":     `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;charset=utf-8;base64,` + b64([]byte(block)) + `"}}]}`,
		"unpadded file_data":    `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"a.txt","file_data":"` + base64.RawURLEncoding.EncodeToString([]byte(block+"?>")) + `"}}]}`,
		"wrapped file_data":     `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"a.txt","file_data":"` + b64([]byte(block))[:20] + `\n` + b64([]byte(block))[20:] + `"}}]}`,
		"a percent address":     `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain,%3Cprivate%3EHUSH%3C/private%3E"}}]}`,
		"the name of a file":    `{"role":"user","content":[{"type":"text","text":"KEEP"},{"type":"file","file":{"filename":"<private>HUSH</private>.txt","file_data":"AAAA"}}]}`,
		"split over two parts":  `{"role":"user","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"HUSH</private> KEEP"}]}`,
		"a result of two parts": `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"HUSH</private>"}]}`,
	} {
		m, err := wire.Decode(llms.FormatOpenAI, "", []byte(record))
		if err != nil {
			panic(name + ": " + err.Error())
		}
		all["openai: "+name] = m
	}
	claude := `{"type":"user","uuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"KEEP <private>HUSH"},{"type":"text","text":"HUSH</private>"}]}]},"toolUseResult":{"stdout":` + q + `}}`
	if m, err := wire.Decode(llms.FormatClaude, "", []byte(claude)); err == nil {
		all["claude: a tool result twice"] = m
	}
	all["go: metadata"] = llms.Message{Role: llms.RoleUser, Parts: llms.User("KEEP").Parts, Meta: map[string]any{"note": block}}
	all["go: a file"] = llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartText, Text: "KEEP"}, {Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "text/plain", Name: "a.txt", Data: []byte(block)}},
	}}
	return all
}

// TestPrivateForms: nothing of a private block of any form is in the record, in the shown
// text, or in any byte of the database.
func TestPrivateForms(t *testing.T) {
	forms := privateForms()
	if len(forms) < 40 {
		t.Fatalf("only %d forms", len(forms))
	}
	b := newPrivateBed(t, ingest.Privacy{})
	for name, m := range forms {
		t.Run(name, func(t *testing.T) {
			b = b.next(t)
			if done := b.sync(t, m); len(done.Stored) != 1 {
				t.Fatalf("%d messages stored", len(done.Stored))
			}
			kept := b.all(t)[0]
			record, err := b.Record(t.Context(), kept.ID)
			if err != nil {
				t.Fatal(err)
			}
			text, err := b.Text(t.Context(), store.ID{Message: kept.ID})
			if err != nil {
				t.Fatal(err)
			}
			for what, data := range map[string][]byte{"record": record, "text": text, "what is shown": []byte(kept.Body.Render())} {
				if bytes.Contains(data, []byte("HUSH")) || hides(data) {
					t.Errorf("the %s has what is private: %s", what, data)
				}
			}
			if !bytes.Contains(record, []byte("KEEP")) && !strings.HasSuffix(name, "called text") {
				t.Errorf("the record lost what is not private: %s", record)
			}
			if kept.Flags&store.FlagRedacted == 0 {
				t.Error("it is not flagged")
			}
			if again := b.sync(t, m); len(again.Stored) > 0 {
				t.Error("it is stored again")
			}
			b.sound(t)
		})
	}
	b.Close()
	files, err := filepath.Glob(filepath.Join(b.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if at := bytes.Index(data, []byte("HUSH")); err != nil || at >= 0 {
			t.Errorf("%s has what is private: %q, %v", filepath.Base(file), data[max(at-100, 0):min(at+100, len(data))], err)
		}
	}
}

// hides reports whether a string of a record is base64 of private text.
func hides(record []byte) bool {
	for _, s := range strings.FieldsFunc(string(record), func(r rune) bool { return strings.ContainsRune(`",;: \`, r) }) {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			data, _ := e.DecodeString(s)
			if bytes.Contains(bytes.ReplaceAll(data, []byte{0}, nil), []byte("HUSH")) {
				return true
			}
		}
	}
	return false
}

// TestNotPrivate: text about the tag, or similar to it, is stored.
func TestNotPrivate(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{})
	for _, text := range []string{
		"write `<private>` around it", "if a < private && b > c { KEEP }", "<private-note>KEEP</private-note>", "<privateer>KEEP", "</private> KEEP",
		"class X { private: int KEEP; }", "<private/> KEEP", "private KEEP", "<private KEEP", "List<Private.Thing", "x <private(KEEP)> y",
		"var all List<Private> // KEEP", "Dictionary<_<Private> KEEP", "#include <private/KEEP.h>", "{\"a\":\"List<Private>\",\"b\":\"KEEP\"}",
	} {
		b = b.next(t)
		b.sync(t, llms.User(text))
		if got := b.all(t)[0].Body.Render(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
