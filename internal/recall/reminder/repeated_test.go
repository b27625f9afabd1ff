package reminder

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// asking is a turn in which lcm was asked, by each of the ways that an agent has.
func asking(way int, question, source, reply string) []ingest.Input {
	in := func(m llms.Message) ingest.Input { return ingest.Input{Message: m} }
	call := func(name, arguments string) ingest.Input {
		return in(llms.Calls("I'll look it up.", llms.ToolCall{ID: "1", Name: name, Arguments: arguments}))
	}
	asked := in(llms.User(question))
	switch way % 3 {
	case 0:
		return []ingest.Input{asked, call("mcp__lcm__lcm_grep", fmt.Sprintf(`{"pattern":%q}`, question)),
			{Message: llms.Result("1", "", source, false), Flags: store.FlagEcho}, in(llms.Assistant(reply))}
	case 1:
		return []ingest.Input{asked, call("Bash", fmt.Sprintf(`{"command":"lcm grep -F %q"}`, question)), in(llms.Result("1", "Bash", source, false)), in(llms.Assistant(reply))}
	}
	return []ingest.Input{asked, in(llms.User(Block([]Line{{ID: 9, Who: llms.RoleAssistant, Text: source, Conversation: store.Conversation{ID: 3}}}))), in(llms.Assistant(reply))}
}

// TestUseDoesNotWearOut: however often a question was asked, its source is shown, and none
// of the replies that rested on it, which may be wrong.
func TestUseDoesNotWearOut(t *testing.T) {
	for _, tt := range []struct{ said, source, prompt, reply string }{
		{"the tile server is flooded by one customer", "I limited the tile server to 40 requests a second for each key, with a burst of 80.",
			"what limit did we give the tile server for each key?", "The tile server has no limit for each key that I could find."},
		{"die Mahnungen gehen zu früh raus", "Der Lauf zählte Kalendertage. Eine Mahnung geht jetzt 10 Werktage nach der Fälligkeit raus.",
			"wann gehen die Mahnungen nach Fälligkeit raus?", "Die Mahnungen gehen sofort nach der Fälligkeit raus, soweit ich sehe."},
	} {
		db, _ := record(t, history{})
		e, err := lcm.New(db, lcm.WithoutBackground())
		if err != nil {
			t.Fatal(err)
		}
		here := store.Project{Root: "/p"}
		check := func(when string) {
			t.Helper()
			lines, err := For(t.Context(), db, tt.prompt, Options{Project: here, Session: "claude:new"})
			if err != nil || len(lines) != 1 || lines[0].Conversation.Key != "claude:source" {
				t.Errorf("%s: %q: %v, %v", when, tt.prompt, lines, err)
			}
		}
		if err := e.Session("claude:source", lcm.WithProject(here), lcm.WithAgent("claude")).Append(t.Context(), llms.User(tt.said), llms.Assistant(tt.source)); err != nil {
			t.Fatal(err)
		}
		check("at first")
		for n := range 250 {
			s := e.Session(fmt.Sprintf("claude:asked%d", n), lcm.WithProject(here), lcm.WithAgent("claude"))
			if _, err := s.AppendInputs(t.Context(), asking(n, tt.prompt, tt.source, tt.reply)...); err != nil {
				t.Fatal(err)
			}
		}
		check("after many askings")
	}
}

// endingRecord ends the time of a search after a number of reads.
type endingRecord struct {
	*sqlite.DB
	reads int
	end   func()
}

func (r *endingRecord) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	if r.reads--; r.reads < 0 {
		r.end()
	}
	return r.DB.Messages(ctx, q)
}

// TestEndOfTime: what was found when the time is over is shown.
func TestEndOfTime(t *testing.T) {
	db, _ := record(t, history{})
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	here := store.Project{Root: "/p"}
	for n := range 5 {
		if err := e.Session(fmt.Sprintf("claude:%d", n), lcm.WithProject(here)).Append(t.Context(), llms.User("look at the staging proxy"), llms.Assistant(fmt.Sprintf("The staging proxy has port 844%d.", n))); err != nil {
			t.Fatal(err)
		}
	}
	const first = 5 + 3 // reads until the first turn is there: the sessions, its match, the messages before and those after
	for reads := range 17 {
		ctx, cancel := context.WithCancel(t.Context())
		lines, err := For(ctx, &endingRecord{db, reads, cancel}, "which port did we give the staging proxy?", Options{Project: here, Session: "claude:new"})
		cancel()
		if reads >= first && (err != nil || len(lines) == 0 || !strings.Contains(lines[0].Text, "844")) || reads < first && err == nil {
			t.Errorf("after %d reads: %v, %v", reads, lines, err)
		}
	}
}

// countingRecord counts the messages that are read.
type countingRecord struct {
	*sqlite.DB
	read int
}

func (r *countingRecord) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for m, err := range r.DB.Messages(ctx, q) {
			if r.read++; !yield(m, err) {
				return
			}
		}
	}
}

// TestReadsNoMoreThanTheTurn: each message that is read is verified, which a prompt waits for.
func TestReadsNoMoreThanTheTurn(t *testing.T) {
	db, _ := record(t, history{})
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	here := store.Project{Root: "/p"}
	var messages []llms.Message
	for n := range 200 {
		ask, answer := fmt.Sprintf("look at part %d", n), fmt.Sprintf("Part %d is done.", n)
		if n == 100 {
			ask, answer = "look at the staging proxy", "The staging proxy has port 8443."
		}
		messages = append(messages, llms.User(ask), llms.Assistant(answer))
	}
	if err := e.Session("claude:1", lcm.WithProject(here)).Append(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	r := &countingRecord{DB: db}
	lines, err := For(t.Context(), r, "which port did we give the staging proxy?", Options{Project: here, Session: "claude:new"})
	if err != nil || len(lines) == 0 || r.read > 20 {
		t.Errorf("%d messages were read for %v: %v", r.read, lines, err)
	}
}
