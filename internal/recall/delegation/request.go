package delegation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Bounds and defaults of a question.
const (
	DefaultMaxTokens = 2000
	MinMaxTokens     = 50
	MaxMaxTokens     = 16_000
	maxPrompt        = 32_000 // bytes
	maxSummaryIDs    = 64
)

// The forms of output that can be asked for.
const (
	OutputAnswer   = "answer"   // a sub-agent's, where there is a model
	OutputEvidence = "evidence" // verbatim passages, no model
)

// The ways in which an answer comes about.
const (
	MethodDelegated = "delegated" // a sub-agent read the record and answered
	MethodEvidence  = "evidence"  // verbatim passages, ranked
	MethodNone      = "none"      // nothing was found
)

// Request is a question about the record.
type Request struct {
	// SummaryIDs are the summaries to expand, and Query finds them. Without both,
	// the Prompt is the Query.
	SummaryIDs []string `json:"summaryIds,omitempty"`
	Query      string   `json:"query,omitempty"`
	// Prompt is the question.
	Prompt string `json:"prompt"`
	recall.Where
	// MaxTokens caps the answer, quotes included, and for evidence the whole
	// result as JSON, where it is at least 250; 0 is 2000.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Output is OutputAnswer (the default) or OutputEvidence.
	Output string `json:"output,omitempty"`
	// Caller names who asks: questions of one caller queue, those without a
	// name do not. Agent is the name of the agent in the child session's key.
	Caller string `json:"-"`
	Agent  string `json:"-"`
	// Model is the caller's model. The sub-agent runs on it where the Config has no
	// Runner.
	Model llms.Model `json:"-"`

	// used and read are what a sub-agent that failed has cost and read. Evidence has
	// them, within its cap.
	used Usage
	read int
}

// check reports everything that is wrong with a question and fills in defaults.
func (r *Request) check() error {
	var wrong []error
	r.SummaryIDs = slices.DeleteFunc(slices.Clone(r.SummaryIDs), func(id string) bool { return strings.TrimSpace(id) == "" })
	r.Query, r.Prompt = strings.TrimSpace(r.Query), strings.TrimSpace(r.Prompt)
	if len(r.SummaryIDs) == 0 && r.Query == "" {
		r.Query = r.Prompt
	}
	if len(r.SummaryIDs) > maxSummaryIDs {
		wrong = append(wrong, fmt.Errorf("summaryIds has %d entries: at most %d can be expanded for one question", len(r.SummaryIDs), maxSummaryIDs))
	}
	switch {
	case r.Prompt == "":
		wrong = append(wrong, errors.New("prompt is empty: it is the question to answer"))
	case len(r.Prompt) > maxPrompt:
		wrong = append(wrong, fmt.Errorf("prompt has %d bytes: at most %d are taken", len(r.Prompt), maxPrompt))
	}
	switch {
	case r.MaxTokens == 0:
		r.MaxTokens = DefaultMaxTokens
	case r.MaxTokens < MinMaxTokens || r.MaxTokens > MaxMaxTokens:
		wrong = append(wrong, fmt.Errorf("maxTokens is %d: it must be between %d and %d", r.MaxTokens, MinMaxTokens, MaxMaxTokens))
	}
	switch r.Output {
	case "":
		r.Output = OutputAnswer
	case OutputAnswer, OutputEvidence:
	default:
		wrong = append(wrong, fmt.Errorf("output is %q: it must be %q or %q", prose.Clip(r.Output, 40), OutputAnswer, OutputEvidence))
	}
	if r.Agent == "" {
		r.Agent = "main"
	}
	return errors.Join(wrong...)
}

// Answer is the answer to a question.
type Answer struct {
	Answer string `json:"answer"`
	// CitedIDs are summaries and messages that the answer rests on. Each was
	// read on the way to it.
	CitedIDs []string `json:"citedIds"`
	// SourceConversationID is the conversation that contributed most;
	// SourceConversationIDs are all that did.
	SourceConversationID  store.ConversationID   `json:"sourceConversationId"`
	SourceConversationIDs []store.ConversationID `json:"sourceConversationIds"`
	ExpandedSummaryCount  int                    `json:"expandedSummaryCount"`
	// TotalSourceTokens is how much of the record was read for the answer.
	TotalSourceTokens int  `json:"totalSourceTokens"`
	Truncated         bool `json:"truncated"`
	// TruncatedBy is "maxTokens" (the answer was cut), "expansion" (the
	// sub-agent could not read everything) or "both".
	TruncatedBy string `json:"truncatedBy,omitempty"`
	Method      string `json:"method"`
	// Reason says why there is only evidence, or nothing.
	Reason string `json:"reason,omitempty"`
	Model  string `json:"model,omitempty"`
	// Usage is the cost of the model calls, including calls whose answer was not
	// accepted. It is zero where no model was called.
	Usage     Usage        `json:"usage,omitzero"`
	Citations []Citation   `json:"citations"`
	Scope     recall.Scope `json:"scope"`
	// Skipped are conversations that matched but were not asked.
	Skipped []store.ConversationID `json:"skippedConversationIds,omitempty"`
	Notes   []string               `json:"notes,omitempty"`
}

// Citation is where a cited id leads.
type Citation struct {
	ID string `json:"id"`
	// Quote is text of MessageID, word for word. It is empty where the cap on
	// the answer left no room.
	MessageID      string               `json:"messageId,omitempty"`
	Quote          string               `json:"quote,omitempty"`
	ConversationID store.ConversationID `json:"conversationId"`
	Role           llms.Role            `json:"role,omitempty"`
	CreatedAt      time.Time            `json:"createdAt,omitzero"`
}

// The values of TruncatedBy.
const (
	cutMaxTokens = "maxTokens"
	cutExpansion = "expansion"
	cutBoth      = "both"
)

func (a *Answer) cut(answer, expansion bool) {
	a.Truncated = answer || expansion
	a.TruncatedBy = map[[2]bool]string{{true, true}: cutBoth, {true, false}: cutMaxTokens, {false, true}: cutExpansion}[[2]bool{answer, expansion}]
}

func (a *Answer) note(format string, args ...any) {
	a.Notes = include(a.Notes, fmt.Sprintf(format, args...))
}
