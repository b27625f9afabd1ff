// Package summary turns a run of messages, or of older summaries, into one
// shorter text.
//
// [Summariser] is the port. [Extractive] is the implementation that is always
// there: it needs no model, no network and no clock, the same input gives the
// same bytes, and every sentence it emits occurs word for word in a source.
// Model-backed summarisers implement the same port; package compact decides
// which to ask, in which order, and whether to accept their texts.
//
// The last line of a summary names what its sources have and it lacks: files, identifiers,
// numbers, standing instructions of the user, the best first. A summary of summaries has
// those of its sources to choose from. [EnsureFooter] puts such a line under a model's text
// that lacks one.
//
// A summariser writes prose only. Ids, counts, time ranges and everything
// else that must be true are added by the engine, which never trusts a
// summariser with them.
package summary

import "github.com/lossless-context/lcm/record"

// Footer begins the last line of every summary, which names what was left out.
const Footer = "Expand for details about: "

// The data types of summaries, which are public.
type (
	Kind       = record.SummaryKind
	Level      = record.SummaryLevel
	Source     = record.SummarySource
	Request    = record.SummaryRequest
	Result     = record.SummaryText
	Summariser = record.Summariser
)

// The kinds and levels of summaries.
const (
	Leaf       = record.Leaf
	Condensed  = record.Condensed
	Normal     = record.Normal
	Aggressive = record.Aggressive
	Fallback   = record.Fallback
)
