package hosts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A title is the first line of a prompt, of at most 80 characters.
func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo": "one", strings.Repeat("ü", 80): strings.Repeat("ü", 80), strings.Repeat("ü", 81): strings.Repeat("ü", 79) + "…",
	} {
		if got := firstLine(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	user, tool := llms.User("hello"), llms.Result("c1", "ls", "hello", false)
	for name, c := range map[string]struct {
		m     llms.Message
		flags store.Flag
		want  bool
	}{
		"a prompt": {user, 0, true}, "nothing": {llms.User(""), 0, false}, "an answer": {llms.Assistant("hello"), 0, false}, "a result": {tool, 0, false},
		"the program": {user, store.FlagSynthetic, false},
	} {
		if prompt(c.m, c.flags) != c.want {
			t.Errorf("%s is a prompt: %v", name, !c.want)
		}
	}
}

// A record without a time has that of the one before, and only results of lcm's own tools are echoes.
func TestNote(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c cursor
	result := func(ids ...string) llms.Message {
		m := llms.Message{Role: llms.RoleTool}
		for _, id := range ids {
			m.Parts = append(m.Parts, llms.Result(id, "", "x", false).Parts...)
		}
		return m
	}
	timed := llms.Calls("", llms.ToolCall{ID: "own", Name: toolname.Grep}, llms.ToolCall{ID: "own2", Name: toolname.Grep}, llms.ToolCall{ID: "other", Name: "ls"})
	timed.Time = at
	for i, one := range []struct {
		m    llms.Message
		echo bool
	}{
		{timed, false}, {result("other"), false}, {result("own", "other"), false}, {result("own2"), true}, {result("own2"), false},
	} {
		rec := Record{Input: ingest.Input{Message: one.m}}
		if c.note(&rec); rec.Flags&store.FlagEcho != 0 != one.echo || !rec.Time.Equal(at) {
			t.Errorf("record %d: echo %v, at %v", i, !one.echo, rec.Time)
		}
	}
	for i := range maxOwn + 1 {
		c.note(&Record{Input: ingest.Input{Message: llms.Calls("", llms.ToolCall{ID: fmt.Sprint(i), Name: toolname.Grep})}})
	}
	if len(c.Own) != maxOwn || c.Own[0] != "1" || c.Own[maxOwn-1] != fmt.Sprint(maxOwn) {
		t.Errorf("%d calls are remembered, from %s on", len(c.Own), c.Own[0])
	}
}

// A reading ends at its limits.
func TestSpent(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		limit, read int64
		deadline    time.Time
		want        bool
	}{
		"no limits": {0, 9, time.Time{}, false}, "enough": {9, 9, time.Time{}, true}, "not enough": {9, 8, time.Time{}, false},
		"in time": {0, 9, now.Add(1), false}, "late": {0, 9, now, true},
	} {
		r := reading{feed: &Feed{options: Options{Clock: func() time.Time { return now }}}, limits: Limits{Bytes: c.limit}, report: Report{Counts: Counts{Bytes: c.read}}, deadline: c.deadline}
		if r.spent() != c.want {
			t.Errorf("%s: spent %v", name, !c.want)
		}
	}
}

func TestSameProject(t *testing.T) {
	for _, c := range []struct {
		a, b store.Project
		want bool
	}{
		{store.Project{}, store.Project{}, false}, {store.Project{Root: "/a"}, store.Project{Root: "/a"}, true}, {store.Project{Root: "/a"}, store.Project{Root: "/b"}, false},
		{store.Project{Origin: "o", Root: "/a"}, store.Project{Origin: "o", Root: "/b"}, true}, {store.Project{Origin: "o", Root: "/a"}, store.Project{Origin: "p", Root: "/b"}, false},
	} {
		if sameProject(c.a, c.b) != c.want {
			t.Errorf("%+v and %+v are one project: %v", c.a, c.b, !c.want)
		}
	}
	all := []Transcript{{Session: "s/b", Parent: "s"}, {Session: "s/a", Parent: "a longer name"}, {Session: "s"}}
	slices.SortStableFunc(all, ParentsFirst)
	if got := all[0].Session + " " + all[1].Session + " " + all[2].Session; got != "s s/b s/a" {
		t.Errorf("parents come first: %s", got)
	}
}

// listing is a host with transcripts, one of which may be unreadable, and with records that name a directory
// from one of them on.
type listing struct {
	Host
	sessions []string
	dir      int
}

func (l listing) Transcripts(context.Context, Installation) iter.Seq2[Transcript, error] {
	return func(yield func(Transcript, error) bool) {
		for _, s := range l.sessions {
			var err error
			if s == "broken" {
				err = errors.New("unreadable")
			}
			if !yield(Transcript{Session: s}, err) {
				return
			}
		}
	}
}

func (l listing) Read(context.Context, Transcript, Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for n := 1; ; n++ {
			rec := Record{}
			if n >= l.dir {
				rec.Dir = "/here"
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// A session is found beside files that cannot be read; if none can, that is the problem.
func TestFindSession(t *testing.T) {
	for _, c := range []struct {
		sessions []string
		id, want string
	}{
		{[]string{"a", "b"}, "b", "<nil>"}, {[]string{"broken", "b"}, "b", "<nil>"}, {[]string{"a", "broken"}, "b", ErrNoTranscript.Error()}, {[]string{"broken"}, "b", "unreadable"},
		{nil, "b", ErrNoTranscript.Error()}, {[]string{""}, "", ErrNoTranscript.Error()}, {[]string{"broken"}, "broken", "unreadable"},
	} {
		if got, err := FindSession(t.Context(), listing{sessions: c.sessions}, Installation{}, c.id); !strings.Contains(fmt.Sprint(err), c.want) || err == nil && got.Session != c.id {
			t.Errorf("%q among %q: %q, %v", c.id, c.sessions, got.Session, err)
		}
	}
}

// The directory of a session is looked for in its first records, where it is not known.
func TestPeek(t *testing.T) {
	for name, c := range map[string]struct {
		t    Transcript
		c    cursor
		dir  int
		want string
	}{
		"the first record": {dir: 1, want: "/here"}, "the last that is read": {dir: peeked, want: "/here"}, "a later one": {dir: peeked + 1},
		"known": {t: Transcript{Dir: "/there"}, dir: 1, want: "/there"}, "known before": {t: Transcript{Dir: "/there"}, c: cursor{Dir: "/then"}, dir: 1, want: "/then"},
		"a session without one": {c: cursor{Conversation: 1}, dir: 1},
	} {
		if got := (&Feed{}).peek(t.Context(), listing{dir: c.dir}, c.t, c.c); got.Dir != c.want {
			t.Errorf("%s: %q, want %q", name, got.Dir, c.want)
		}
	}
}
