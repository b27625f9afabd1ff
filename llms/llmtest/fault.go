package llmtest

import (
	"net/http"
	"strings"
	"time"
)

// FaultKind is a way to fail.
type FaultKind string

// The ways to fail.
const (
	FaultStatus  FaultKind = "status"   // an HTTP error instead of an answer
	FaultCut     FaultKind = "cut"      // the connection breaks in the middle
	FaultHang    FaultKind = "hang"     // nothing more comes until the client gives up
	FaultBadJSON FaultKind = "bad_json" // the stream goes on with something that is not JSON
	FaultError   FaultKind = "error"    // the stream ends with an error event of the provider's
)

// Fault makes a reply fail.
type Fault struct {
	Kind FaultKind
	// After is how many pieces of the answer come first. It does not apply to
	// FaultStatus.
	After int
	// Status and the rest describe FaultStatus and FaultError.
	Status     int
	Code       string // the provider's name for it; derived from Status when empty
	Message    string
	RetryAfter time.Duration
}

// Status returns a reply that is an HTTP error. Clients that retry are asked
// to do so at once.
func Status(status int, message string) Reply {
	return Reply{Fault: &Fault{Kind: FaultStatus, Status: status, Message: message, RetryAfter: time.Millisecond}}
}

// Broken returns the reply failing after the given number of pieces.
func (r Reply) Broken(kind FaultKind, after int) Reply {
	r.Fault = &Fault{Kind: kind, After: after, Status: http.StatusInternalServerError, Message: "scripted failure"}
	return r
}

// anthropicCode is the Messages API's name for a failure.
func (f *Fault) anthropicCode() string {
	if f.Code != "" {
		return f.Code
	}
	switch f.Status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if f.Status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// openAICode is OpenAI's name for a failure.
func (f *Fault) openAICode() string {
	if f.Code != "" {
		return f.Code
	}
	switch {
	case f.Status == http.StatusUnauthorized:
		return "invalid_api_key"
	case f.Status == http.StatusNotFound:
		return "model_not_found"
	case f.Status == http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case f.Status >= 500:
		return "server_error"
	case strings.Contains(f.Message, "maximum context length"):
		return "context_length_exceeded"
	}
	return "invalid_request_error"
}
