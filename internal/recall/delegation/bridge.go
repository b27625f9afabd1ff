package delegation

import "github.com/lossless-context/lcm/recall"

// The data types of questions and answers, which are public.
type (
	Request  = recall.Question
	Answer   = recall.Answer
	Citation = recall.Citation
	Limits   = recall.Limits
	Usage    = recall.Usage
)

// Values and bounds of questions and answers.
const (
	DefaultMaxTokens    = recall.DefaultMaxTokens
	MinMaxTokens        = recall.MinMaxTokens
	MaxMaxTokens        = recall.MaxMaxTokens
	OutputAnswer        = recall.OutputAnswer
	OutputEvidence      = recall.OutputEvidence
	MethodDelegated     = recall.MethodDelegated
	MethodEvidence      = recall.MethodEvidence
	MethodNone          = recall.MethodNone
	DefaultExpandTokens = recall.DefaultExpandTokens
	DefaultPageTokens   = recall.DefaultPageTokens
	DefaultTimeout      = recall.DefaultTimeout
	DefaultParallel     = recall.DefaultParallel
	DefaultModelTokens  = recall.DefaultModelTokens
)
