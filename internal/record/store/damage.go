package store

import (
	"slices"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// MarkSummaryDamaged marks a summary whose text is not the one that was written, so that every
// reader shows it. That it was taken apart is not believed either: readers pass over those.
func MarkSummaryDamaged(s *Summary) {
	if s.Damaged && !strings.HasPrefix(s.Body, DamagedSummaryNotice) {
		s.Body, s.Retired = DamagedSummaryNotice+"\n"+s.Body, false
	}
}

// MarkDamaged marks a message whose stored bytes are not those that arrived. The notice
// becomes part of the body, so that every reader shows it. The record is dropped, so
// that nobody sends it unmarked.
func MarkDamaged(m *Message) {
	if m.Damaged {
		return
	}
	m.Damaged = true
	m.Body.Raw = llms.Raw{}
	notice := llms.Part{Kind: llms.PartText, Text: DamageNotice}
	results := false
	parts := slices.Clone(m.Body.Parts)
	for i, p := range parts {
		if p.Result != nil {
			r := *p.Result
			r.Output = slices.Insert(slices.Clone(r.Output), 0, notice)
			parts[i].Result, results = &r, true
		}
	}
	if !results { // a result must come first in its message
		at := 0
		for at < len(parts) && parts[at].Kind == llms.PartReasoning {
			at++
		}
		parts = slices.Insert(parts, at, notice)
	}
	m.Body.Parts = parts
}
