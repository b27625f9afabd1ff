package ingest_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// bed is a conversation in a real database.
type bed struct {
	*sqlite.DB
	*ingest.Ingester
	id  store.ConversationID
	dir string
}

func newBed(t testing.TB, threshold int) bed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Open(t.Context(), store.NewConversation{Key: "test"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := ingest.New(db, nil, threshold)
	if err != nil {
		t.Fatal(err)
	}
	return bed{DB: db, Ingester: in, id: c.ID}
}

// next opens another conversation in the database, which takes longer to make.
func (b bed) next(t *testing.T) bed {
	t.Helper()
	c, err := b.DB.Open(t.Context(), store.NewConversation{Key: fmt.Sprint("after ", b.id)})
	if err != nil {
		t.Fatal(err)
	}
	b.id = c.ID
	return b
}

func (b bed) append(t *testing.T, ms ...llms.Message) []store.Appended {
	t.Helper()
	done, err := b.Append(t.Context(), b.id, ingest.Messages(ms...)...)
	if err != nil {
		t.Fatal(err)
	}
	return done.Messages
}

func (b bed) sync(t *testing.T, ms ...llms.Message) ingest.Synced {
	t.Helper()
	done, err := b.Sync(t.Context(), b.id, ingest.Messages(ms...))
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (b bed) all(t *testing.T) []store.Message {
	t.Helper()
	var all []store.Message
	for m, err := range b.Messages(t.Context(), store.MessageQuery{Conversation: b.id}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func (b bed) sound(t *testing.T) {
	t.Helper()
	v, err := b.Verify(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Faults {
		t.Errorf("verify: %+v", f)
	}
}

// view lists the texts of the messages that the view leads to.
func (b bed) view(t *testing.T) string {
	t.Helper()
	v, err := b.View(t.Context(), b.id, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, it := range v.Items {
		texts = append(texts, b.below(t, it.ID)...)
	}
	return strings.Join(texts, " ")
}

func (b bed) below(t *testing.T, n store.ID) []string {
	t.Helper()
	var texts []string
	if !n.IsSummary() {
		for m, err := range b.Messages(t.Context(), store.MessageQuery{IDs: []store.MessageID{n.Message}}) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, m.Body.PlainText())
		}
		return texts
	}
	sources, err := b.Sources(t.Context(), n.Summary)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		texts = append(texts, b.below(t, s)...)
	}
	return texts
}

// fold replaces the n oldest items of the view with a summary.
func (b bed) fold(t *testing.T, n int) {
	t.Helper()
	v, err := b.View(t.Context(), b.id, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	err = b.Update(t.Context(), b.id, func(w store.Writer) error {
		_, err := w.Fold(t.Context(), store.NewSummary{
			Over:    v.Items[:min(n, len(v.Items))],
			Wording: store.Wording{Body: "what was said", Tokens: 3, Level: summary.Normal, Method: "extractive"},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, f llms.Format, record string) llms.Message {
	t.Helper()
	m, err := wire.Decode(f, "", []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheRecordIsKeptWhateverIsMovedOutOfIt(t *testing.T) {
	long := strings.Repeat("error: connection refused by 10.0.0.1:5432\n", 2000)
	escaped := strings.ReplaceAll(long, "\n", `\n`)
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	cases := map[string]llms.Message{
		"plain text":            llms.User("hello"),
		"empty":                 llms.User(""),
		"invalid UTF-8":         llms.User("a\xffb\x00c"),
		"long plain text":       llms.User(long),
		"long invalid UTF-8":    llms.User(long + "\xff\xfe"),
		"tool call":             llms.Calls("let me look", llms.ToolCall{ID: "c1", Name: "shell", Arguments: `{"cmd":"ls"}`}),
		"long tool result":      llms.Result("c1", "shell", long, true),
		"image":                 {Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n123")}}}},
		"metadata":              {Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: "x"}}, Meta: map[string]any{"a": 1.0}},
		"openai long result":    decode(t, llms.FormatOpenAI, `{"role":"tool","tool_call_id":"c1","content":"`+escaped+`"}`),
		"openai image":          decode(t, llms.FormatOpenAI, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+png+`"}}]}`),
		"anthropic long result": decode(t, llms.FormatAnthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"`+escaped+`"}]}`),
		"anthropic image":       decode(t, llms.FormatAnthropic, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png+`"}}]}`),
		"anthropic long write":  decode(t, llms.FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"write","input":{"path":"a.txt","content":"`+escaped+`"}}]}`),
		"openai long write":     decode(t, llms.FormatOpenAI, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"write","arguments":"{\"path\":\"a.txt\",\"content\":\"`+strings.ReplaceAll(escaped, `\n`, `\\n`)+`\"}"}}]}`),
		"long list of numbers":  llms.Calls("", llms.ToolCall{ID: "c1", Name: "plot", Arguments: `{"all":[` + strings.Repeat("1234567,", 9000) + `8]}`}),
		"long broken arguments": llms.Calls("", llms.ToolCall{ID: "c1", Name: "plot", Arguments: long}),
		"odd escapes":           decode(t, llms.FormatOpenAI, `{"role":"user","content":"`+strings.Repeat(`\u0041\/\u00e9`, 9000)+`"}`),
	}
	for name, m := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 1000)
			original := m.Raw.Bytes
			if original == nil {
				var err error
				if original, err = wire.Encode(llms.FormatText, m); err != nil {
					if original, err = wire.Encode(llms.FormatLCM, m); err != nil {
						t.Fatal(err)
					}
				}
			}
			b.append(t, m)
			got, err := b.Record(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, original) {
				t.Fatalf("%d bytes came back of %d", len(got), len(original))
			}
			stored := b.all(t)[0]
			if stored.Tokens > 1200 {
				t.Errorf("the view would show %d tokens of it", stored.Tokens)
			}
			if !strings.Contains(name, "long") && !strings.Contains(name, "image") && name != "odd escapes" {
				stored.Body.Time, stored.Body.ID = m.Time, m.ID
				if !wire.Equal(stored.Body, m) {
					t.Errorf("the message came back as %+v", stored.Body)
				}
			}
			b.sound(t)
		})
	}
}

// Text of exactly the threshold stays in the conversation, and one token more leaves it.
func TestTheThresholdItself(t *testing.T) {
	const threshold = 1000
	b := newBed(t, threshold)
	text := strings.Repeat("word ", threshold/2)
	for llms.Estimate.Count(text) < threshold {
		text += "w "
	}
	if n := llms.Estimate.Count(text); n != threshold {
		t.Fatalf("the text has %d tokens", n)
	}
	b.append(t, llms.User(text), llms.User(text+" and more"))
	if all := b.all(t); all[0].Body.Parts[0].Ref != nil || all[1].Body.Parts[0].Ref == nil {
		t.Errorf("references: %v and %v", all[0].Body.Parts[0].Ref, all[1].Body.Parts[0].Ref)
	}
}

func TestLargeContentIsStoredOnce(t *testing.T) {
	b := newBed(t, 1000)
	var long strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&long, "%x ", i*2654435761) // does not compress to nothing
	}
	record := `{"role":"tool","tool_call_id":"c1","content":"` + long.String() + `"}`
	b.append(t, decode(t, llms.FormatOpenAI, record))
	m := b.all(t)[0]
	ref := m.Body.Parts[0].Result.Output[0].Ref
	if ref == nil {
		t.Fatal("the output was not externalised")
	}
	b.append(t, llms.User(long.String()))
	second := b.all(t)[1].Body.Parts[0].Ref
	if second == nil || second.ID != ref.ID {
		t.Errorf("the same content has references %v and %v", ref, second)
	}
	p, err := b.Payload(t.Context(), store.PayloadID(ref.ID))
	if err != nil {
		t.Fatal(err)
	}
	if p.Size != int64(long.Len()) || p.Summary == "" || p.Tokens < 1000 {
		t.Errorf("payload: %d bytes, %d tokens, summary %q", p.Size, p.Tokens, p.Summary)
	}
	twice := llms.Part{Kind: llms.PartText, Text: "again " + long.String()}
	b.append(t, llms.Message{Role: llms.RoleUser, Parts: []llms.Part{twice, twice}})
	if files, err := b.Attached(t.Context(), b.all(t)[2].ID); err != nil || len(files) != 1 {
		t.Errorf("a message with one content twice has the payloads %v (%v)", files, err)
	}
}

func TestOwnAnswersAreTagged(t *testing.T) {
	b := newBed(t, 1000)
	b.append(t,
		llms.Result("c1", "lcm_grep", "3 matches", false),
		llms.Result("c2", "mcp__lcm__lcm_describe", "a summary", false),
		llms.Result("c3", "shell", "lcm_grep", false),
		llms.User("<lcm-context>earlier…</lcm-context>"),
		llms.User("what does <lcm-context> mean?"),
		llms.Message{Role: llms.RoleSystem, Parts: []llms.Part{{Kind: llms.PartOther, Extra: []byte(`{"type":"hook_note","content":["<lcm-context source=\"lcm\">"]}`)}}},
		llms.Message{Role: llms.RoleSystem, Parts: []llms.Part{{Kind: llms.PartOther, Extra: []byte(`{}`)}}},
		llms.Calls("", llms.ToolCall{ID: "c4", Name: "lcm_grep", Arguments: "{}"}),
		llms.Calls("", llms.ToolCall{ID: "c5", Name: "shell", Arguments: "{}"}),
		llms.Calls("let me search", llms.ToolCall{ID: "c6", Name: "lcm_grep", Arguments: "{}"}),
		llms.Message{Role: llms.RoleUser})
	var flags []bool
	for _, m := range b.all(t) {
		flags = append(flags, m.Flags&store.FlagEcho != 0)
	}
	if fmt.Sprint(flags) != "[true true false true false true false true false false false]" {
		t.Errorf("echo flags are %v", flags)
	}
}

func TestBadMessagesAreRefused(t *testing.T) {
	b := newBed(t, 1000)
	_, err := b.Append(t.Context(), b.id, ingest.Messages(llms.User("fine"), llms.Message{Role: "robot"})...)
	if err == nil || !strings.Contains(err.Error(), "robot") || !strings.Contains(err.Error(), "message 2 of 2") {
		t.Errorf("got %v", err)
	}
	if n := len(b.all(t)); n != 0 {
		t.Errorf("%d messages were stored of a batch that was refused", n)
	}
	if _, err := ingest.New(b.DB, nil, 10); err == nil {
		t.Error("a threshold of 10 tokens was accepted")
	}
}
