// Package carry measures how many facts of real work a folded view still holds.
//
// Facts are written by people who know a transcript and no view of it. A line of the
// file is {"session", "kind", "fact", "needles", "line", "middle"}: needles are groups of
// phrases, and a text states the fact if it has one phrase of each group. Each session is
// imported and folded as a user gets it, and its view is compared with simpler ways to
// fill the same budget.
package carry

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Options adjust a run.
type Options struct {
	Transcripts string // the directory of SESSION.jsonl
	Facts       string // a file of facts
	Budgets     []int
	Low         float64 // the level that folding aims at, by the budget; 0 is the default
	Views       string  // a directory to write the views to, or empty
	Progress    harness.Progress
}

// Fact is something that somebody who continues the work needs.
type Fact struct {
	Session string     `json:"session"`
	Kind    string     `json:"kind"`
	Fact    string     `json:"fact"`
	Needles [][]string `json:"needles"`
	Middle  bool       `json:"middle"` // it stands in the middle of a turn
}

// In reports whether a text, with its spaces folded and in small letters, states the fact.
func (f Fact) In(text string) bool {
	for _, group := range f.Needles {
		if !slices.ContainsFunc(group, func(n string) bool { return strings.Contains(text, fold(n)) }) {
			return false
		}
	}
	return len(f.Needles) > 0
}

func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// unescape undoes the escaping of summaries.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// Row counts the facts that one way to fill a budget holds.
type Row struct {
	Way    string         `json:"way"`
	Budget int            `json:"budget"`
	Found  int            `json:"found"`
	Kinds  map[string]int `json:"kinds"`
	Middle int            `json:"middle"`
	Few    int            `json:"fewPrompts"` // in sessions of at most five prompts
	Tokens int            `json:"tokens"`     // of all views
	Notes  int            `json:"notes"`      // of the summaries in them
	Least  int            `json:"least"`      // tokens of the smallest view
}

// Report is the result of a run.
type Report struct {
	Facts  int            `json:"facts"`
	Kinds  map[string]int `json:"kinds"`
	Middle int            `json:"middle"`
	Few    int            `json:"fewPrompts"`
	Rows   []Row          `json:"rows"`
}

// Text shows the report as a table.
func (r Report) Text() string {
	var b strings.Builder
	kinds := []string{"instruction", "decision", "file", "open", "result"}
	line := func(way string, budget, found, tokens, notes, least, middle, few int, by map[string]int) {
		fmt.Fprintf(&b, "%-26s %7d %5d", way, budget, found)
		for _, k := range kinds {
			fmt.Fprintf(&b, " %5d", by[k])
		}
		fmt.Fprintf(&b, " %6d %5d %8d %8d %8d\n", middle, few, tokens, notes, least)
	}
	fmt.Fprintf(&b, "%-26s %7s %5s instr  deci  file  open  resu middle  few    tokens    notes    least\n", "", "budget", "facts")
	line("all facts", 0, r.Facts, 0, 0, 0, r.Middle, r.Few, r.Kinds)
	for _, w := range r.Rows {
		line(w.Way, w.Budget, w.Found, w.Tokens, w.Notes, w.Least, w.Middle, w.Few, w.Kinds)
	}
	return b.String()
}

// Measure counts the facts in the views of every session.
func Measure(ctx context.Context, o Options) (Report, error) {
	bySession, order, err := readFacts(o.Facts)
	if err != nil {
		return Report{}, err
	}
	r := Report{Kinds: map[string]int{}}
	rows := map[string]*Row{}
	for _, id := range order {
		facts := bySession[id]
		for n, budget := range o.Budgets {
			o.Progress.Say("%s at %d", id, budget)
			s, err := load(ctx, o, id, budget)
			if err != nil {
				return r, fmt.Errorf("%s: %w", id, err)
			}
			if n == 0 {
				r.count(facts, s.few())
			}
			views, err := s.views(ctx, budget)
			if err != nil {
				return r, fmt.Errorf("%s at %d: %w", id, budget, err)
			}
			for i, v := range views {
				key := fmt.Sprintf("%08d %d", 1e8-budget, i)
				row := cmp.Or(rows[key], &Row{Way: v.way, Budget: budget, Kinds: map[string]int{}})
				rows[key] = row
				row.add(v, facts, s.few())
				if o.Views != "" {
					if err := write(o.Views, id, budget, v, facts); err != nil {
						return r, err
					}
				}
			}
			if err := s.db.Close(); err != nil {
				return r, err
			}
		}
	}
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for k := range rows {
			if !yield(k) {
				return
			}
		}
	}) {
		r.Rows = append(r.Rows, *rows[key])
	}
	return r, nil
}

func (r *Report) count(facts []Fact, few bool) {
	for _, f := range facts {
		r.Facts++
		r.Kinds[f.Kind]++
		r.Middle += one(f.Middle)
		r.Few += one(few)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *Row) add(v view, facts []Fact, few bool) {
	text := fold(unescape.Replace(v.text))
	r.Tokens, r.Notes = r.Tokens+v.tokens, r.Notes+v.notes
	if r.Least == 0 || v.tokens < r.Least {
		r.Least = v.tokens
	}
	for _, f := range facts {
		if f.In(text) {
			r.Found++
			r.Kinds[f.Kind]++
			r.Middle += one(f.Middle)
			r.Few += one(few)
		}
	}
}

// write keeps a view and the facts that it lacks.
func write(dir, id string, budget int, v view, facts []Fact) error {
	text := fold(unescape.Replace(v.text))
	var lost strings.Builder
	for _, f := range facts {
		if !f.In(text) {
			fmt.Fprintf(&lost, "LOST %s middle=%v: %s %q\n", f.Kind, f.Middle, f.Fact, f.Needles)
		}
	}
	name := fmt.Sprintf("%s.%d.%s.txt", id, budget, strings.ReplaceAll(v.way, " ", "-"))
	return os.WriteFile(filepath.Join(dir, name), []byte(lost.String()+"\n"+v.text), 0o600)
}

func readFacts(path string) (by map[string][]Fact, order []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	by = map[string][]Fact{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var fact Fact
		if err := json.Unmarshal(lines.Bytes(), &fact); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if by[fact.Session] == nil {
			order = append(order, fact.Session)
		}
		by[fact.Session] = append(by[fact.Session], fact)
	}
	return by, order, lines.Err()
}

// session is an imported transcript.
type session struct {
	db       store.Store
	engine   *lcm.Engine
	key      string
	messages []store.Message
}

// load imports a transcript into memory.
func load(ctx context.Context, o Options, id string, budget int) (*session, error) {
	db, err := sqlite.Open(ctx, ":memory:", sqlite.Options{})
	if err != nil {
		return nil, err
	}
	engine, err := lcm.New(db, lcm.WithBudget(budget), lcm.WithLowThreshold(o.Low))
	if err != nil {
		return nil, err
	}
	feed, err := hosts.New(engine, all.Hosts(), hosts.Machine{Home: o.Transcripts}, hosts.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	host, err := feed.Host("claude")
	if err != nil {
		return nil, err
	}
	found, err := host.In(ctx, filepath.Join(o.Transcripts, id+".jsonl"))
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, errors.New("no transcript"))
	}
	report, err := feed.CatchUp(ctx, found[0], hosts.Limits{})
	if err != nil {
		return nil, err
	}
	s := &session{db: db, engine: engine, key: found[0].Key()}
	for m, err := range db.Messages(ctx, store.MessageQuery{Conversation: report.Conversation}) {
		if err != nil {
			return nil, err
		}
		s.messages = append(s.messages, m)
	}
	return s, nil
}

func (s *session) few() bool {
	n := 0
	for i := range s.messages {
		n += one(prompt(&s.messages[i]) != "")
	}
	return n <= 5
}

// prompt is the text of a message that the user wrote, or "".
func prompt(m *store.Message) string {
	if !m.Flags.Said() || m.Body.Role != llms.RoleUser || len(m.Body.ToolResults()) > 0 {
		return ""
	}
	return m.Body.PlainText()
}

// view is one way to fill a budget.
type view struct {
	way    string
	text   string
	tokens int
	notes  int
}

func (s *session) views(ctx context.Context, budget int) ([]view, error) {
	session := s.engine.Session(s.key)
	if _, err := session.Compact(ctx, lcm.CompactOptions{Budget: budget}); err != nil {
		return nil, err
	}
	c, err := session.Context(ctx, budget)
	if err != nil {
		return nil, err
	}
	folded := view{way: "lcm", tokens: c.Tokens}
	var b strings.Builder
	for _, m := range c.Messages {
		b.WriteString(m.Render() + "\n")
	}
	for _, it := range c.Items {
		if it.IsSummary() {
			folded.notes += it.Tokens
		}
	}
	folded.text = b.String()
	return append([]view{folded}, s.baselines(budget)...), nil
}
