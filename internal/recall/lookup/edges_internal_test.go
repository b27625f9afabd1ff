package lookup

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Times are understood as people write them, and a bound that lies between two milliseconds is the later one.
func TestWhen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"now": "2026-03-01T12:30:00Z", "today": "2026-03-01T00:00:00Z", "Yesterday ": "2026-02-28T00:00:00Z",
		"0d": "2026-03-01T12:30:00Z", "1d": "2026-02-28T12:30:00Z", "2w": "2026-02-15T12:30:00Z", "90m": "2026-03-01T11:00:00Z", "0h": "2026-03-01T12:30:00Z",
		"-1d": "", "-1h": "", "1000000d": "", "d": "", "7": "", "2026-02-30": "", "999999d": "-0712-04-04T12:30:00Z",
		"2026-02-19": "2026-02-19T00:00:00Z", "2026-02": "2026-02-01T00:00:00Z", "2026-02-19t08:30+01:00": "2026-02-19T07:30:00Z",
		"2026-02-19T08:30:00.0011Z": "2026-02-19T08:30:00.002Z", "2026-02-19T08:30:00.001Z": "2026-02-19T08:30:00.001Z", "1970-01-01": "1969-12-31T23:59:59.999Z",
	} {
		got, err := when("since", text, now)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %s, %v; want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
	if got, err := when("since", " ", now); err != nil || !got.IsZero() {
		t.Errorf("no bound is %v, %v", got, err)
	}
}

type scoped struct {
	Store
	name string
}

func (s scoped) ScopeName() string { return s.name }

// A cursor goes on where it was made: in no other question, no other scope and no other version.
func TestCursors(t *testing.T) {
	asked := question(scoped{name: "a"}, "grep", "x")
	for _, other := range []string{question(scoped{name: "b"}, "grep", "x"), question(scoped{name: "a"}, "expand", "x"), question(scoped{name: "a"}, "grep", "y")} {
		if _, err := unseal[spot](seal(asked, spot{Done: 1}), other); err == nil {
			t.Error("the cursor of another question was read")
		}
	}
	at := spot{Done: 3, Node: "msg_1", Offset: 4, Size: 5}
	cursor := seal(asked, at)
	if got, err := unseal[spot](cursor, asked); err != nil || got != at {
		t.Errorf("%+v, %v", got, err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(cursor)
	longer := base64.RawURLEncoding.EncodeToString(append(raw, 0))
	older := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), "\x02\x01\x02", "\x02\x01\x01", 1)))
	for _, damaged := range []string{longer, older, cursor[:len(cursor)-4]} {
		if _, err := unseal[spot](damaged, asked); err == nil {
			t.Errorf("%q was read", damaged)
		}
	}
	for at, ok := range map[spot]bool{{}: true, {Done: -1}: false, {Offset: -1}: false, {Done: 1}: false, {Offset: 1}: false} {
		p := page{answer: &recall.ExpandAnswer{}, at: at}
		if _, err := p.fill(t.Context(), func(func(step, error) bool) {}); (err == nil) != ok {
			t.Errorf("%+v of nothing: %v", at, err)
		}
	}
}

// Content that is stored apart is found wherever a message refers to it.
func TestMovedOut(t *testing.T) {
	ref := llms.Part{Ref: &llms.Ref{ID: "file_1"}}
	for name, c := range map[string]struct {
		part llms.Part
		want bool
	}{
		"text": {llms.Part{Text: "file_1"}, false}, "a reference": {ref, true},
		"in a result":    {llms.Part{Result: &llms.ToolResult{Output: []llms.Part{{}, ref}}}, true},
		"no result":      {llms.Part{Result: &llms.ToolResult{Output: []llms.Part{{}}}}, false},
		"arguments":      {llms.Part{Call: &llms.ToolCall{Arguments: "file_1"}}, true},
		"other argument": {llms.Part{Call: &llms.ToolCall{Arguments: "{}"}}, false},
	} {
		if got := MovedOut([]llms.Part{{}, c.part}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	file := []store.PayloadID{"file_1"}
	for name, c := range map[string]struct {
		parts []llms.Part
		files []store.PayloadID
		want  bool
	}{
		"none": {nil, nil, true}, "its own": {[]llms.Part{ref}, file, true}, "one is missing": {[]llms.Part{ref}, nil, false}, "one too many": {nil, file, false},
		"arguments": {[]llms.Part{{Call: &llms.ToolCall{}}}, file, true}, "a call, and one is missing": {[]llms.Part{ref, {Call: &llms.ToolCall{}}}, nil, false},
	} {
		if got := attaches(c.parts, c.files); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

type oneRecord struct {
	Store
	record []byte
	err    error
}

func (o oneRecord) Record(context.Context, store.MessageID) ([]byte, error) { return o.record, o.err }

// A damaged message is shown behind a notice, once, as far as it can be read.
func TestOriginalOfDamagedMessages(t *testing.T) {
	for name, c := range map[string]struct {
		from    oneRecord
		damaged bool // the body
		want    string
	}{
		"whole":       {oneRecord{nil, []byte("record"), nil}, false, "record"},
		"the body":    {oneRecord{nil, []byte("record"), nil}, true, store.DamageNotice + "\nbody"},
		"the record":  {oneRecord{nil, []byte("record"), store.ErrDamaged}, false, store.DamageNotice + "\nrecord"},
		"both":        {oneRecord{nil, nil, store.ErrDamaged}, true, store.DamageNotice + "\nbody"},
		"with notice": {oneRecord{nil, []byte(store.DamageNotice + "\nx"), store.ErrDamaged}, false, store.DamageNotice + "\nx"},
		"unreadable":  {oneRecord{nil, nil, errors.New("disk")}, false, ""},
	} {
		m := store.Message{ID: 1, Format: llms.FormatText, Body: llms.User("body"), Damaged: c.damaged}
		got, err := Original(t.Context(), c.from, m)
		if got != c.want || errors.Is(err, store.ErrDamaged) != strings.HasPrefix(c.want, store.DamageNotice) || (err == nil) != (name == "whole") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What is shown of a match ends with words, and two matches in one word are one.
func TestWholeWords(t *testing.T) {
	got := wholeWords([]byte("the marmalade jar"), [][2]int{{5, 7}, {9, 11}, {14, 15}})
	if want := [][2]int{{4, 13}, {14, 17}}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}

// A turn counts if its prompt matches: "yes" says nothing about the question. One that changed one of the files is as good as its
// best match, and better; one without a match goes.
func TestBestTurns(t *testing.T) {
	var turns []turn
	for _, id := range []store.MessageID{10, 20, 30, 40} {
		turns = append(turns, turn{prompt: store.Message{ID: id}, files: map[string]bool{}})
	}
	turns[0].files["cli/a.go"] = true
	hits := []store.Hit{hit(9, 5), hit(10, 1), hit(19, 2), hit(20, 2.5), hit(30, 2.9), hit(45, 3)}
	var got []store.MessageID
	for _, one := range best(turns, hits, map[string]bool{"cli/a.go": true, "cli/b.go": true}) {
		got = append(got, one.prompt.ID)
	}
	if !slices.Equal(got, []store.MessageID{10, 30, 20}) {
		t.Errorf("the order is %v", got)
	}
	call := llms.Calls("", llms.ToolCall{ID: "1", Name: "Edit", Arguments: `{"file_path":"/tree/cli/a.go","old_string":"x","new_string":"y"}`})
	if files := changed([]store.Message{{Body: call}}); len(files) != 1 || !files["cli/a.go"] {
		t.Errorf("the files are %v", files)
	}
}

func hit(id store.MessageID, score float64) store.Hit {
	return store.Hit{ID: store.ID{Message: id}, Score: score}
}
