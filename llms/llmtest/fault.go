package llmtest

import (
	"cmp"
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
	Kind FaultKind // what goes wrong
	// After is how many pieces of the answer come first. It does not apply to
	// FaultStatus.
	After int
	// Status and the rest describe FaultStatus and FaultError.
	Status     int
	Code       string        // the provider's name for it; derived from Status when empty
	Message    string        // of the error
	RetryAfter time.Duration // that the error names
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

var anthropicCodes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	529:                              "overloaded_error",
}

var openAICodes = map[int]string{
	http.StatusUnauthorized:    "invalid_api_key",
	http.StatusNotFound:        "model_not_found",
	http.StatusTooManyRequests: "rate_limit_exceeded",
}

// anthropicCode is the Messages API's name for a failure.
func (f *Fault) anthropicCode() string { return f.code(anthropicCodes[f.Status], "api_error") }

// openAICode is OpenAI's name for a failure.
func (f *Fault) openAICode() string {
	known := openAICodes[f.Status]
	if f.Status < 500 && strings.Contains(f.Message, "maximum context length") {
		known = cmp.Or(known, "context_length_exceeded")
	}
	return f.code(known, "server_error")
}

// code returns the name of a failure: the scripted one, a known one, or a general one.
func (f *Fault) code(known, server string) string {
	if f.Status < 500 {
		server = "invalid_request_error"
	}
	return cmp.Or(f.Code, known, server)
}
