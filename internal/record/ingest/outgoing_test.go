package ingest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Titles, messages that are shown and texts lose what the mode says: S a secret, P a private block.
func TestWhatEachModeHides(t *testing.T) {
	const text = "with " + secret + " for <private>" + hush + "</private>"
	left := func(text string) (out string) {
		if strings.Contains(text, secret) {
			out += "S"
		}
		if strings.Contains(text, hush) {
			out += "P"
		}
		return out
	}
	for mode, want := range map[privacy.Mode]struct{ title, shown, clean string }{
		privacy.Off: {"S", "SP", "S"}, privacy.Search: {"", "P", "S"}, privacy.All: {"", "P", ""},
	} {
		p := ingest.Privacy{Redact: mode}
		shown, err := ingest.Shown(p, llms.Message{Role: llms.RoleUser, Parts: llms.User(text).Parts, Raw: llms.Raw{Format: llms.FormatText, Bytes: []byte(text)}})
		if err != nil || shown.Raw.Bytes != nil {
			t.Errorf("%s: %v, shown with the record %q", mode, err, shown.Raw.Bytes)
		}
		in, err := ingest.New(newBed(t, 500).DB, nil, 500, ingest.WithPrivacy(p))
		if err != nil {
			t.Fatal(err)
		}
		got := struct{ title, shown, clean string }{left(ingest.Title(p, text)), left(shown.PlainText()), left(in.Clean(text))}
		if got != want {
			t.Errorf("%s: left are %+v, want %+v", mode, got, want)
		}
		if ingest.Title(p, "plain") != "plain" || in.Clean("plain") != "plain" {
			t.Errorf("%s: a plain text is changed", mode)
		}
	}
	file := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{Name: secret + ".txt", URL: "https://x.io/" + secret}}}}
	if shown, err := ingest.Shown(ingest.Privacy{Redact: privacy.Search}, file); err != nil || left(shown.Parts[0].Blob.Name+shown.Parts[0].Blob.URL) != "" {
		t.Errorf("a file is shown as %+v, %v", shown.Parts[0].Blob, err)
	}
	if _, err := ingest.New(nil, nil, 500); err == nil {
		t.Error("an ingester without a store")
	}
}

// stored returns a message as it is stored, with its record and the content of its first file.
func (b bed) stored(t *testing.T, i int) (m store.Message, rec, file []byte) {
	t.Helper()
	m = b.all(t)[i]
	rec, err := b.Record(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	files, err := b.Attached(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		p, err := b.Payload(t.Context(), files[0])
		if err != nil {
			t.Fatal(err)
		}
		file = make([]byte, p.Size)
		if _, err := p.Content.ReadAt(file, 0); err != nil {
			t.Fatal(err)
		}
	}
	return m, rec, file
}

// A file of lines is masked line by line, and its record keeps what was said.
func TestLinesAreMaskedOneByOne(t *testing.T) {
	for mode, masked := range map[privacy.Mode]bool{privacy.Off: false, privacy.Search: true} {
		b := newPrivateBed(t, ingest.Privacy{Redact: mode})
		for _, last := range []string{"token " + secret, "nothing"} {
			if _, err := b.AppendLines(t.Context(), b.id, ingest.Input{Message: llms.User("a log")}, "a.log", "text/plain", [][]byte{[]byte("first"), []byte(last)}); err != nil {
				t.Fatal(err)
			}
		}
		m, rec, file := b.stored(t, 0)
		if hidden := !bytes.Contains(file, []byte(secret)); hidden != masked || m.Flags&store.FlagMasked != 0 != masked || !bytes.HasPrefix(file, []byte("first\n")) || !bytes.HasSuffix(file, []byte("\n")) {
			t.Errorf("%s: flags %v, %q", mode, m.Flags, file)
		}
		if masked && !bytes.Contains(rec, []byte("a log")) {
			t.Errorf("%s: the record is %q", mode, rec)
		}
		if m, _, file := b.stored(t, 1); m.Flags&store.FlagMasked != 0 || string(file) != "first\nnothing\n" || m.Body.PlainText() != "a log" {
			t.Errorf("%s: without a secret: flags %v, %q", mode, m.Flags, file)
		}
		b.sound(t)
	}
}

// Messages that were stored before masking was switched on are masked later, once.
func TestMaskedLater(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{Redact: privacy.Off})
	b.append(t, llms.User("the token is "+secret), llms.User("nothing to hide"), llms.User(strings.Repeat("a line\n", 900)+secret))
	for i, hides := range []bool{true, false, true} {
		m, rec, _ := b.stored(t, i)
		mask, ok, err := b.Masked(m, rec)
		if ok != hides || err != nil {
			t.Fatalf("message %d: %v, %v", i, ok, err)
		}
		if _, ok, err := b.Masked(m, append(rec, '!')); ok || err != nil {
			t.Errorf("message %d: with another record: %v, %v", i, ok, err)
		}
		if !hides {
			continue
		}
		if mask.ID != m.ID || mask.Row.SHA256 != m.SHA256 || mask.Row.Flags&store.FlagMasked == 0 || strings.Contains(mask.Row.Body.Render(), secret) || len(mask.Payloads) > 0 && bytes.Contains(mask.Payloads[0].Data, []byte(secret)) {
			t.Errorf("message %d: %+v", i, mask)
		}
		again := m
		again.Flags |= store.FlagMasked
		if len(store.Refs(m.Body.Parts)) == 0 {
			if _, ok, err := b.Masked(again, rec); !ok || err != nil { // by rules that found less
				t.Errorf("message %d: masked, and shows a secret: %v, %v", i, ok, err)
			}
		}
		again.Body = *mask.Row.Body
		if _, ok, err := b.Masked(again, rec); ok || err != nil {
			t.Errorf("message %d: masked already: %v, %v", i, ok, err)
		}
		again = m
		again.Flags |= store.FlagErased
		if _, ok, err := b.Masked(again, rec); ok || err != nil {
			t.Errorf("message %d: erased: %v, %v", i, ok, err)
		}
	}
}

// What leaves the machine has no private block, and no secret unless Redact is off.
func TestOutgoing(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{Redact: privacy.Off})
	b.append(t, llms.User("the token is "+secret), llms.User("nothing to hide"), llms.User(strings.Repeat("a line\n", 900)+secret))
	for i, hides := range []bool{true, false, true} {
		m, rec, _ := b.stored(t, i)
		for _, mode := range []privacy.Mode{privacy.Off, privacy.Search, privacy.All} {
			out, changed, err := ingest.Outgoing(ingest.Privacy{Redact: mode}, m, rec)
			if want := hides && mode != privacy.Off; err != nil || changed != want || bytes.Equal(out.Raw.Bytes, rec) == want {
				t.Errorf("message %d, %s: changed is %v, %v", i, mode, changed, err)
			}
			if shows := bytes.Contains(out.Raw.Bytes, []byte(secret)) || strings.Contains(out.PlainText(), secret); shows != (hides && mode == privacy.Off) {
				t.Errorf("message %d, %s: it shows a secret: %v", i, mode, shows)
			}
			if len(store.Refs(out.Parts)) > 0 {
				t.Errorf("message %d, %s: a file is left behind", i, mode)
			}
		}
	}
}

// A message that a user has erased does not come back, however it arrives.
func TestErasedMessagesStayAway(t *testing.T) {
	b := newPrivateBed(t, ingest.Privacy{})
	history := []llms.Message{llms.User("to be erased, and long enough to be known again"), llms.Assistant("kept, and long enough to be known again")}
	history[0].ID, history[1].ID = "one", "two"
	stored := b.sync(t, history...)
	if _, err := b.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{stored.Stored[0].ID}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	if gone, err := b.Forgotten(t.Context(), "test", store.Project{Root: "/work/client"}, ingest.Messages(history...)); err != nil || len(gone) != 2 || !gone[0] || gone[1] {
		t.Errorf("forgotten are %v, %v", gone, err)
	}
	if again := b.sync(t, append(history, llms.User("new"))...); len(again.Stored) != 1 || again.Existing != 2 {
		t.Errorf("a sync stores %d and knows %d", len(again.Stored), again.Existing)
	}
	if again := b.append(t, history[0]); !again[0].Forgotten || !again[0].Existed {
		t.Errorf("an append stores %+v", again)
	}
	if got := b.view(t); got != "kept, and long enough to be known again new" {
		t.Errorf("the view is %q", got)
	}
}
