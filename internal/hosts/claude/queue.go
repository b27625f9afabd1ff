package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// queue follows the prompts that the user types while the agent works. Versions of
// Claude Code write them as operations on a queue: "enqueue" has the text; "remove" says
// that the model got it, between two of its calls; "dequeue" that it follows as a prompt
// of its own; "popAll" that the user took all of them back. Tasks in the background are in
// the queue too: they are announced, and notify of their end. Most removals do not say of
// what they are, but the next message does: if the turn goes on, they are of prompts, then
// of notifications, and otherwise of announcements, which not every removal is written of.
// Only some versions also write what was removed, as an attachment.
type queue struct {
	Waiting []queued `json:"waiting,omitempty"` // oldest first
	Due     []queued `json:"due,omitempty"`     // removed, and said by no record so far; without a text until the next message
}

// queueOperation is the type of its records, and announcement begins that of a task.
const (
	queueOperation = "queue-operation"
	announcement   = `{"task_id"`
)

// queued is a prompt or a notification.
type queued struct {
	ID      string    `json:"id,omitempty"` // of the removal
	Text    string    `json:"text,omitempty"`
	Typed   time.Time `json:"typed,omitzero"`
	Removed time.Time `json:"removed,omitzero"`
}

// operation follows a record of the queue.
func (q *queue) operation(rec hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "operation", "content")
	if err != nil {
		return
	}
	switch op, text := wire.Unquote(v[0]), wire.Unquote(v[1]); {
	case op == "enqueue" && strings.TrimSpace(text) != "" && !lines.HasPrefix(text, announcement):
		q.Waiting = append(q.Waiting, queued{Text: text, Typed: rec.Time})
	case op == "popAll":
		q.Waiting = nil
	case op == "remove" && text == "":
		q.Due = append(q.Due, queued{ID: rec.ID, Removed: rec.Time})
	case op == "remove":
		if i := slices.IndexFunc(q.Waiting, func(w queued) bool { return w.Text == text }); i >= 0 {
			q.Due = append(q.Due, queued{rec.ID, text, q.Waiting[i].Typed, rec.Time})
			q.Waiting = slices.Delete(q.Waiting, i, i+1)
		}
	}
}

// before returns the prompts that belong before a record: the model gets them after the
// results of its calls. A prompt that the record itself says is not repeated, and a record
// that was only written after a removal does not come after it.
func (q *queue) before(rec hosts.Record) (prompts []hosts.Record) {
	if rec.Flags&store.FlagHidden != 0 || rec.Role != llms.RoleUser && rec.Role != llms.RoleAssistant && rec.Role != llms.RoleTool {
		return nil
	}
	q.settle(rec.Role != llms.RoleUser || strings.HasPrefix(rec.Type, "attachment"))
	switch rec.Role {
	case llms.RoleTool:
		return nil
	case llms.RoleUser:
		text := strings.TrimSpace(rec.PlainText())
		said := func(w queued) bool { // maybe below what the user has selected in an editor
			return strings.HasSuffix(text, strings.TrimSpace(w.Text)) || w.Text[0] == '/' && lines.HasPrefix(text, "<command-")
		}
		if i := slices.IndexFunc(q.Due, said); i >= 0 {
			q.Due = slices.Delete(q.Due, i, i+1)
		} else if i := slices.IndexFunc(q.Waiting, said); i >= 0 {
			q.Waiting = slices.Delete(q.Waiting, i, i+1)
		}
	}
	for len(q.Due) > 0 && (rec.Time.IsZero() || !rec.Time.Before(q.Due[0].Removed)) {
		p := hosts.Aside("queued/"+q.Due[0].ID, llms.RoleUser, q.Due[0].Text)
		p.Time, p.Flags = q.Due[0].Typed, 0
		if synthetic(q.Due[0].Text) {
			p.Flags = store.FlagSynthetic
		}
		prompts, q.Due = append(prompts, p), q.Due[1:]
	}
	return prompts
}

// settle decides of what the removals before a message are.
func (q *queue) settle(goesOn bool) {
	for i := range q.Due {
		if d := &q.Due[i]; d.Text == "" && goesOn && len(q.Waiting) > 0 {
			next := max(0, slices.IndexFunc(q.Waiting, func(w queued) bool { return !synthetic(w.Text) }))
			d.Text, d.Typed = q.Waiting[next].Text, q.Waiting[next].Typed
			q.Waiting = slices.Delete(q.Waiting, next, next+1)
		}
	}
	q.Due = slices.DeleteFunc(q.Due, func(d queued) bool { return d.Text == "" })
}

// String is the state of a queue between two readings.
func (q *queue) String() string {
	text, _ := json.Marshal(q) // strings and times always encode
	return strings.TrimPrefix(string(text), "{}")
}

func readQueue(state string) (q queue) {
	if json.Unmarshal([]byte(state), &q) != nil {
		return queue{} // of an older version
	}
	return q
}
