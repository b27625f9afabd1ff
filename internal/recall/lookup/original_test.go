package lookup_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Where secrets are kept in the record alone, no tool shows them, also not in
// content that is stored apart; where they are kept as they are, nothing is
// changed.
func TestWhatOnlyTheRecordKeepsIsNotOpened(t *testing.T) {
	secret := "ghp_" + "a8Kq2LmX9vRt5WzB7cNd3YpF6gHjS4uE1oQx"
	bulk := strings.Repeat("the crane turned\n", 400)
	said := map[string]llms.Message{
		"text":       llms.User("the token is " + secret + ", keep it"),
		"large text": llms.User(bulk + "the token is " + secret + "\n" + bulk),
		"call": {Role: llms.RoleAssistant, Parts: []llms.Part{
			{Kind: llms.PartText, Text: "I shall push."},
			{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c1", Name: "shell", Arguments: `{"command": "push https://x:` + secret + `@git.example.com"}`}},
		}},
		"large call": {Role: llms.RoleAssistant, Parts: []llms.Part{
			{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c2", Name: "write", Arguments: `{"path": "a", "content": "` + strings.Repeat("the crane turned. ", 400) + secret + `"}`}},
		}},
	}
	for _, mode := range []privacy.Mode{privacy.Off, privacy.Search, privacy.All} {
		f := newFixture(t)
		in, err := ingest.New(f.db, nil, 500, ingest.WithPrivacy(ingest.Privacy{Redact: mode}))
		if err != nil {
			t.Fatal(err)
		}
		c := f.open("s")
		for name, m := range said {
			done, err := in.Append(t.Context(), c, ingest.Messages(m)...)
			if err != nil {
				t.Fatal(err)
			}
			id := done.Messages[0].ID
			a, err := f.Describe(t.Context(), recall.DescribeRequest{ID: idOf(id.String()), Where: recall.Where{Current: c}, MaxTokens: 50_000})
			if err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(a.Content, secret); shown != (mode == privacy.Off) {
				t.Errorf("%s, %s: shown %v\n%.200s", mode, name, shown, a.Content)
			}
			if mode != privacy.Off && !strings.Contains(a.Content, "[redacted: ") {
				t.Errorf("%s, %s: nothing tells that something is missing", mode, name)
			}
			if strings.Contains(name, "large") && strings.Count(a.Content, "the crane turned") < 400 {
				t.Errorf("%s, %s: the rest is gone: %.200s", mode, name, a.Content)
			}
			record, err := f.db.Record(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if kept := strings.Contains(string(record), secret); kept != (mode != privacy.All) {
				t.Errorf("%s, %s: in the record %v", mode, name, kept)
			}
		}
	}
}
