package llms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Class is the kind of a failed model call. It tells a caller what to do.
type Class string

// The classes.
const (
	// ClassAuth: the key is missing, wrong or not allowed to do this. Use
	// another key.
	ClassAuth Class = "auth"
	// ClassQuota: the account has used up a limit, of rate or of money. Wait
	// (RetryAfter, where the provider says so) or pay.
	ClassQuota Class = "quota"
	// ClassContextLength: the prompt is too long for the model. Shorten it.
	ClassContextLength Class = "context_length"
	// ClassTransient: the provider or the network failed. Try again.
	ClassTransient Class = "transient"
	// ClassInvalid: the provider refuses the request as it is: an unknown
	// model, a malformed tool. Correct it.
	ClassInvalid Class = "invalid"
	// ClassCanceled: the caller gave up, or its deadline passed.
	ClassCanceled Class = "canceled"
)

// Error is a failed model call. Its text carries no key.
type Error struct {
	Class    Class  // what kind of failure it is
	Provider string // whose error it is
	Status   int    // of HTTP, 0 without one
	Message  string // of the provider
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Usage is the cost of the call until it failed, as far as the provider
	// reported it.
	Usage Usage

	// cause is ErrIdle or the error of a context, never the SDK's own: that
	// holds the request, and with it the key.
	cause error
}

// Error returns the message and, after a semicolon, the hint.
func (e *Error) Error() string { return e.hinted().Error() }

// As lets package hint take the message and the hint apart.
func (e *Error) As(target any) bool {
	h, ok := target.(**hint.Error)
	if ok {
		*h = e.hinted()
	}
	return ok
}

func (e *Error) hinted() *hint.Error {
	from := e.Provider
	if e.Status != 0 {
		from = fmt.Sprintf("%s: HTTP %d", from, e.Status)
	}
	return hint.New(e.advice(), "%s: %s", from, e.Message)
}

func (e *Error) advice() string {
	switch e.Class {
	case ClassAuth:
		return "check the API key"
	case ClassQuota:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("the provider asks to wait %v", e.RetryAfter)
		}
		return "a limit of the account is reached"
	case ClassContextLength:
		return "the prompt is too long for the model"
	case ClassTransient:
		return "try again"
	case ClassInvalid:
		if e.Status == http.StatusNotFound {
			return "check the name of the model and the base URL"
		}
	}
	return ""
}

// Unwrap returns the error of the context that ended the call, if one did.
func (e *Error) Unwrap() error { return e.cause }

// Costing returns the error with the cost of the failed call.
func (e *Error) Costing(u Usage) *Error {
	costing := *e
	costing.Usage = u
	return &costing
}

// ClassOf returns the class of a failed model call, or "" if err is none.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}

// Canceled returns the error of a call that ended with its context.
func Canceled(ctx context.Context, provider string) *Error {
	return &Error{Class: ClassCanceled, Provider: provider, Message: "the call was given up: " + context.Cause(ctx).Error(),
		cause: errors.Join(ctx.Err(), context.Cause(ctx))}
}

// Truncated returns the error of a stream that stopped without an end: the
// context's, if that is why, else a transient one.
func Truncated(ctx context.Context, provider string) *Error {
	if ctx.Err() != nil {
		return Canceled(ctx, provider)
	}
	return &Error{Class: ClassTransient, Provider: provider, Message: "the answer broke off before its end"}
}

// Failure describes a failed call to [Classify], as far as a provider's SDK
// reports it.
type Failure struct {
	Provider string      // whose error it is
	Status   int         // of HTTP, 0 where there was no answer
	Code     string      // the provider's own name for the failure
	Message  string      // of the provider
	Header   http.Header // of the answer, for Retry-After
	Secrets  []string    // texts that must not appear in the error
}

// Classify returns the Error for a failure.
func Classify(f Failure) *Error {
	e := &Error{Provider: f.Provider, Status: f.Status, RetryAfter: retryAfter(f.Header)}
	e.Message = Redact(strings.Join(strings.Fields(f.Message), " "), f.Secrets...)
	if e.Message == "" {
		e.Message = "the provider gave no reason"
	}
	e.Class = classOf(f)
	return e
}

// classOf goes by the most certain sign: the status, then the provider's own code.
// The words of the message decide only where neither does, and only for failures
// that providers report in no other way: a message may quote anything, such as the
// name of a tool.
func classOf(f Failure) Class {
	if class := classOfStatus(f.Status); class != "" {
		return class
	}
	for code := range strings.FieldsSeq(strings.ToLower(f.Code)) {
		if class, ok := classOfCode[code]; ok {
			return class
		}
	}
	if f.Status == 0 || f.Status == http.StatusBadRequest {
		if tooLong().MatchString(f.Message) {
			return ClassContextLength
		}
		if noCredit().MatchString(f.Message) {
			return ClassQuota
		}
	}
	if f.Status >= 400 || refusedCode().MatchString(f.Code) {
		return ClassInvalid
	}
	return ClassTransient // no answer at all: the network
}

// classOfStatus returns "" where the status leaves it open.
func classOfStatus(status int) Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ClassAuth
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return ClassQuota
	case status == http.StatusRequestEntityTooLarge:
		return ClassContextLength
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return ClassTransient
	}
	return ""
}

var classOfCode = map[string]Class{
	"context_length_exceeded":    ClassContextLength,
	"request_too_large":          ClassContextLength,
	"exceed_context_size_error":  ClassContextLength,
	"authentication_error":       ClassAuth,
	"permission_error":           ClassAuth,
	"invalid_api_key":            ClassAuth,
	"insufficient_quota":         ClassQuota,
	"billing_error":              ClassQuota,
	"billing_hard_limit_reached": ClassQuota,
	"rate_limit_error":           ClassQuota,
	"rate_limit_exceeded":        ClassQuota,
	"overloaded_error":           ClassTransient,
	"api_error":                  ClassTransient,
	"server_error":               ClassTransient,
	"timeout_error":              ClassTransient,
}

var (
	refusedCode = lazyregexp.New(`(?i)\b(?:invalid_request_error|not_found_error)\b`)
	tooLong     = lazyregexp.New(`(?is)\b(?:prompt|input) is too long\b|\bmaximum (?:context|prompt) length\b|` +
		`\bexceeds? the maximum number of tokens\b|\bexceed\w*\b.{0,80}\bcontext (?:window|limit|length|size)\b|` +
		`\bcontext (?:window|limit|length|size)\b.{0,40}\bexceed`)
	noCredit = lazyregexp.New(`(?i)\bcredit balance\b`)
)

// keyLike matches texts that look like keys of providers or parts of them. An error
// page may quote a key, also one that this program did not send.
var keyLike = lazyregexp.New(`\b(?:sk|key|xai|gsk|pplx|gh[pousr])[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[A-Za-z0-9_\-]{6,}|` +
	`(?i:bearer)\s+[A-Za-z0-9_\-.~+/=]{8,}`)

// keyPlace matches a key of any form by the text around it.
var keyPlace = lazyregexp.New(`((?i:x-api-key|api[-_]key)["']?\s*[:=]\s*["']?)[^\s"',&]{4,}|(://[^\s/:@]*:)[^\s/@]+(@)`)

// Redact removes the given secrets, and everything that looks like an API key,
// from a text.
func Redact(text string, secrets ...string) string {
	const hidden = "[redacted]"
	for _, secret := range secrets {
		if len(secret) >= 4 { // a shorter one would shred the text, and is no secret
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	text = keyPlace().ReplaceAllString(text, "${1}${2}"+hidden+"${3}")
	return keyLike().ReplaceAllString(text, hidden)
}

// Auth reports whether a key was refused. It lets packages that know nothing
// of models tell this failure from others by its type.
func (e *Error) Auth() bool { return e.Class == ClassAuth }
