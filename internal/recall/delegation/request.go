package delegation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Bounds of a question.
const (
	maxPrompt     = 32_000 // bytes
	maxSummaryIDs = 64
)

// request is a question, with what a sub-agent that failed has cost and read. Evidence
// has them, within its cap.
type request struct {
	recall.Question
	used recall.Usage
	read int
	text int // tokens of the text of evidence
}

// check reports everything that is wrong with a question and fills in defaults.
func (r *request) check() error {
	var wrong []error
	r.SummaryIDs = slices.DeleteFunc(slices.Clone(r.SummaryIDs), func(id store.SummaryID) bool { return strings.TrimSpace(string(id)) == "" })
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
	switch r.text = r.MaxTokens; {
	case r.MaxTokens == 0: // a reader in a hurry gets half of what a written answer may take
		r.MaxTokens, r.text = recall.DefaultMaxTokens, recall.DefaultMaxTokens/2
	case r.MaxTokens < recall.MinMaxTokens || r.MaxTokens > recall.MaxMaxTokens:
		wrong = append(wrong, fmt.Errorf("maxTokens is %d: it must be between %d and %d", r.MaxTokens, recall.MinMaxTokens, recall.MaxMaxTokens))
	}
	switch r.Output {
	case "":
		r.Output = recall.OutputAnswer
	case recall.OutputAnswer, recall.OutputEvidence:
	default:
		wrong = append(wrong, fmt.Errorf("output is %q: it must be %q or %q", prose.Clip(r.Output, 40), recall.OutputAnswer, recall.OutputEvidence))
	}
	if r.Agent == "" {
		r.Agent = "main"
	}
	return errors.Join(wrong...)
}

// The values of TruncatedBy.
const (
	cutMaxTokens = "maxTokens"
	cutExpansion = "expansion"
	cutBoth      = "both"
)

func setCut(a *recall.Answer, answer, expansion bool) {
	a.Truncated = answer || expansion
	a.TruncatedBy = map[[2]bool]string{{true, true}: cutBoth, {true, false}: cutMaxTokens, {false, true}: cutExpansion}[[2]bool{answer, expansion}]
}

// cutBy reports that an answer is not complete for one of the two reasons.
func cutBy(a recall.Answer, why string) bool { return a.TruncatedBy == why || a.TruncatedBy == cutBoth }

func note(a *recall.Answer, format string, args ...any) {
	a.Notes = include(a.Notes, fmt.Sprintf(format, args...))
}
