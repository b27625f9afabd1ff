package claude

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// queue follows the prompts that the user types while the agent works. Versions of
// Claude Code write them as operations on a queue: "enqueue" has the text; "remove" says
// that the model got it, between two of its calls; "dequeue" that it follows as a prompt
// of its own; "popAll" that the user took all of them back. Only some versions also write
// what was removed, as an attachment.
type queue struct {
	Waiting []string `json:"waiting,omitempty"`
	Due     []due    `json:"due,omitempty"`
}

// queueOperation is the type of its records.
const queueOperation = "queue-operation"

// due is a prompt that the model got and that no record has said so far.
type due struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	Time time.Time `json:"time"`
}

// operation follows a record of the queue.
func (q *queue) operation(rec hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "operation", "content")
	if err != nil {
		return
	}
	switch op := wire.Unquote(v[0]); {
	case op == "enqueue":
		q.Waiting = append(q.Waiting, wire.Unquote(v[1]))
	case op == "popAll":
		q.Waiting = nil
	case (op == "remove" || op == "dequeue") && len(q.Waiting) > 0:
		if text := q.Waiting[0]; op == "remove" && text != "" {
			q.Due = append(q.Due, due{rec.ID, text, rec.Time})
		}
		q.Waiting = q.Waiting[1:]
	}
}

// before returns the prompts that belong before a record: the model gets them after the
// results of its calls. A prompt that the record itself says is not repeated.
func (q *queue) before(rec hosts.Record) (prompts []hosts.Record) {
	if rec.Flags&store.FlagHidden != 0 || rec.Role != llms.RoleUser && rec.Role != llms.RoleAssistant {
		return nil
	}
	if rec.Role == llms.RoleUser {
		text := rec.PlainText()
		if i := slices.IndexFunc(q.Due, func(d due) bool { return d.Text == text }); i >= 0 {
			q.Due = slices.Delete(q.Due, i, i+1)
		} else if i := slices.Index(q.Waiting, text); i >= 0 {
			q.Waiting[i] = "" // its operation is to come
		}
	}
	for _, d := range q.Due {
		p := hosts.Aside("queued/"+d.ID, llms.RoleUser, d.Text)
		p.Time, p.Flags = d.Time, 0
		if synthetic(d.Text) {
			p.Flags = store.FlagSynthetic
		}
		prompts = append(prompts, p)
	}
	q.Due = nil
	return prompts
}

// String is the state of a queue between two readings.
func (q *queue) String() string {
	if len(q.Waiting)+len(q.Due) == 0 {
		return ""
	}
	text, _ := json.Marshal(q) // strings and times always encode
	return string(text)
}

func readQueue(state string) (q queue) {
	_ = json.Unmarshal([]byte(state), &q) // the state of an older version is empty
	return q
}
