package store

import (
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// The data types of the record, which are public.
type (
	Project           = record.Project
	Conversation      = record.Conversation
	ConversationQuery = record.ConversationQuery
	ConversationID    = record.ConversationID
	MessageID         = record.MessageID
	SummaryID         = record.SummaryID
	PayloadID         = record.PayloadID
	ID                = record.ID
	Message           = record.Message
	Flag              = record.Flag
	Appended          = record.AppendResult
	Summary           = record.Summary
	Branch            = record.Branch
	Verification      = record.Verification
	Fault             = record.Fault
	Erasure           = record.EraseRequest
	Erased            = record.EraseResult
	Mode              = recall.Mode
	Sort              = recall.Sort
)

// The flags of messages, the modes and orders of searches, and notices.
const (
	FlagEcho             = record.FlagEcho
	FlagHostSummary      = record.FlagHostSummary
	FlagSynthetic        = record.FlagSynthetic
	FlagDuplicate        = record.FlagDuplicate
	FlagUnknown          = record.FlagUnknown
	FlagRedacted         = record.FlagRedacted
	FlagHidden           = record.FlagHidden
	FlagErased           = record.FlagErased
	FlagMasked           = record.FlagMasked
	Regex                = recall.Regex
	FullText             = recall.FullText
	ByRecency            = recall.ByRecency
	ByRelevance          = recall.ByRelevance
	DamageNotice         = record.DamageNotice
	DamagedSummaryNotice = record.DamagedSummaryNotice
)

// ParseID parses an id.
var ParseID = record.ParseID

// The errors of package record.
var (
	ErrNotFound = record.ErrNotFound
	ErrArchived = record.ErrArchived
	ErrReadOnly = record.ErrReadOnly
	ErrDamaged  = record.ErrDamaged
)
