package llms

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// told lists what every shape can carry of a conversation, in order.
func told(ms []Message) []string {
	var list []string
	for _, m := range ms {
		for _, p := range m.Parts {
			switch p.Kind {
			case PartText:
				if p.Text != "" {
					list = append(list, string(m.Role)+": "+p.Text)
				}
			case PartToolCall:
				list = append(list, "call "+p.Call.ID+" "+p.Call.Name+" "+p.Call.Arguments)
			case PartToolResult:
				list = append(list, "result "+p.Result.CallID+" "+(Message{Parts: p.Result.Output}).PlainText())
			}
		}
	}
	for i, s := range list {
		list[i] = strings.ToValidUTF8(s, "\ufffd")
	}
	return list
}

func drawConversation(t *rapid.T) []Message {
	s := func(name string) string { return hostile().Draw(t, name) }
	args := rapid.SampledFrom([]string{"{}", `{"q":"x"}`, `{ "a" : [1, {"b":"\n"}] }`})
	var ms []Message
	for range rapid.IntRange(0, 6).Draw(t, "messages") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			ms = append(ms, User(s("user")))
		case 1:
			ms = append(ms, System(s("system")))
		case 2:
			ms = append(ms, Calls(s("said"), ToolCall{s("id"), s("name"), args.Draw(t, "args")}, ToolCall{s("id"), s("name"), args.Draw(t, "args")}))
		case 3:
			ms = append(ms, Result(s("id"), "", s("output"), rapid.Bool().Draw(t, "error")))
		}
	}
	return ms
}

func TestShapesCarryTheConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := drawConversation(t)
		for _, f := range []Format{FormatAnthropic, FormatOpenAI, FormatLCM} {
			records, err := EncodeAll(f, ms)
			if err != nil {
				t.Fatal(err)
			}
			var back []Message
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
		for _, f := range []Format{FormatAnthropic, FormatOpenAI} {
			records, err := EncodeAll(f, []Message{m})
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
