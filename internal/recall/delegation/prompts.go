package delegation

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

//go:embed prompts/system.md
var systemText string

//go:embed prompts/task.md
var taskText string

//go:embed prompts/again.md
var againText string

//go:embed prompts/ungrounded.md
var ungroundedText string

var systemPrompt = strings.TrimSpace(systemText)

// fill returns a prompt with its placeholders replaced, given as pairs of name
// and value. It does not read the values: one that spells a placeholder stays
// as it is.
func fill(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{{." + pairs[i] + "}}"
	}
	return strings.NewReplacer(pairs...).Replace(strings.TrimSpace(text))
}

// payload is the call of lcm_expand that a task begins with.
type payload struct {
	SummaryIDs      []store.SummaryID    `json:"summaryIds,omitempty"`
	MessageIDs      []string             `json:"messageIds,omitempty"`
	ConversationID  store.ConversationID `json:"conversationId,omitempty"`
	IncludeMessages bool                 `json:"includeMessages"`
}

// taskPrompt writes the task of a sub-agent. The question is quoted as JSON, so
// that it stays one line and cannot end its quotation.
func taskPrompt(r request, b Allowance) (string, error) {
	p := payload{SummaryIDs: b.Summaries, IncludeMessages: true}
	if len(b.Conversations) == 1 {
		p.ConversationID = b.Conversations[0]
	}
	for _, id := range b.Messages {
		p.MessageIDs = append(p.MessageIDs, id.String())
	}
	call, err := jsonstring.Marshal(p)
	if err != nil {
		return "", err
	}
	question, err := jsonstring.Marshal(r.Prompt)
	return fill(taskText, "Payload", string(call), "Question", string(question), "MaxTokens", strconv.Itoa(r.MaxTokens)), err
}

// againPrompt asks once more after a reply that was rejected: for valid JSON, or
// for an answer that cites the expanded content.
func againPrompt(no *rejection) string {
	form := againText
	if no.code == errGround {
		form = ungroundedText
	}
	return fill(form, "Problem", prose.Clip(no.problem, 200), "Hint", no.hint)
}
