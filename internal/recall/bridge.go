package recall

import "github.com/lossless-context/lcm/recall"

// The requests and answers, which are public.
type (
	Where           = recall.Where
	Scope           = recall.Scope
	GrepRequest     = recall.GrepRequest
	GrepAnswer      = recall.GrepAnswer
	Match           = recall.Match
	Context         = recall.Context
	Neighbour       = recall.Neighbour
	Widened         = recall.Widened
	Elsewhere       = recall.Elsewhere
	DescribeRequest = recall.DescribeRequest
	DescribeAnswer  = recall.DescribeAnswer
	SummaryDetail   = recall.SummaryDetail
	FileDetail      = recall.FileDetail
	MessageDetail   = recall.MessageDetail
	PartInfo        = recall.PartInfo
	Branch          = recall.Branch
	ExpandRequest   = recall.ExpandRequest
	ExpandAnswer    = recall.ExpandAnswer
	Piece           = recall.Piece
	EmbedLimits     = recall.EmbedLimits
	EmbedReport     = recall.EmbedReport
)

// The kinds of scope and of things to search, and bounds.
const (
	ScopeConversation = recall.ScopeConversation
	ScopeCurrent      = recall.ScopeCurrent
	ScopeProject      = recall.ScopeProject
	ScopeAll          = recall.ScopeAll
	InMessages        = recall.InMessages
	InSummaries       = recall.InSummaries
	InBoth            = recall.InBoth
	InFiles           = recall.InFiles
	DefaultLimit      = recall.DefaultLimit
	MaxLimit          = recall.MaxLimit
	MaxContext        = recall.MaxContext
)

// The errors of package recall.
var (
	ErrRefused    = recall.ErrRefused
	ErrOutOfScope = recall.ErrOutOfScope
)
