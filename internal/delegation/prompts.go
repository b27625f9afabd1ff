package delegation

import (
	_ "embed"
	"encoding/json"
	"strings"
	"text/template"

	"github.com/lossless-context/lcm/internal/store"
)

//go:embed prompts/system.md
var systemText string

//go:embed prompts/task.md
var taskText string

//go:embed prompts/again.md
var againText string

//go:embed prompts/ungrounded.md
var ungroundedText string

var (
	systemPrompt  = strings.TrimSpace(systemText)
	taskTemplate  = template.Must(template.New("task.md").Parse(strings.TrimSpace(taskText)))
	againTemplate = template.Must(template.New("again.md").Parse(strings.TrimSpace(againText)))

	ungroundedTemplate = template.Must(template.New("ungrounded.md").Parse(strings.TrimSpace(ungroundedText)))
)

// payload is the call of lcm_expand that a task begins with.
type payload struct {
	SummaryIDs      []store.SummaryID    `json:"summaryIds,omitempty"`
	MessageIDs      []string             `json:"messageIds,omitempty"`
	ConversationID  store.ConversationID `json:"conversationId,omitempty"`
	IncludeMessages bool                 `json:"includeMessages"`
}

// taskPrompt writes the task of a sub-agent. The question is quoted as JSON, so
// that it stays one line and cannot end its quotation.
func taskPrompt(r Request, b *bucket) (string, error) {
	p := payload{SummaryIDs: b.summaries, IncludeMessages: true}
	if len(b.conversations) == 1 {
		p.ConversationID = b.conversations[0]
	}
	for _, id := range b.messages {
		p.MessageIDs = append(p.MessageIDs, id.String())
	}
	call, err := plainJSON(p)
	if err != nil {
		return "", err
	}
	question, err := plainJSON(r.Prompt)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = taskTemplate.Execute(&text, map[string]any{"Payload": call, "Question": question, "MaxTokens": r.MaxTokens})
	return text.String(), err
}

// againPrompt asks once more after a reply that could not be accepted: for the
// form of it, or for an answer that rests on what was read.
func againPrompt(no *rejection) (string, error) {
	form := againTemplate
	if no.code == errGround {
		form = ungroundedTemplate
	}
	var text strings.Builder
	err := form.Execute(&text, map[string]any{"Problem": clip(no.problem, 200), "Hint": no.hint})
	return text.String(), err
}

func plainJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}
