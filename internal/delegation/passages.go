package delegation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
)

// write writes passages under the sessions and days in which they were said:
// the group of the best passage first, and in each group the matches, the best
// first, and then in their order the messages around them, each time prose
// before tool calls and results that come late. A reader has to see
// when something was said, because what came later may take it back.
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
			if k := cmp.Compare(x.kind(), y.kind()); k != 0 || x.match {
				return k
			}
			return cmp.Compare(x.msg.Seq, y.msg.Seq)
		})
		newerFirst(g)
	}
	return out
}

func sameDay(p, q passage) bool {
	return p.msg.Conversation == q.msg.Conversation && date(p) == date(q)
}

func date(p passage) string { return p.msg.Body.Time.UTC().Format(time.DateOnly) }

// title looks up what the heading of a conversation says beside its number:
// the project where that is not the one that the question is asked in, the
// agent and the title.
func (e *extract) title(ctx context.Context, id store.ConversationID) error {
	if _, ok := e.titles[id]; ok {
		return nil
	}
	c, err := e.config.Store.Conversation(ctx, id)
	if err != nil {
		return err
	}
	text := ""
	if name := recall.ProjectName(c.Project); name != "" && e.frame.Scope.Kind == recall.ScopeAll && !slices.ContainsFunc(e.home, func(p store.Project) bool { return recall.ProjectName(p) == name }) {
		text = ", project " + oneLine(name)
	}
	if c.Agent != "" {
		text += ", " + oneLine(c.Agent)
	}
	if c.Title != "" {
		text += fmt.Sprintf(", %q", oneLine(c.Title))
	}
	e.titles[id] = text
	e.used += e.encoded(text)
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
	return fmt.Sprintf("%s %s: %s", p.msg.ID, p.msg.Body.Role, disarmed(text))
}

// newLine matches everything that some reader takes for the beginning of a new
// line, with what may stand before its first visible character: spaces of
// every kind, invisible characters, and a terminal's commands.
const newLine = `([\n\r\v\f\x{85}\x{2028}\x{2029}](?:\x1b\[[0-9;]*[A-Za-z]|[\s\pZ\pC])*)`

// forged finds lines inside a message that look like the beginning of another
// one, or like a heading.
var forged = lazyregexp.New(newLine + `(msg_\d+[\s\pZ\pC:]|\[\d{4}-\d\d-\d\d)`)

// disarmed marks such lines: the text of a message must not pass for what
// somebody else has said.
func disarmed(text string) string { return forged().ReplaceAllString(text, "$1| $2") }
