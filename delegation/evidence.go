package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/index"
	"github.com/lossless-context/lcm/store"
)

// maxText bounds how much of one message is looked through.
const maxText = 4 << 20

// evidence answers with the best verbatim passages: messages in the order in
// which search ranks them for the question, whole where they are short and
// their best part where they are long, until the cap is reached.
func (d *Delegation) evidence(ctx context.Context, r Request, p *plan, why string) (Answer, error) {
	hits, err := d.rank(ctx, r, p)
	if err != nil {
		return Answer{}, err
	}
	if len(hits) == 0 {
		return nothing(r, p), nil
	}
	e := &extract{Delegation: d, cap: r.MaxTokens}
	e.query, err = index.ParseQuery(r.Prompt + " " + r.Query)
	if err != nil && !errors.Is(err, index.ErrNoWords) {
		return Answer{}, err
	}
	if err := e.choose(ctx, hits); err != nil {
		return Answer{}, err
	}
	a := e.answer()
	a.Method, a.Reason, a.Scope = MethodEvidence, why, p.scope
	a.Notes = append(append([]string{}, p.notes...), a.Notes...)
	a.ExpandedSummaryCount, err = d.covering(ctx, e.passages)
	return a, err
}

// passage is a message, or the best part of one.
type passage struct {
	rank  int
	msg   store.Message
	text  string
	whole bool
	cost  int
}

// extract chooses passages under a cap.
type extract struct {
	*Delegation
	query    *index.Query
	cap      int
	used     int
	read     int // tokens
	left     int // messages that did not fit
	passages []passage
}

// choose takes candidates in order until the cap is reached. A passage that
// does not fit is passed over for shorter ones behind it, but not for long:
// they are ever less about the question.
func (e *extract) choose(ctx context.Context, all []candidate) error {
	const patience = 12
	misses := 0
	for rank, c := range all {
		ok, err := e.add(ctx, c.msg, rank)
		switch {
		case err != nil:
			return err
		case ok:
			misses = 0
		default:
			misses++
		}
		if misses == patience {
			e.left += len(all) - rank - 1
			break
		}
	}
	return nil
}

// add takes a message if there is room for it.
func (e *extract) add(ctx context.Context, m store.Message, rank int) (bool, error) {
	text, err := e.textOf(ctx, m)
	if err != nil {
		return false, err
	}
	e.read += e.count(text)
	p := passage{rank: rank, msg: m}
	p.text, p.whole = e.part(text, rank)
	if p.text == "" {
		return true, nil // says nothing: no reason to give up
	}
	p.cost = e.count(line(p)) + 1
	if e.used+p.cost+headerCost > e.cap {
		e.left++
		return false, nil
	}
	e.used += p.cost + e.headers(p)
	e.passages = append(e.passages, p)
	return true, nil
}

// textOf is everything that a message says, payloads included.
func (e *extract) textOf(ctx context.Context, m store.Message) (string, error) {
	if plain := m.Body.PlainText(); len(m.Body.Parts) == 1 && plain != "" {
		return plain, nil
	}
	b, err := e.config.Store.Text(ctx, store.Node{Message: m.ID})
	if err != nil {
		return "", err
	}
	text := string(b[:min(len(b), maxText)])
	return strings.ToValidUTF8(text[:floor(text, len(text))], "\uFFFD"), nil
}

// part returns a text if it is short, else the part of it that holds most of
// the question's words. The first hits get more room than the others.
func (e *extract) part(text string, rank int) (string, bool) {
	share := e.cap / 10
	if rank < 3 {
		share = e.cap / 5
	}
	share = max(share, 40)
	if len(text) <= share || e.count(text) <= share {
		return strings.TrimSpace(text), true
	}
	best, _ := excerpt(e.query, text, share*3)
	if e.count(best) > share {
		best = best[:fit(e.count, best, share)]
	}
	return strings.TrimSpace(best), false
}

// headerCost is about what the line above a run of messages costs.
const headerCost = 12

// headers is what a passage adds in lines above runs: nothing where it joins
// one.
func (e *extract) headers(p passage) int {
	for _, q := range e.passages {
		if adjacent(q.msg, p.msg) || adjacent(p.msg, q.msg) {
			return 0
		}
	}
	return headerCost
}

// adjacent reports whether b was said right after a.
func adjacent(a, b store.Message) bool {
	return a.Conversation == b.Conversation && b.Seq > a.Seq && b.Seq-a.Seq <= 2
}

// line writes a passage: its id, who spoke, and the words.
func line(p passage) string {
	text := p.text
	if !p.whole {
		text = "[…] " + text + " […]"
	}
	return fmt.Sprintf("%s %s: %s", p.msg.ID, p.msg.Body.Role, text)
}

// answer writes the passages: runs of neighbouring messages under their time,
// the best run first.
func (e *extract) answer() Answer {
	a := Answer{CitedIDs: []string{}, Citations: []Citation{}, TotalSourceTokens: e.read}
	kept := slices.Clone(e.passages)
	for {
		a.Answer = write(kept)
		if len(kept) == 0 || e.count(a.Answer) <= e.cap {
			break
		}
		kept = kept[:len(kept)-1] // the estimate was short: the last one goes
		e.left++
	}
	e.passages = kept
	a.cut(e.left > 0, false)
	if e.left > 0 {
		a.note("%d more messages may be about the question: narrow it, or ask with a larger maxTokens", e.left)
	}
	for _, p := range kept {
		id := p.msg.ID.String()
		a.CitedIDs = append(a.CitedIDs, id)
		a.Citations = append(a.Citations, Citation{
			ID: id, MessageID: id, ConversationID: p.msg.Conversation, Role: p.msg.Body.Role, CreatedAt: p.msg.Body.Time,
		})
		a.addSource(p.msg.Conversation)
	}
	if len(kept) > 0 {
		a.SourceConversationID = a.SourceConversationIDs[0]
	}
	return a
}

// write arranges passages in runs.
func write(passages []passage) string {
	var b strings.Builder
	many := slices.ContainsFunc(passages, func(p passage) bool { return p.msg.Conversation != passages[0].msg.Conversation })
	for _, run := range runs(passages) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s", run[0].msg.Body.Time.UTC().Format("2006-01-02 15:04"))
		if many {
			fmt.Fprintf(&b, ", conversation %d", run[0].msg.Conversation)
		}
		b.WriteString("]\n")
		for _, p := range run {
			b.WriteString(line(p))
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// runs groups passages that follow each other in their conversation. Runs are
// in the order of their best passage, and inside a run it is that of the
// conversation.
func runs(passages []passage) [][]passage {
	sorted := slices.Clone(passages)
	slices.SortFunc(sorted, func(x, y passage) int {
		if x.msg.Conversation != y.msg.Conversation {
			return int(x.msg.Conversation - y.msg.Conversation)
		}
		return int(x.msg.Seq - y.msg.Seq)
	})
	var all [][]passage
	for i, p := range sorted {
		if i > 0 && adjacent(sorted[i-1].msg, p.msg) {
			all[len(all)-1] = append(all[len(all)-1], p)
		} else {
			all = append(all, []passage{p})
		}
	}
	best := func(run []passage) int {
		return slices.MinFunc(run, func(x, y passage) int { return x.rank - y.rank }).rank
	}
	slices.SortStableFunc(all, func(x, y []passage) int { return best(x) - best(y) })
	return all
}

// covering counts the summaries that the passages were found beneath.
func (d *Delegation) covering(ctx context.Context, passages []passage) (int, error) {
	seen := map[store.SummaryID]bool{}
	for _, p := range passages {
		above, err := d.config.Store.Derived(ctx, store.Node{Message: p.msg.ID})
		if err != nil {
			return 0, err
		}
		for _, id := range above {
			seen[id] = true
		}
	}
	return len(seen), nil
}
