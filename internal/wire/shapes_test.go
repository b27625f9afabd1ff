package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/llms"
)

// told lists what every shape can carry of a conversation, in order.
func told(ms []llms.Message) []string {
	var list []string
	for _, m := range ms {
		for _, p := range m.Parts {
			switch p.Kind {
			case llms.PartText:
				if p.Text != "" {
					list = append(list, string(m.Role)+": "+p.Text)
				}
			case llms.PartToolCall:
				list = append(list, "call "+p.Call.ID+" "+p.Call.Name+" "+p.Call.Arguments)
			case llms.PartToolResult:
				list = append(list, "result "+p.Result.CallID+" "+(llms.Message{Parts: p.Result.Output}).PlainText())
			}
		}
	}
	for i, s := range list {
		list[i] = strings.ToValidUTF8(s, "\ufffd")
	}
	return list
}

func drawConversation(t *rapid.T) []llms.Message {
	s := func(name string) string { return hostile().Draw(t, name) }
	args := rapid.SampledFrom([]string{"{}", `{"q":"x"}`, `{ "a" : [1, {"b":"\n"}] }`})
	var ms []llms.Message
	for range rapid.IntRange(0, 6).Draw(t, "messages") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			ms = append(ms, llms.User(s("user")))
		case 1:
			ms = append(ms, llms.System(s("system")))
		case 2:
			ms = append(ms, llms.Calls(s("said"), llms.ToolCall{ID: s("id"), Name: s("name"), Arguments: args.Draw(t, "args")}, llms.ToolCall{ID: s("id"), Name: s("name"), Arguments: args.Draw(t, "args")}))
		case 3:
			ms = append(ms, llms.Result(s("id"), "", s("output"), rapid.Bool().Draw(t, "error")))
		}
	}
	return ms
}

func TestShapesCarryTheConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := drawConversation(t)
		for _, f := range []llms.Format{llms.FormatAnthropic, llms.FormatOpenAI, llms.FormatLCM} {
			records, err := EncodeAll(f, ms)
			if err != nil {
				t.Fatal(err)
			}
			var back []llms.Message
			for _, r := range records {
				if !json.Valid(r) || !utf8.Valid(r) || bytes.ContainsAny(r, "\r\n") {
					t.Fatalf("%s: not one line of JSON: %q", f, r)
				}
				m, err := Decode(f, "", r)
				if err != nil {
					t.Fatal(err)
				}
				back = append(back, m)
			}
			if diff := cmp.Diff(told(ms), told(back)); diff != "" {
				t.Fatalf("%s loses (-before +after):\n%s", f, diff)
			}
		}
	})
}

// Whatever the parts are, a provider's shape comes out as sound JSON.
func TestShapesAreSoundForAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		for _, f := range []llms.Format{llms.FormatAnthropic, llms.FormatOpenAI} {
			records, err := EncodeAll(f, []llms.Message{m})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if !json.Valid(r) || !utf8.Valid(r) || bytes.ContainsAny(r, "\r\n") {
					t.Fatalf("%s: not one line of JSON: %q", f, r)
				}
				if _, err := Decode(f, "", r); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
