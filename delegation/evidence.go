package delegation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

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
		a := nothing(r, p)
		if why != "" {
			a.note("%s", strings.TrimSuffix(why, instead))
		}
		return a, nil
	}
	e := &extract{Delegation: d, cap: r.MaxTokens}
	if e.query, err = index.ParseQuery(asWords(r.Prompt + " " + r.Query)); err != nil {
		e.query = nil // no words, or too many: parts are how messages begin
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
	p.text, p.whole = e.part(text, e.share(m, rank))
	if prose := m.Body.PlainText(); !p.whole && len(m.Body.ToolCalls()) > 0 && !strings.Contains(p.text, prose) {
		// What was said before a call is about it; what the call writes has
		// more of the question's words by its length alone.
		said, _ := e.part(prose, e.share(m, rank))
		p.text = said + "\n[…] " + p.text
	}
	if p.text == "" {
		return true, nil // says nothing: no reason to give up
	}
	p.cost = e.count(line(p)) + 1
	if room := e.cap - e.headers(p); len(e.passages) == 0 && p.cost > room { // a small cap, and nothing yet
		p.text, p.whole = e.part(text, room-frameCost)
		p.cost = e.count(line(p)) + 1
	}
	if e.used+p.cost+e.headers(p) > e.cap {
		e.left++
		return false, nil
	}
	e.used += p.cost + e.headers(p)
	e.passages = append(e.passages, p)
	return true, nil
}

// textOf is everything that a message says, payloads included.
func (e *extract) textOf(ctx context.Context, m store.Message) (string, error) {
	if m.Damaged {
		return m.Body.Render(), nil // which says so
	}
	if plain := m.Body.PlainText(); len(m.Body.Parts) == 1 && plain != "" {
		return plain, nil
	}
	b, err := e.config.Store.Text(ctx, store.Node{Message: m.ID})
	if errors.Is(err, store.ErrDamaged) { // a payload of it
		b, err = append([]byte(store.DamageNotice+"\n"), b...), nil
	}
	if err != nil {
		return "", err
	}
	text := string(b[:min(len(b), maxText)])
	return strings.ToValidUTF8(text[:floor(text, len(text))], "\uFFFD"), nil
}

// share is how much room a message gets: the first more than the others, and
// what was said more than what a tool printed.
func (e *extract) share(m store.Message, rank int) int {
	parts := 13
	switch {
	case rank < 3:
		parts = 6
	case rank < 10:
		parts = 10
	}
	if !spoken(m) {
		parts *= 3
	}
	return max(e.cap/parts, 40)
}

// part returns a text if it is short, else the part of it that holds most of
// the question's words.
func (e *extract) part(text string, share int) (string, bool) {
	if len(text) <= share || e.count(text) <= share {
		return strings.TrimSpace(text), true
	}
	best, _ := excerpt(e.query, text, share*3)
	if e.count(best) > share {
		best = best[:fit(e.count, best, share)]
	}
	return strings.TrimSpace(best), false
}

// headerCost is about what the line above a day costs, frameCost what stands
// around the words of a passage.
const (
	headerCost = 12
	frameCost  = 16
)

// headers is what a passage adds in lines above days: nothing where it joins
// one.
func (e *extract) headers(p passage) int {
	for _, q := range e.passages {
		if day(q) == day(p) {
			return 0
		}
	}
	return headerCost
}

// day names the day of a passage in its conversation.
func day(p passage) string {
	return fmt.Sprintf("%d %s", p.msg.Conversation, p.msg.Body.Time.UTC().Format(time.DateOnly))
}

// line writes a passage: its id, who spoke, and the words.
func line(p passage) string {
	text := p.text
	if !p.whole {
		text = "[…] " + text + " […]"
	}
	if p.msg.Damaged && !strings.Contains(text, store.DamageNotice) {
		text = store.DamageNotice + " " + text
	}
	return fmt.Sprintf("%s %s: %s", p.msg.ID, p.msg.Body.Role, disarmed(text))
}

// newLine is all that begins a new line for somebody, with what may stand
// before its first visible character: spaces of every kind, characters that are
// not seen, and a terminal's commands.
const newLine = `([\n\r\v\f\x{85}\x{2028}\x{2029}](?:\x1b\[[0-9;]*[A-Za-z]|[\s\pZ\pC])*)`

// forged finds lines inside a message that look like the beginning of another
// one, or of a day.
var forged = regexp.MustCompile(newLine + `(msg_\d+[\s\pZ\pC:]|\[\d{4}-\d\d-\d\d)`)

// disarmed marks such lines: what a message says must not pass for what
// somebody else has said.
func disarmed(text string) string { return forged.ReplaceAllString(text, "$1| $2") }

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

// write puts passages in the order in which they were said, under their days:
// a reader has to see what came later, since it may take back what came
// before.
func write(passages []passage) string {
	ordered := slices.Clone(passages)
	slices.SortFunc(ordered, func(x, y passage) int {
		return cmp.Or(cmp.Compare(x.msg.Conversation, y.msg.Conversation), cmp.Compare(x.msg.Seq, y.msg.Seq))
	})
	many := len(ordered) > 0 && ordered[0].msg.Conversation != ordered[len(ordered)-1].msg.Conversation
	var b strings.Builder
	last := ""
	for _, p := range ordered {
		if now := day(p); now != last {
			last = now
			fmt.Fprintf(&b, "[%s", p.msg.Body.Time.UTC().Format(time.DateOnly))
			if many {
				fmt.Fprintf(&b, ", conversation %d", p.msg.Conversation)
			}
			b.WriteString("]\n")
		}
		b.WriteString(line(p))
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
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
