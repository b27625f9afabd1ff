package teamsync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// sized is a store with messages that have sizes, and records of one byte.
type sized struct {
	store.Store
	sizes []int64
}

func (s sized) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for i, size := range s.sizes {
			seq := int64(i + 1)
			m := store.Message{ID: store.MessageID(seq), Seq: seq, Size: size, Format: llms.FormatText, Body: llms.User("x")}
			m.Body.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
			if seq > q.After && !yield(m, nil) {
				return
			}
		}
	}
}

func (sized) Record(context.Context, store.MessageID) ([]byte, error) { return []byte("x"), nil }

// A batch ends before it grows too large, but holds a message however large it is.
func TestBatchBounds(t *testing.T) {
	for _, c := range []struct {
		name     string
		sizes    []int64
		after    int64
		messages int
		through  int64
	}{
		{"all", []int64{1, 1, 1}, 0, 3, 3},
		{"the rest", []int64{1, 1, 1}, 2, 1, 3},
		{"one beyond the size", []int64{BatchBytes + 1, 1}, 0, 2, 2},
		{"just the size", []int64{1, BatchBytes - 1, 1}, 0, 3, 3},
		{"a byte more", []int64{1, BatchBytes, 1}, 0, 1, 1},
		{"just as many", make([]int64, BatchMessages), 0, BatchMessages, BatchMessages},
		{"one more", make([]int64, BatchMessages+1), 0, BatchMessages, BatchMessages},
	} {
		p := Pusher{Store: sized{sizes: c.sizes}}
		b, _, err := p.batch(t.Context(), identity{}, Source{}, store.Conversation{Messages: int64(len(c.sizes))}, c.after)
		if err != nil || len(b.Messages) != c.messages || b.Through != c.through || b.Mark == "" {
			t.Errorf("%s: %d messages up to %d, mark %q, %v; want %d up to %d", c.name, len(b.Messages), b.Through, b.Mark, err, c.messages, c.through)
		}
	}
}

// The directories of a record are found where each host writes them, and a private one keeps the record here.
func TestDirectories(t *testing.T) {
	for record, want := range map[string][]string{
		`{"cwd":"/a"}`:                            {"/a"},
		`{"directory":"/a"}`:                      {"/a"},
		`{"cwd":"/a","directory":"/b"}`:           {"/a", "/b"},
		`{"cwd":"","payload":{"cwd":"/a"}}`:       {"/a"},
		`{"data":{"path":{"cwd":"/a"}}}`:          {"/a"},
		`{"data":{"path":{"data":{"cwd":"/a"}}}}`: nil,
		`{"message":{"cwd":"/a"}}`:                nil,
		`{"text":"x"}`:                            nil,
		`{"cwd":`:                                 nil,
		`{"payload":{"directory":"/b"},"data":{"path":{"cwd":"/c"}}}`: {"/b", "/c"},
	} {
		if got := directories([]byte(record), 3); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", record, got, want)
		}
	}
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, ".git", "config"), []byte("[remote \"origin\"]\n\turl = https://github.com/acme/app\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]error{"github.com/acme/app": errEntered, "github.com/acme/other": nil} {
		if err := (&Pusher{Private: []string{pattern}}).checkDirectory(fmt.Appendf(nil, `{"cwd":%q}`, repository)); !errors.Is(err, want) {
			t.Errorf("a repository, %s: %v", pattern, err)
		}
	}
	for _, p := range []*Pusher{{Private: []string{"/secret"}}, {Privacy: ingest.Privacy{IgnoreProjects: []string{"/secret"}}}} {
		for _, form := range []string{`{"cwd":%q}`, `{"payload":{"cwd":%q}}`, `{"data":{"path":{"cwd":%q}}}`} {
			for _, dir := range []string{"/secret/x", "/src", "/secret/x"} {
				if err := p.checkDirectory(fmt.Appendf(nil, form, dir)); errors.Is(err, errEntered) != (dir != "/src") {
					t.Errorf("%s in %s: %v", dir, form, err)
				}
			}
		}
	}
}

// An answer to a search is shown if everything in it is what it says it is.
func TestCheckFound(t *testing.T) {
	role := func(r llms.Role) *recall.Context { return &recall.Context{After: []recall.Neighbour{{Role: r}}} }
	for name, c := range map[string]struct {
		recall.GrepAnswer
		ok bool
	}{
		"nothing":     {recall.GrepAnswer{}, true},
		"a match":     {recall.GrepAnswer{Matches: []recall.Match{{Context: role("user")}}, NextCursor: "a=b"}, true},
		"as many":     {recall.GrepAnswer{Matches: make([]recall.Match, maxMatches)}, true},
		"too many":    {recall.GrepAnswer{Matches: make([]recall.Match, maxMatches+1)}, false},
		"odd role":    {recall.GrepAnswer{Matches: []recall.Match{{Context: role("\x1b")}}}, false},
		"odd summary": {recall.GrepAnswer{Matches: []recall.Match{{SummaryID: "a b"}}}, false},
		"odd cover":   {recall.GrepAnswer{Matches: []recall.Match{{CoveredBy: "a b"}}}, false},
		"odd others":  {recall.GrepAnswer{Matches: []recall.Match{{AlsoIn: []store.SummaryID{"a", "a b"}}}}, false},
		"odd files":   {recall.GrepAnswer{Matches: []recall.Match{{FileIDs: []store.PayloadID{"a b"}}}}, false},
		"who it is":   {recall.GrepAnswer{Matches: []recall.Match{{Role: "\x1b"}}}, false},
		"what it is":  {recall.GrepAnswer{Matches: []recall.Match{{Kind: "\x1b"}}}, false},
		"all is well": {recall.GrepAnswer{Matches: []recall.Match{{Role: "user", Kind: "leaf", SummaryID: "sum_1", AlsoIn: []store.SummaryID{"sum_1", "sum_2"}, FileIDs: []store.PayloadID{"file_1"}}}}, true},
	} {
		if err := checkFound(c.GrepAnswer); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
