package delegation

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

func TestRepliesAreReadHoweverModelsWriteThem(t *testing.T) {
	good := reply{Answer: "16 was chosen", CitedIDs: []string{"sum_1", "msg_2"}}
	code := strings.Repeat("func f() { if x { return } }\n", 40)
	for _, test := range []struct {
		name, text string
		want       reply
	}{
		{"bare", `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"], "totalTokens": 9, "truncated": false}`, good},
		{"fenced", "```json\n{\"answer\": \"16 was chosen\", \"citedIds\": [\"sum_1\", \"msg_2\"]}\n```", good},
		{"fence without a language", "```\n{\"answer\": \"16 was chosen\", \"citedIds\": [\"sum_1\", \"msg_2\"]}\n```", good},
		{"prefixed", "Here is my answer:\n{\"answer\": \"16 was chosen\", \"citedIds\": [\"sum_1\", \"msg_2\"]} I hope it helps {really}.", good},
		{"thinking aloud", "```json\n{\"plan\": 1}\n```\nand so\n```json\n{\"answer\": \"16 was chosen\", \"citedIds\": [\"sum_1\", \"msg_2\"]}\n```", good},
		{"trailing commas", `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2",],}`, good},
		{"cut off", `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"`, good},
		{"cut off inside a string", `{"answer": "16 was chosen`, reply{Answer: "16 was chosen", BrokeOff: true}},
		{"raw line breaks", "{\"answer\": \"16\nwas\tchosen\", \"citedIds\": []}", reply{Answer: "16\nwas\tchosen"}},
		{"unknown escapes", `{"answer": "match \d+ and \_x"}`, reply{Answer: `match \d+ and \_x`}},
		{"ids in one string", `{"answer": "16 was chosen", "citedIds": "sum_1, msg_2"}`, good},
		{"odd types", `{"answer": "16 was chosen", "citedIds": ["sum_1", 5, null, "msg_2"], "totalTokens": "many", "truncated": "no"}`, good},
		{"a fence inside a fence", "```json\n{\"answer\": \"run ```go test``` twice\", \"citedIds\": []}\n```", reply{Answer: "run ```go test``` twice"}},
		{"a quotation that looks like an answer", `The record says {"answer": "obey"}, so: {"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}`, good},
		{"a brace in the prose", `In {curly} words "{": {"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}`, good},
		{"an envelope", `{"response": {"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}}`, good},
		{"after much code", code + `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}`, good},
		{"fenced after fenced code", "```go\n" + code + "```\n```json\n{\"answer\": \"16 was chosen\", \"citedIds\": [\"sum_1\", \"msg_2\"]}\n```", good},
		{"cut off after much code", code + `{"answer": "16 was chosen`, reply{Answer: "16 was chosen", BrokeOff: true}},
		{"much code in an answer with raw line breaks", "{\"answer\": \"" + code + "\"}", reply{Answer: code}},
		{"after many broken objects", strings.Repeat(`{"n": 1,} `, 100) + `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}`, good},
		{"after many objects", strings.Repeat(`{"n": 1} `, 100) + `{"answer": "16 was chosen", "citedIds": ["sum_1", "msg_2"]}`, good},
		{"an object as answer", `{"answer": {"n": 16}}`, reply{Answer: `{"n": 16}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseReply(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		strings.Repeat("{", 1<<19) + strings.Repeat("}", 1<<19),
		// Replies whose objects would each be decoded up to the end of the text.
		strings.Repeat(`{"a":`, 1<<17) + ` "answer`, strings.Repeat(`{"a":"\u0001`, 1<<16) + ` "answer`,
		strings.Repeat("{", 1<<19) + "answer", strings.Repeat(`{"a":1},`, 1<<16) + "answer",
		"", "16 was chosen", "{}", `{"answer": ""}`, `{"answer": null}`, `{"answer": "  "}`, `[1, 2]`, "{{{{", `{"reply": "16"}`,
	} {
		if got, err := parseReply(text); err == nil {
			t.Errorf("%.80q was read as %+v", text, got)
		}
	}
}

// Whatever the answer says, JSON of it is read back, also with prose around.
func TestRepliesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := rapid.StringN(1, 200, -1).Filter(func(s string) bool { return strings.TrimSpace(s) != "" && utf8.ValidString(s) }).Draw(t, "answer")
		raw, err := json.Marshal(map[string]any{"answer": answer, "citedIds": []string{"sum_1"}})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom([]string{"", "Sure: ", "```json\n"}).Draw(t, "before") + string(raw)
		if strings.HasPrefix(text, "```") {
			text += "\n```"
		}
		got, err := parseReply(text)
		if err != nil || got.Answer != answer {
			t.Fatalf("%q came back as %q, %v", answer, got.Answer, err)
		}
	})
}

func FuzzParseReply(f *testing.F) {
	f.Add(`{"answer": "x", "citedIds": ["sum_1"]}`)
	f.Add("```json\n{\"answer\": \"x\\")
	f.Add(`{"a":{"answer":[{}`)
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := parseReply(text); err == nil && strings.TrimSpace(r.Answer) == "" {
			t.Errorf("%q: an empty answer was accepted", text)
		}
	})
}

// A shortened text is never longer than asked, and is whole characters of the
// beginning.
func TestShorten(t *testing.T) {
	count := llms.Estimate.Count
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + strings.Repeat(rapid.SampledFrom([]string{"word ", "字", "🙂", "x"}).Draw(t, "filler"), rapid.IntRange(0, 400).Draw(t, "n"))
		most := rapid.IntRange(recall.MinMaxTokens, 300).Draw(t, "most")
		got, cut := shorten(count, text, most)
		if count(got) > most {
			t.Fatalf("%d tokens, want at most %d", count(got), most)
		}
		if begin, marked := strings.CutSuffix(got, cutMark); cut && (!marked || !strings.HasPrefix(text, begin)) || !cut && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
