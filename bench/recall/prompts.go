package recall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/recall/reminder"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// sessionsOfRecall are the steps of the curve.
var sessionsOfRecall = []int{0, 30, 60, 120, 180}

// Step has the figures of the prompt hook after a number of sessions of recall.
type Step struct {
	Sessions int     `json:"sessions"`
	Useful   int     `json:"useful"` // prompts with an answer whose lines have it, or its exchange
	Noise    int     `json:"noise"`  // prompts without one that get lines
	CPU      float64 `json:"cpuMillis"`
}

// Curve is what the prompt hook gives as sessions are added in which an agent only asked
// lcm something and answered.
type Curve struct {
	Prompts int      `json:"prompts"` // with an answer
	Others  int      `json:"others"`
	Steps   []Step   `json:"steps"`
	Lines   []string `json:"-"`
}

// Text returns the curve as a table.
func (c Curve) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sessions of recall  useful of %d  noise of %d  processor ms a prompt\n", c.Prompts, c.Others)
	for _, s := range c.Steps {
		fmt.Fprintf(&b, "%18d  %12d  %11d  %21.0f\n", s.Sessions, s.Useful, s.Noise, s.CPU)
	}
	for _, l := range c.Lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// MeasurePrompts gives prompts to the prompt hook, on a copy of the record of transcripts.
// prompts is a file like that of the questions. The sessions of recall ask one of the
// questions, and every second time one of the prompts.
func MeasurePrompts(ctx context.Context, o Transcripts, prompts string) (c Curve, err error) {
	dir, err := os.MkdirTemp("", "lcm-bench-prompts-*")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t, err := copyRecord(ctx, o, dir)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, t.Close(ctx)) }()
	t.messages, t.sessions = map[string][]store.MessageID{}, map[store.MessageID]store.ConversationID{}
	if t.asked, err = readAsked(prompts); err != nil {
		return c, err
	}
	questions, err := readAsked(o.Questions)
	if err != nil {
		return c, err
	}
	if _, err = t.read(ctx); err != nil {
		return c, err
	}
	useful := slices.DeleteFunc(slices.Clone(t.asked), func(q Asked) bool { return len(q.Answers) == 0 })
	c.Prompts, c.Others = len(useful), len(t.asked)-len(useful)
	made := 0
	for _, sessions := range sessionsOfRecall {
		var ask []Asked
		for ; made < sessions; made++ {
			from := [][]Asked{useful, questions}[made%2]
			ask = append(ask, from[made/2%len(from)])
		}
		if err := t.recallSessions(ctx, dir, made, ask); err != nil {
			return c, fmt.Errorf("add sessions of recall: %w", err)
		}
		s, lines, err := t.remind(ctx, made)
		if err != nil {
			return c, err
		}
		if c.Steps = append(c.Steps, s); o.Each {
			c.Lines = append(c.Lines, lines...)
		}
	}
	return c, nil
}

// copyRecord makes the record of transcripts, if there is none, and opens a copy.
func copyRecord(ctx context.Context, o Transcripts, dir string) (*transcribed, error) {
	if o.Record == "" {
		o.Record = filepath.Join(dir, "made.db")
	}
	r, err := importTranscripts(ctx, o)
	if err == nil {
		err = r.Close(ctx)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(o.Record)
	}
	path := filepath.Join(dir, "lcm.db")
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return nil, err
	}
	r, err = harness.Open(ctx, path, sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	return &transcribed{Record: r}, err
}

// project is the one with most messages.
func (t *transcribed) project(ctx context.Context) (in store.Project, err error) {
	list, err := t.DB.Conversations(ctx, store.ConversationQuery{})
	counts := map[store.Project]int64{}
	for _, c := range list {
		if counts[c.Project] += c.Messages; counts[c.Project] > counts[in] {
			in = c.Project
		}
	}
	return in, err
}

// remind gives every prompt to the hook.
func (t *transcribed) remind(ctx context.Context, sessions int) (s Step, notes []string, err error) {
	s.Sessions = sessions
	in, err := t.project(ctx)
	if err != nil {
		return s, nil, err
	}
	begun := harness.CPUTime()
	for _, q := range t.asked {
		lines, err := reminder.For(ctx, t.DB, q.Text, reminder.Options{Project: in, Session: "claude:now"})
		if err != nil {
			return s, nil, fmt.Errorf("%s: %w", q.Text, err)
		}
		noted := ""
		switch helped, err := t.helps(ctx, lines, q.Answers); {
		case err != nil:
			return s, nil, err
		case helped:
			s.Useful++
		case len(q.Answers) > 0:
			noted = "not helped"
		case len(lines) > 0:
			s.Noise++
			noted = "noise"
		}
		if noted != "" {
			notes = append(notes, fmt.Sprintf("%3d %-10s %s %.300v", sessions, noted, q.Text, lines))
		}
	}
	s.CPU = harness.Millis(harness.CPUTime()-begun) / float64(max(1, len(t.asked)))
	return s, notes, nil
}

// helps reports whether a line is of the exchange of an answer: a prompt and what followed it.
func (t *transcribed) helps(ctx context.Context, lines []reminder.Line, answers []Said) (bool, error) {
	right := t.ids(answers)
	for _, l := range lines {
		in, cited := false, false // the exchange has an answer, or the message of the line
		for m, err := range t.DB.Messages(ctx, store.MessageQuery{Conversation: l.Conversation.ID, NoRaw: true}) {
			if err != nil {
				return false, err
			}
			if m.Body.Role == llms.RoleUser && m.Flags.Said() {
				in, cited = false, false
			}
			in, cited = in || slices.Contains(right, m.ID), cited || m.ID == l.ID
			if in && cited {
				return true, nil
			}
		}
	}
	return false, nil
}

// recallSessions imports sessions of Claude Code, each with a question that lcm answered.
// number is that of the last one.
func (t *transcribed) recallSessions(ctx context.Context, dir string, number int, asked []Asked) error {
	in, err := t.project(ctx)
	if err != nil || len(asked) == 0 {
		return err
	}
	for i, q := range asked {
		a, err := t.Engine.Ask(ctx, recall.Question{Prompt: q.Text, Output: recall.OutputEvidence, Where: recall.Where{AllConversations: true}})
		if err != nil {
			return err
		}
		text := recallSession(number-len(asked)+i, in.Root, q, a.Text())
		path := filepath.Join(dir, ".claude", "projects", "p", fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", number-len(asked)+i))
		if err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			return err
		}
	}
	feed, err := hosts.New(t.Engine, all.Hosts(), hosts.Machine{Home: dir}, hosts.Options{Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = feed.All(ctx, hosts.Filter{}, nil)
	}
	return errors.Join(err, t.DB.Reindex(ctx))
}

// recallSession is a transcript of Claude Code: a prompt, calls of lcm in the ways that
// agents have, and an answer.
func recallSession(n int, cwd string, q Asked, result string) []byte {
	session := fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)
	calls := [][2]string{
		{"mcp__lcm__lcm_grep", fmt.Sprintf(`{"pattern":%q}`, q.Text)},
		{"mcp__lcm__lcm_expand_query", fmt.Sprintf(`{"prompt":%q}`, q.Text)},
		{"Bash", fmt.Sprintf(`{"command":%q,"description":"Ask the record"}`, "lcm ask "+fmt.Sprintf("%q", q.Text))},
	}
	call := calls[n%len(calls)]
	id := fmt.Sprintf("toolu_%08d", n)
	type object = map[string]any
	contents := []any{
		q.Text,
		[]object{{"type": "text", "text": "I'll look that up in the earlier sessions."}, {"type": "tool_use", "id": id, "name": call[0], "input": json.RawMessage(call[1])}},
		[]object{{"type": "tool_result", "tool_use_id": id, "content": result}},
		[]object{{"type": "text", "text": "From the earlier sessions: " + q.Gold + "."}},
	}
	var out bytes.Buffer
	var parent any
	for i, content := range contents {
		role := []string{"user", "assistant"}[i%2]
		uuid := fmt.Sprintf("%08d-0000-4000-9000-%012d", n, i)
		line, _ := json.Marshal(object{"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": cwd, "version": "2.1.29",
			"timestamp": time.Date(2026, 2, 3, 12, n, i, 0, time.UTC).Format(time.RFC3339), "message": object{"role": role, "content": content}})
		out.Write(append(line, '\n'))
		parent = uuid
	}
	return out.Bytes()
}
