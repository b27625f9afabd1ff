package jsonl

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/proof/sample"
)

// texts reads a transcript and returns its texts.
func texts(input string) (said []string, torn *Torn, err error) {
	ms, torn, err := Read("in", []byte(input))
	for _, m := range ms {
		said = append(said, m.PlainText())
	}
	return said, torn, err
}

func TestTranscriptLayouts(t *testing.T) {
	const one, two = `{"role":"user","content":"one"}`, `{"role":"assistant","content":"two"}`
	for name, input := range map[string]string{
		"lines":                    one + "\n" + two + "\n",
		"no final line break":      one + "\n" + two,
		"blank lines and CRLF":     "\r\n" + one + "\r\n\r\n" + two + "\r\n",
		"byte order mark":          "\ufeff" + one + "\n" + two,
		"array on a line":          "[" + one + "," + two + "]",
		"array over lines":         "[\n" + one + ",\n" + two + "\n]\n",
		"request on a line":        `{"messages":[` + one + "," + two + "]}",
		"request over lines":       "{\n\"messages\": [\n" + one + ",\n" + two + "\n]\n}",
		"a request a line":         `{"messages":[` + one + "]}\n" + `{"messages":[` + two + "]}\n",
		"messages over lines":      "{\n\"role\":\"user\",\n\"content\":\"one\"\n}\n" + two,
		"an array and then a line": "[" + one + "]\n" + two,
	} {
		said, torn, err := texts(input)
		if err != nil || torn != nil {
			t.Errorf("%s: %v, torn %v", name, err, torn)
		}
		if diff := cmp.Diff([]string{"one", "two"}, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTranscriptThatEndsAnywhere(t *testing.T) {
	lines := bytes.SplitAfter(sample.JSONL(), []byte("\n"))[:12]
	whole := string(bytes.Join(lines, nil))
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(1, len(whole)).Draw(t, "cut")
		said, torn, err := texts(whole[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		complete := 0
		for rest := cut; complete < len(lines) && rest >= len(bytes.TrimRight(lines[complete], "\n")); complete++ {
			rest -= len(lines[complete])
		}
		if len(said) != complete {
			t.Fatalf("cut at %d: read %d messages, %d are complete", cut, len(said), complete)
		}
		if torn != nil && torn.Line != complete+1 {
			t.Fatalf("cut at %d: line %d is said to be torn, it is %d", cut, torn.Line, complete+1)
		}
	})
}

// Of a truncated JSON document on one line the complete messages are read.
func TestOneLineThatEndsAnywhere(t *testing.T) {
	const one, two, three = `{"role":"user","content":"one"}`, `{"role":"assistant","content":"two ] } \" "}`, `{"role":"user","content":"three"}`
	items := []string{one, two, three}
	for name, frame := range map[string][2]string{"array": {"[", "]"}} {
		whole := frame[0] + strings.Join(items, ", ") + frame[1]
		for cut := 1; cut < len(whole); cut++ {
			said, torn, err := texts(whole[:cut])
			if err != nil {
				t.Fatalf("%s cut at %d: %v", name, cut, err)
			}
			complete, end := 0, len(frame[0])
			for complete < len(items) && end+len(items[complete]) <= cut {
				end += len(items[complete]) + len(", ")
				complete++
			}
			if len(said) != complete {
				t.Fatalf("%s cut at %d: read %q, %d are complete", name, cut, said, complete)
			}
			if torn == nil || torn.Line != 1 || torn.Bytes > int64(cut) {
				t.Fatalf("%s cut at %d: torn %+v", name, cut, torn)
			}
		}
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add(`{"role":"user","content":"one"}` + "\n")
	f.Add("[\n{\"role\":\"user\",\"content\":\"one\"},\n{\"role\":")
	f.Add(`{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`)
	f.Add("{\"messages\":\n")
	f.Add(`{"messages":{"messages":[{"role":"user","content":"one"},{`)
	f.Add(`{"system":"s","messages":[{"role":"user","content":"one"}],"messages":[`)
	f.Add("\ufeff[]\n[")
	f.Fuzz(func(t *testing.T, input string) {
		_, _, err := texts(input)
		if err != nil && !errors.As(err, new(*BadRecord)) {
			t.Fatalf("%q: %v is not about a record", input, err)
		}
	})
}
