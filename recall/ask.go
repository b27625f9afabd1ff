package recall

import (
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Bounds and defaults of a question.
const (
	DefaultMaxTokens = 2000
	MinMaxTokens     = 50
	MaxMaxTokens     = 16_000
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

// Question is a question about the record.
type Question struct {
	// SummaryIDs are the summaries to expand, and Query finds them. Without both,
	// the Prompt is the Query.
	SummaryIDs []record.SummaryID `json:"summaryIds,omitempty"`
	Query      string             `json:"query,omitempty"` // words that find summaries and messages
	// Prompt is the question.
	Prompt string `json:"prompt"`
	Where
	// MaxTokens caps the answer, quotes included, and for evidence the whole
	// result as JSON, where it is at least 250; 0 is 2000.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Output is OutputAnswer (the default) or OutputEvidence.
	Output string `json:"output,omitempty"`
	// Caller names who asks: questions of one caller queue, those without a
	// name do not. Agent is the name of the agent in the child session's key.
	Caller string `json:"-"`
	Agent  string `json:"-"` // the name of the agent in the key of a sub-agent's session
	// Model answers the question where the engine has no model for questions
	// (lcm.WithAskModel). Nil is the model of the agent that asks, if one of package
	// agents does; without any model the answer is verbatim passages.
	Model llms.Model `json:"-"`
}

// Answer is the answer to a question.
type Answer struct {
	// NotInRecord are words of the question that no text in scope has.
	NotInRecord []string `json:"notInRecord,omitempty"`

	Answer string `json:"answer"` // the text
	// Evidence has verbatim passages beside a sub-agent's answer that cites nothing.
	Evidence string `json:"evidence,omitempty"`
	// CitedIDs are summaries and messages that the answer rests on. Each was
	// read on the way to it.
	CitedIDs []record.ID `json:"citedIds"`
	// SourceConversationID is the conversation that contributed most;
	// SourceConversationIDs are all that did.
	SourceConversationID  record.ConversationID   `json:"sourceConversationId"`
	SourceConversationIDs []record.ConversationID `json:"sourceConversationIds"` // all conversations that contributed
	ExpandedSummaryCount  int                     `json:"expandedSummaryCount"`  // how many summaries were opened
	// TotalSourceTokens is how much of the record was read for the answer.
	TotalSourceTokens int  `json:"totalSourceTokens"`
	Truncated         bool `json:"truncated"` // the answer is not complete
	// TruncatedBy is "maxTokens" (the answer was cut), "expansion" (the
	// sub-agent could not read everything) or "both".
	TruncatedBy string `json:"truncatedBy,omitempty"`
	Method      string `json:"method"` // how it was made: [MethodDelegated], [MethodEvidence] or [MethodNone]
	// Reason says why there is only evidence, or nothing.
	Reason string `json:"reason,omitempty"`
	Model  string `json:"model,omitempty"` // that answered
	// Usage is the cost of the model calls, including calls whose answer was not
	// accepted. It is zero where no model was called.
	Usage     Usage      `json:"usage,omitzero"`
	Citations []Citation `json:"citations"` // where CitedIDs lead
	Scope     Scope      `json:"scope"`     // where it looked
	// Skipped are conversations that matched but were not asked.
	Skipped []record.ConversationID `json:"skippedConversationIds,omitempty"`
	Notes   []string                `json:"notes,omitempty"` // hints for the reader
	// Damaged says that evidence is not what arrived, or the title, agent or project of its
	// conversation not what was written. The text marks what is.
	Damaged bool `json:"damaged,omitempty"`
}

// Citation is where a cited id leads.
type Citation struct {
	ID record.ID `json:"id"` // the cited id
	// Quote is text of MessageID, word for word. It is empty where the cap on
	// the answer left no room.
	MessageID      record.MessageID      `json:"messageId,omitempty"`
	Quote          string                `json:"quote,omitempty"`    // text of MessageID, word for word; empty where the cap on the answer left no room
	ConversationID record.ConversationID `json:"conversationId"`     // of the message
	Role           llms.Role             `json:"role,omitempty"`     // who said it
	CreatedAt      time.Time             `json:"createdAt,omitzero"` // when it was said
}

// Source is the message of the quote, or else the cited id.
func (c Citation) Source() record.ID {
	if c.MessageID != 0 {
		return record.ID{Message: c.MessageID}
	}
	return c.ID
}

// The defaults of Limits.
const (
	DefaultExpandTokens = 68_000
	DefaultPageTokens   = 8_000
	DefaultTimeout      = 120 * time.Second
	DefaultParallel     = 3
	DefaultModelTokens  = 160_000
)

// Limits bound the cost of one question. Zero fields have the defaults given
// with them.
type Limits struct {
	ExpandTokens int // read by all sub-agents of a question: 68,000
	// PageTokens is the size of a first page of lcm_expand: 8,000. A page that
	// continues it has all the rest, as far as it fits the window of the model.
	PageTokens int
	Depth      int // steps below a summary in one call: any
	// ModelTokens is how many input tokens the models of all sub-agents of a
	// question may cost: 160,000. Reading 68,000 tokens sends about 80,000, since each
	// call repeats the pages before. The rest is kept for one more call, of a
	// sub-agent that asks for more when it should answer.
	ModelTokens int
	// Timeout is how long the sub-agents may take together: 120 seconds.
	Timeout time.Duration
	// Parallel is how many conversations are asked at once where all are
	// searched: 3.
	Parallel int
}

// Usage is how much a question cost in calls of a model.
type Usage struct {
	Calls        int `json:"calls"`        // of a model
	InputTokens  int `json:"inputTokens"`  // that the model read
	OutputTokens int `json:"outputTokens"` // that the model wrote
}
