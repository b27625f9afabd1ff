package recall

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Transcripts is a run over real transcripts of Claude Code.
type Transcripts struct {
	Dir       string // of the transcripts, *.jsonl
	Questions string // a file of JSON lines, see [Asked]
	Record    string // where the database is kept between runs; empty: nowhere
	Ablate    bool   // instead of the text of answers, measure the ranking without each of its parts
	Each      bool   // also say the place of the answer to each question
	Progress  harness.Progress
}

// Asked is a question about transcripts.
type Asked struct {
	Kind    string `json:"kind"` // amended, never, or any other
	Text    string `json:"question"`
	Answers []Said `json:"answers"` // each answers it; of an amendment, the newest
	Gold    string `json:"gold"`    // the answer in words
	Older   []Said `json:"older"`   // what an amendment changed
}

// Said is a message of a transcript.
type Said struct {
	Session string `json:"session"`
	ID      string `json:"uuid"`
}

// Places has how many questions had an answer among the first 1, 5 and 10 results.
type Places [3]int

func (p *Places) count(place int) {
	for i, most := range []int{1, 5, 10} {
		if place > 0 && place <= most {
			p[i]++
		}
	}
}

// WaySearched has the figures of one way of searching.
type WaySearched struct {
	Name     string            `json:"name"`
	Messages Places            `json:"messages"` // the message that answers is found
	Sessions Places            `json:"sessions"` // its session is
	Kinds    map[string]Places `json:"kinds"`    // messages, by kind of question
	Amended  Places            `json:"amended"`  // the newest statement is found
	CPU      float64           `json:"cpuMillis"`
}

// Transcribed is the outcome of such a run.
type Transcribed struct {
	Messages  int            `json:"messages"`
	Questions int            `json:"questions"` // with an answer
	Kinds     map[string]int `json:"kinds"`
	Ways      []WaySearched  `json:"ways"`
	// Shown and Before count the amendments whose newest statement is in the text of an
	// answer, and stands before the older one there. Tokens is the mean length of the text.
	Shown  int `json:"newestInText"`
	Before int `json:"newestBeforeOlder"`
	Given  int `json:"answerInText"`
	Tokens int `json:"textTokens"`
	// Never counts the questions that nothing answers, Named those of them of which a word is
	// said to be absent, and False the others of which one is.
	Never, Named, False int
	Summaries           int     // among the first ten results of all questions
	AskCPU              float64 `json:"askCPUMillis"`
	Parts               []WaySearched
	Lines               []string `json:"-"`
}

// transcribed is a record of transcripts to search.
type transcribed struct {
	*harness.Record
	messages map[string][]store.MessageID // by the id that the transcript gives it
	sessions map[store.MessageID]store.ConversationID
	asked    []Asked
}

// MeasureTranscripts imports the transcripts as `lcm import` does and asks all questions.
func MeasureTranscripts(ctx context.Context, o Transcripts) (r Transcribed, err error) {
	t := &transcribed{messages: map[string][]store.MessageID{}, sessions: map[store.MessageID]store.ConversationID{}}
	if t.asked, err = readAsked(o.Questions); err != nil {
		return r, err
	}
	if t.Record, err = importTranscripts(ctx, o); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, t.Close(ctx)) }()
	docs, err := t.read(ctx)
	if err != nil {
		return r, err
	}
	r.Messages, r.Kinds = len(docs.docs), map[string]int{}
	for _, q := range t.asked {
		r.Kinds[q.Kind]++
	}
	r.Questions, r.Never = len(t.asked)-r.Kinds["never"], r.Kinds["never"]
	plain, err := newBaseline(ctx, docs, "porter unicode61 remove_diacritics 2", orWords)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	for _, w := range []struct {
		name string
		find func(Asked) ([]store.MessageID, error)
	}{
		{"lcm grep", func(q Asked) ([]store.MessageID, error) { return t.grep(ctx, q, &r) }},
		{"plain FTS5", func(q Asked) ([]store.MessageID, error) { return plain.anywhere(q.Text) }},
	} {
		way, lines, err := t.measure(w.name, w.find)
		if err != nil {
			return r, fmt.Errorf("%s: %w", w.name, err)
		}
		r.Ways = append(r.Ways, way)
		if o.Each {
			r.Lines = append(r.Lines, lines...)
		}
	}
	if o.Ablate {
		return r, t.ablate(ctx, &r)
	}
	return r, t.ask(ctx, &r)
}

// ablate measures the ranking without each of its parts.
func (t *transcribed) ablate(ctx context.Context, r *Transcribed) error {
	for _, p := range parts {
		weights := search.DefaultWeights()
		p.remove(&weights)
		without := search.WithWeights(ctx, weights)
		way, _, err := t.measure(p.name, func(q Asked) ([]store.MessageID, error) { return t.grep(without, q, &Transcribed{}) })
		if err != nil {
			return err
		}
		r.Parts = append(r.Parts, way)
	}
	return nil
}

func readAsked(path string) (all []Asked, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q Asked
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("%s: question %d: %w", path, len(all)+1, err)
		}
		all = append(all, q)
	}
	return all, lines.Err()
}

// importTranscripts makes the record, or opens the one that an earlier run kept.
func importTranscripts(ctx context.Context, o Transcripts) (_ *harness.Record, err error) {
	if o.Record != "" {
		if _, err := os.Stat(o.Record); err == nil {
			return harness.Open(ctx, o.Record, sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
		}
	}
	home, err := os.MkdirTemp("", "lcm-bench-home-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	project := filepath.Join(home, ".claude", "projects", "p")
	if err := os.CopyFS(project, os.DirFS(o.Dir)); err != nil {
		return nil, err
	}
	var r *harness.Record
	if o.Record != "" {
		r, err = harness.Open(ctx, o.Record, sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	} else {
		r, err = harness.Temp(ctx, "", sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	}
	if err != nil {
		return nil, err
	}
	feed, err := hosts.New(r.Engine, all.Hosts(), hosts.Machine{Home: home}, hosts.Options{Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = feed.All(ctx, hosts.Filter{}, func(p hosts.Progress) {
			o.Progress.Tell(int64(p.Sessions), int64(p.SessionTotal), "importing transcripts")
		})
	}
	if err == nil {
		_, err = r.Engine.FoldDue(ctx, lcm.FoldOptions{})
	}
	if err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// measure asks every question that has an answer.
func (t *transcribed) measure(name string, find func(Asked) ([]store.MessageID, error)) (w WaySearched, lines []string, err error) {
	w = WaySearched{Name: name, Kinds: map[string]Places{}}
	begun := harness.CPUTime()
	for _, q := range t.asked {
		ids, err := find(q)
		if err != nil {
			return w, nil, fmt.Errorf("%s: %w", q.Text, err)
		}
		if q.Kind == "never" {
			continue
		}
		message, session := t.places(ids, q.Answers)
		w.Messages.count(message)
		w.Sessions.count(session)
		kind := w.Kinds[q.Kind]
		kind.count(message)
		w.Kinds[q.Kind] = kind
		if q.Kind == "amended" {
			w.Amended.count(message)
		}
		lines = append(lines, fmt.Sprintf("%-12s %3d %3d %-10s %s", name, message, session, q.Kind, q.Text))
	}
	w.CPU = harness.Millis(harness.CPUTime()-begun) / float64(max(1, len(t.asked)))
	return w, lines, nil
}

// places returns the places of the first message that is one of the answers, and of the first
// that is of a session with one; 0 is nowhere. A host copies messages into sessions that go
// on from others: a copy is the same message.
func (t *transcribed) places(ids []store.MessageID, answers []Said) (message, session int) {
	in := map[store.ConversationID]bool{}
	right := t.ids(answers)
	for _, id := range right {
		in[t.sessions[id]] = true
	}
	for i, id := range ids {
		if message == 0 && slices.Contains(right, id) {
			message = i + 1
		}
		if session == 0 && in[t.sessions[id]] {
			session = i + 1
		}
	}
	return message, session
}

func (t *transcribed) ids(of []Said) (ids []store.MessageID) {
	for _, s := range of {
		ids = append(ids, t.messages[s.ID]...)
	}
	return ids
}

// read returns the messages that searches see.
func (t *transcribed) read(ctx context.Context) (*corpus, error) {
	docs := &corpus{}
	all, err := t.DB.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		for m, err := range t.DB.Messages(ctx, store.MessageQuery{Conversation: c.ID, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			t.messages[m.Native], t.sessions[m.ID] = append(t.messages[m.Native], m.ID), m.Conversation
			if m.Flags.Said() && !m.Flags.Bookkeeping(m.Body.Role) {
				docs.docs = append(docs.docs, segment.Doc{ID: int64(m.ID), Text: []byte(m.Body.SearchText())})
			}
		}
	}
	return docs, nil
}

// grep asks as `lcm grep --full-text` does.
func (t *transcribed) grep(ctx context.Context, q Asked, r *Transcribed) ([]store.MessageID, error) {
	a, err := t.Engine.Grep(ctx, recall.GrepRequest{Pattern: q.Text, Mode: store.FullText, OrWords: true, Compact: true, Limit: 10, Where: recall.Where{AllConversations: true}})
	var ids []store.MessageID
	for _, m := range a.Matches {
		ids = append(ids, m.ID.Message)
	}
	for _, m := range a.Matches {
		if m.ID.Message == 0 {
			r.Summaries++
		}
	}
	if named := len(a.NotInRecord) > 0; named && q.Kind == "never" {
		r.Named++
	} else if named {
		r.False++
		r.Lines = append(r.Lines, fmt.Sprintf("false        %s %q", q.Text, a.NotInRecord))
	} else if q.Kind == "never" {
		r.Lines = append(r.Lines, "not named    "+q.Text)
	}
	return ids, err
}

// ask asks as `lcm ask` does and looks for the answers in its text.
func (t *transcribed) ask(ctx context.Context, r *Transcribed) error {
	begun := harness.CPUTime()
	for _, q := range t.asked {
		a, err := t.Engine.Ask(ctx, recall.Question{Prompt: q.Text, Output: recall.OutputEvidence, Where: recall.Where{AllConversations: true}})
		if err != nil {
			return fmt.Errorf("%s: %w", q.Text, err)
		}
		text := a.Text()
		r.Tokens += llms.Estimate.Count(text)
		newest, older := t.in(text, q.Answers), t.in(text, q.Older)
		if newest >= 0 && q.Kind != "never" {
			r.Given++
		}
		if q.Kind == "amended" && newest >= 0 {
			r.Shown++
			if older < 0 || newest < older {
				r.Before++
			}
		}
		if q.Kind != "never" && newest < 0 {
			r.Lines = append(r.Lines, fmt.Sprintf("not in text  %-10s %s", q.Kind, q.Text))
		}
	}
	r.Tokens /= max(1, len(t.asked))
	r.AskCPU = harness.Millis(harness.CPUTime()-begun) / float64(max(1, len(t.asked)))
	return nil
}

// in returns where a text first names one of the messages, or -1.
func (t *transcribed) in(text string, said []Said) int {
	first := -1
	for _, id := range t.ids(said) {
		for _, end := range []string{" ", ":", ",", "\n"} {
			if at := strings.Index(text, id.String()+end); at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// Text returns the figures as tables.
func (r Transcribed) Text() string {
	var b strings.Builder
	amended := r.Kinds["amended"]
	fmt.Fprintf(&b, "%d messages; %d questions with an answer, %d of them amended; %d that nothing answers\n\n", r.Messages, r.Questions, amended, r.Never)
	table(&b, r.Ways)
	kinds := slices.SortedFunc(func(yield func(string) bool) {
		for k := range r.Kinds {
			if k != "never" && !yield(k) {
				return
			}
		}
	}, cmp.Compare[string])
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-22s", fmt.Sprintf("%s (%d)", k, r.Kinds[k]))
		for _, w := range r.Ways {
			fmt.Fprintf(&b, " %s %v", w.Name, w.Kinds[k])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nthe text of lcm ask: %d tokens, %.0f ms; the answer is in it %d of %d; amended: newest in it %d of %d, before the older %d\n",
		r.Tokens, r.AskCPU, r.Given, r.Questions, r.Shown, amended, r.Before)
	fmt.Fprintf(&b, "summaries among the first ten results of all questions: %d\n", r.Summaries)
	fmt.Fprintf(&b, "never said: %d of %d recognised, %d of %d others named falsely\n", r.Named, r.Never, r.False, r.Questions)
	if len(r.Parts) > 0 {
		b.WriteString("\nwithout\n")
		table(&b, r.Parts)
	}
	for _, l := range r.Lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func table(b *strings.Builder, ways []WaySearched) {
	fmt.Fprintf(b, "%-24s %-22s %-22s %-22s %s\n", "", "message @1 @5 @10", "session @1 @5 @10", "amended @1 @5 @10", "processor ms")
	for _, w := range ways {
		fmt.Fprintf(b, "%-24s %-22s %-22s %-22s %.0f\n", w.Name, fmt.Sprint(w.Messages), fmt.Sprint(w.Sessions), fmt.Sprint(w.Amended), w.CPU)
	}
}
