package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// corpus reads a text of the corpus that the estimate is measured on.
func corpus(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile("../../llms/tiktoken/testdata/corpus/" + name + ".txt")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// conversation is a round of an agent's work in each shape: a question, an
// answer with a call, and what the tool printed.
func conversation(tb testing.TB, f llms.Format) [][]byte {
	tb.Helper()
	ms := []llms.Message{
		llms.User(corpus(tb, "prose")),
		llms.Calls(corpus(tb, "prose")[:800], llms.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"ledger/ledger.go","limit":200}`}),
		llms.Result("call_1", "", corpus(tb, "go"), false),
	}
	records, err := EncodeAll(f, ms)
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]byte
	for _, r := range records {
		out = append(out, r)
	}
	return out
}

func BenchmarkDecode(b *testing.B) {
	for _, f := range []llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
		b.Run(string(f), func(b *testing.B) {
			records := conversation(b, f)
			b.SetBytes(int64(len(bytes.Join(records, nil))))
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range records {
					if _, err := Decode(f, "", r); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, f := range []llms.Format{llms.FormatLCM, llms.FormatAnthropic, llms.FormatOpenAI} {
		b.Run(string(f), func(b *testing.B) {
			m := llms.User(corpus(b, "go"))
			b.SetBytes(int64(len(m.Parts[0].Text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(f, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEstimate(b *testing.B) {
	for _, name := range []string{"prose", "go", "json", "chinese", "base64"} {
		text := strings.Repeat(corpus(b, name), 4)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				llms.Estimate.Count(text)
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	m := everything()
	b.ReportAllocs()
	for b.Loop() {
		m.Render()
	}
}

func BenchmarkSearchText(b *testing.B) {
	m := everything()
	b.ReportAllocs()
	for b.Loop() {
		m.SearchText()
	}
}

func BenchmarkCarve(b *testing.B) {
	output, err := json.Marshal(strings.Repeat(corpus(b, "go"), 100))
	if err != nil {
		b.Fatal(err)
	}
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x00\x89PNG~?"), 50_000))
	for name, content := range map[string]string{"text": string(output), "image": `"` + image + `"`} {
		record := []byte(`{"role":"tool","content":` + content + `}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(record)))
			for b.Loop() {
				if _, cuts := Carve(record, 1000); len(cuts) != 1 {
					b.Fatal("nothing was cut")
				}
			}
		})
	}
}
