package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// secret is a made-up key, hush a text marked as private.
const (
	secret = "ghp_q7Zt2Lx9Vb4Nc8Rw1Ks6Hd3Mf5Jg0Pa7Ye2U"
	hush   = "the-name-of-the-client"
)

func newPrivateBed(t *testing.T, p ingest.Privacy) bed {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Open(t.Context(), store.NewConversation{Key: "test", Project: store.Project{Root: "/work/client"}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := ingest.New(db, nil, 500, ingest.WithPrivacy(p))
	if err != nil {
		t.Fatal(err)
	}
	return bed{DB: db, Ingester: in, id: c.ID, dir: dir}
}

// confidential is a history with a secret and a private block in every place
// that a message has.
func confidential(t *testing.T) []llms.Message {
	t.Helper()
	long := strings.Repeat("a line of a long log\n", 200)
	return []llms.Message{
		llms.User("the token is " + secret + " and the client <private>" + hush + "</private>"),
		decode(t, llms.FormatAnthropic, `{"role":"assistant","content":[{"type":"text","text":"use `+secret+`"},{"type":"tool_use","id":"t1","name":"run","input":{"token":"`+secret+`","for":"\u003cprivate\u003e`+hush+`"}}]}`),
		decode(t, llms.FormatAnthropic, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"`+strings.ReplaceAll(long, "\n", `\n`)+secret+`\n<private>`+hush+`</private>\n`+strings.ReplaceAll(long, "\n", `\n`)+`"}]}`),
		decode(t, llms.FormatOpenAI, `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"token\":\"`+secret+`\",\"for\":\"<private>`+hush+`</private>\"}"}}]}`),
		llms.User(long + secret + " <private>" + hush + "</private>" + long),
		llms.User("nothing to hide here"),
	}
}

func (b bed) find(t *testing.T, pattern string) int {
	t.Helper()
	found, err := b.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: pattern, Limit: 50, Everything: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Hits)
}

func TestRedaction(t *testing.T) {
	for _, mode := range []privacy.Mode{"", privacy.Off, privacy.Search, privacy.All} {
		t.Run("redact "+string(mode), func(t *testing.T) {
			b := newPrivateBed(t, ingest.Privacy{Redact: mode})
			history := confidential(t)
			b.sync(t, history...)
			hidden := mode == privacy.Search || mode == privacy.All
			for i, m := range b.all(t) {
				record, err := b.Record(t.Context(), m.ID)
				if err != nil {
					t.Fatal(err)
				}
				if m.Format != llms.FormatText && !json.Valid(record) {
					t.Errorf("message %d: its record is no JSON: %s", i, record)
				}
				text, err := b.Text(t.Context(), store.ID{Message: m.ID})
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(record, []byte(hush)) || bytes.Contains(text, []byte(hush)) {
					t.Errorf("message %d has what is private", i)
				}
				clean := i == len(history)-1
				if marked := bytes.Contains(text, []byte(privacy.PrivateMark)); marked == clean {
					t.Errorf("message %d: marked %v: %.200s", i, marked, text)
				}
				if flagged := m.Flags&store.FlagRedacted != 0; flagged == clean {
					t.Errorf("message %d: flagged %v", i, flagged)
				}
				if got, want := bytes.Contains(record, []byte(secret)), mode != privacy.All && !clean; got != want {
					t.Errorf("message %d: its record has the secret: %v", i, got)
				}
				if got, want := bytes.Contains(text, []byte(secret)), !hidden && !clean; got != want {
					t.Errorf("message %d: it shows the secret: %v", i, got)
				}
				attached, err := b.Attached(t.Context(), m.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range attached {
					p, err := b.Payload(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					data := make([]byte, p.Size)
					if _, err := p.Content.ReadAt(data, 0); err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(data, []byte(hush)) || bytes.Contains(data, []byte(secret)) == hidden {
						t.Errorf("message %d: %s has what it should not", i, id)
					}
				}
			}
			if n := b.find(t, hush); n > 0 {
				t.Errorf("%d messages are found by what is private", n)
			}
			if n := b.find(t, secret); (n == 0) != hidden {
				t.Errorf("%d messages are found by the secret", n)
			}
			if again := b.sync(t, history...); len(again.Stored) > 0 {
				t.Errorf("%d messages are stored again", len(again.Stored))
			}
			if again, err := b.Append(t.Context(), b.id, withIDs(history)...); err != nil || again.Messages[0].Existed {
				t.Errorf("with ids: %+v, %v", again.Messages, err)
			}
			if again, err := b.Append(t.Context(), b.id, withIDs(history)...); err != nil || !again.Messages[0].Existed || !again.Messages[2].Existed {
				t.Errorf("with ids, again: %+v, %v", again.Messages, err)
			}
			b.sound(t)
		})
	}
}

// A record in which only a private block was found shows all that is kept.
func TestPrivateIsNotMasked(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{Redact: privacy.Search})
	b.append(t, decode(t, llms.FormatOpenAI, `{"role":"user","content":"the client <private>`+hush+`</private>"}`))
	if flags := b.all(t)[0].Flags; flags&store.FlagMasked != 0 || flags&store.FlagRedacted == 0 {
		t.Errorf("the flags are %v", flags)
	}
}

func withIDs(ms []llms.Message) []ingest.Input {
	all := ingest.Messages(ms...)
	for i := range all {
		all[i].ID = fmt.Sprintf("id-%d", i)
	}
	return all
}

func TestIgnoredSessionsAreNotStored(t *testing.T) {
	for _, p := range []ingest.Privacy{{IgnoreSessions: []string{"te*"}}, {IgnoreProjects: []string{"/work/*"}}} {
		b := newPrivateBed(t, p)
		if _, err := b.Append(t.Context(), b.id, ingest.Messages(llms.User("hello"))...); !errors.Is(err, ingest.ErrIgnored) {
			t.Errorf("append: %v", err)
		}
		if _, err := b.Sync(t.Context(), b.id, ingest.Messages(llms.User("hello"))); !errors.Is(err, ingest.ErrIgnored) {
			t.Errorf("sync: %v", err)
		}
		if n := len(b.all(t)); n > 0 {
			t.Errorf("%d messages are stored", n)
		}
	}
}

// TestForgottenCleansOnlyIfSomethingWasErased: cleaning is most of an import, and is done again
// when the messages are stored.
func TestForgottenCleansOnlyIfSomethingWasErased(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{Redact: privacy.Search})
	unclean := llms.User("hello")
	unclean.Meta = map[string]any{"no JSON": func() {}}
	forgotten := func() error {
		_, err := b.Forgotten(t.Context(), "test", store.Project{}, ingest.Messages(unclean))
		return err
	}
	if err := forgotten(); err != nil {
		t.Errorf("the message was cleaned: %v", err)
	}
	stored := b.sync(t, llms.User("to be erased, and long enough"))
	if _, err := b.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{stored.Stored[0].ID}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	if err := forgotten(); err == nil {
		t.Error("a message that cannot be cleaned is no error")
	}
}
