package delegation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// write writes passages under headings of their sessions and days, the group of the best
// passage first. Each group has the matches, the best first, and then the messages around
// them in order. A reader needs the time of a message,
// because a later one may revoke it.
func write(passages []passage, titles map[store.ConversationID]string) string {
	var b strings.Builder
	said := map[store.ConversationID]bool{}
	for _, g := range groups(passages) {
		id := g[0].msg.Conversation
		fmt.Fprintf(&b, "[%s", date(g[0]))
		if !said[id] {
			said[id] = true
			fmt.Fprintf(&b, ", conversation %d%s", id, titles[id])
		} else if len(titles) > 1 {
			fmt.Fprintf(&b, ", conversation %d", id)
		}
		b.WriteString("]\n")
		for _, p := range g {
			b.WriteString(line(p))
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// groups sorts passages, the best first, into days of conversations.
func groups(passages []passage) [][]passage {
	var out [][]passage
	for _, p := range passages {
		i := slices.IndexFunc(out, func(g []passage) bool { return sameDay(g[0], p) })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(x, y passage) int {
			switch {
			case x.match && y.match:
				return 0
			case x.match:
				return -1
			case y.match:
				return 1
			}
			return cmp.Compare(x.msg.Seq, y.msg.Seq)
		})
	}
	return out
}

func sameDay(p, q passage) bool {
	return p.msg.Conversation == q.msg.Conversation && date(p) == date(q)
}

func date(p passage) string { return p.msg.Body.Time.UTC().Format(time.DateOnly) }

// damagedRow marks a conversation whose project, agent or title is not what was written.
const damagedRow = " [damaged]"

// title looks up the rest of a conversation's heading: the project where the question
// is asked in another one, the agent and the title.
func (e *extract) title(ctx context.Context, id store.ConversationID) error {
	if _, ok := e.titles[id]; ok {
		return nil
	}
	c, err := e.config.Store.Conversation(ctx, id)
	if err != nil {
		return err
	}
	text := ""
	if c.Damaged {
		text = damagedRow
	}
	if name := c.Project.Name(); name != "" && e.frame.Scope.Kind == recall.ScopeAll && !slices.ContainsFunc(e.home, func(p store.Project) bool { return p.Name() == name }) {
		text += ", project " + oneLine(name)
	}
	if c.Agent != "" {
		text += ", " + oneLine(c.Agent)
	}
	if c.Title != "" {
		text += fmt.Sprintf(", %q", oneLine(c.Title))
	}
	e.titles[id] = text
	return nil
}

// oneLine writes a name that comes from the record so that it stays inside its
// heading.
func oneLine(name string) string {
	return prose.Clip(strings.Join(strings.Fields(strings.NewReplacer("[", "(", "]", ")").Replace(name)), " "), 60)
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
	who := string(p.msg.Body.Role)
	if p.earlier != "" {
		who += ", " + p.earlier
	}
	return fmt.Sprintf("%s %s: %s", p.msg.ID, who, disarmed(text))
}

// newLine matches everything that some reader takes for the beginning of a new line,
// and the characters before its first visible one: spaces of every kind, invisible
// characters, and a terminal's commands.
const newLine = `([\n\r\v\f\x{85}\x{2028}\x{2029}](?:\x1b\[[0-9;]*[A-Za-z]|[\s\pZ\pC])*)`

// forged finds lines inside a message that look like the beginning of another
// one, or like a heading.
var forged = lazyregexp.New(newLine + `(msg_\d+[\s\pZ\pC:]|\[\d{4}-\d\d-\d\d)`)

// disarmed marks such lines: the text of a message must not pass for another message.
func disarmed(text string) string { return forged().ReplaceAllString(text, "$1| $2") }

// What is around a passage is shown while the result takes less than followShare of its
// bound.
const (
	followShare = 0.5
	followReach = 4  // spoken messages after a passage, and of what tools did
	followSpan  = 48 // messages in which they are looked for
)

// follow adds what was said after the best matches and right before them, and then what
// tools did after them: a reply or a decision often has none of the question's words. Every
// match gets its next message before any gets a second one.
func (e *extract) follow(ctx context.Context) error {
	if !e.short() {
		return nil
	}
	var around [][]store.Message
	for _, p := range e.passages {
		if !p.cited {
			continue
		}
		list, err := e.around(ctx, p.msg)
		if err != nil {
			return err
		}
		around = append(around, list)
	}
	for far := range 2*followReach + 1 {
		for _, list := range around {
			if far >= len(list) || !e.short() {
				continue
			}
			if _, err := e.add(ctx, candidate{msg: list[far]}, len(e.passages), false, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// around returns the spoken messages after one and the one before it, and what tools did
// after it, followReach of each at most.
func (e *extract) around(ctx context.Context, of store.Message) (out []store.Message, err error) {
	var before, said, tools []store.Message
	for m, err := range e.config.Store.Messages(ctx, store.MessageQuery{Conversation: of.Conversation, After: max(0, of.Seq-followSpan), Before: of.Seq + followSpan + 1, NoRaw: true}) {
		switch {
		case err != nil:
			return nil, err
		case m.Seq == of.Seq || m.Flags&(store.FlagEcho|store.FlagSynthetic|store.FlagHidden) != 0:
		case m.Seq < of.Seq && spoken(m):
			before = []store.Message{m}
		case m.Seq > of.Seq && spoken(m):
			said = append(said, m)
		case m.Seq > of.Seq:
			tools = append(tools, m)
		}
	}
	return slices.Concat(said[:min(followReach, len(said))], before, tools[:min(followReach, len(tools))]), nil
}

// short reports that the result takes less than followShare of its bound.
func (e *extract) short() bool {
	return float64(e.encoded(e.answer(e.passages))) < followShare*float64(e.most)
}
