package mcpserver

import (
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// askResult is an answer of lcm_expand_query as structured content.
type askResult struct {
	NotInRecord []string `json:"notInRecord,omitempty"` // words of the question

	Answer               string               `json:"answer"`
	Evidence             string               `json:"evidence,omitempty"`
	CitedIDs             []store.ID           `json:"citedIds"`
	SourceConversationID store.ConversationID `json:"sourceConversationId"`
	// SourceConversationIDs are all that contributed, SkippedConversationIDs those that matched
	// and were not asked.
	SourceConversationIDs  []store.ConversationID `json:"sourceConversationIds,omitempty"`
	SkippedConversationIDs []store.ConversationID `json:"skippedConversationIds,omitempty"`
	ExpandedSummaryCount   int                    `json:"expandedSummaryCount"`
	TotalSourceTokens      int                    `json:"totalSourceTokens"`
	Truncated              bool                   `json:"truncated"`
	TruncatedBy            string                 `json:"truncatedBy,omitempty"`
	Method                 string                 `json:"method"`
	Reason                 string                 `json:"reason,omitempty"`
	Searched               string                 `json:"searched"`
	Citations              []recall.Citation      `json:"citations,omitempty"`
	Model                  string                 `json:"model,omitempty"`
	Usage                  recall.Usage           `json:"usage,omitzero"`
	Notes                  []string               `json:"notes,omitempty"`
	Damaged                bool                   `json:"damaged,omitempty"` // what is quoted is not what arrived
}

func newAskResult(a recall.Answer) askResult {
	return askResult{
		Answer: a.Answer, Evidence: a.Evidence, CitedIDs: a.CitedIDs, SourceConversationID: a.SourceConversationID,
		SourceConversationIDs: a.SourceConversationIDs, SkippedConversationIDs: a.Skipped, Damaged: a.Damaged,
		ExpandedSummaryCount: a.ExpandedSummaryCount, TotalSourceTokens: a.TotalSourceTokens,
		Truncated: a.Truncated, TruncatedBy: a.TruncatedBy,
		Method: a.Method, Reason: a.Reason, Searched: a.Scope.String(),
		Citations: a.Citations, Model: a.Model, Usage: a.Usage, NotInRecord: a.NotInRecord, Notes: a.Notes,
	}
}
