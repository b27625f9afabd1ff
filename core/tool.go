package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Tool is a function that a model can call.
//
// Implementations are safe for concurrent use: a model may call the same tool
// several times in one turn, and agents run such calls in parallel.
type Tool interface {
	// GetName is the exact name by which a model calls the tool.
	GetName() string
	// Parameters is the JSON Schema of the arguments: an object schema.
	Parameters() json.RawMessage
	// Call runs the tool and returns the text for a model: the result's text,
	// or "Error: …".
	Call(ac AgentContext, args map[string]any) string
	// Run runs the tool. Callers show an error to the model as "Error: …", so
	// that it can correct the call.
	Run(ctx context.Context, args map[string]any) (Result, error)
}

// Result is the answer of a tool.
type Result struct {
	// Text is for the model. It is passed on unchanged.
	Text string
	// Blobs are images or files that belong to the answer.
	Blobs []Blob
	// Data is the answer as a value, for callers that are programs (MCP's
	// structured content). It is nil where the text is all there is.
	Data any
	// IsError says that Text reports a failure in the tool's own words.
	IsError bool
}

// Blob is an image or a file: inline bytes, or a URL that points at them.
type Blob struct {
	MIME string // its type, such as image/png
	Name string // of the file
	URL  string // where it is, without Data
	Data []byte // its bytes
}

// TextResult returns a result of text alone.
func TextResult(text string) Result { return Result{Text: text} }

// ErrorPrefix begins the text by which a failure reaches a model.
const ErrorPrefix = "Error: "

// ModelText returns the text for a model. A failure always begins with "Error: ":
// not every provider has a field for it.
func (r Result) ModelText() string {
	if r.IsError && !strings.HasPrefix(r.Text, ErrorPrefix) {
		return ErrorPrefix + r.Text
	}
	return r.Text
}

// ErrorResult returns the result that shows err to a model.
func ErrorResult(err error) Result {
	return Result{Text: ErrorPrefix + err.Error(), IsError: true}
}

// CallText is Call in terms of Run: it runs t with the context that ac
// carries, and renders the result or the error as text. Tools written by hand
// use it as the body of their Call method.
func CallText(t Tool, ac AgentContext, args map[string]any) string {
	result, err := t.Run(WithAgentContext(ac.Context(), ac), args)
	if err != nil {
		return ErrorResult(err).Text
	}
	return result.ModelText()
}

// CheckTool reports why a model could not use t: providers refuse the name, or the
// parameters are not an object schema.
func CheckTool(t Tool) error {
	if IsNil(t) {
		return errors.New("tool is nil")
	}
	if err := checkToolName(t.GetName()); err != nil {
		return err
	}
	if _, err := ParseSchema(t.Parameters()); err != nil {
		return fmt.Errorf("tool %q: parameters: %w", t.GetName(), err)
	}
	return nil
}

func checkToolName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		return fmt.Errorf("tool name %q: use 1 to 64 letters, digits, '_' or '-', which is what model providers accept", name)
	}
	return nil
}

// CheckName reports why a name cannot be that of an agent. A name must not contain
// a line break: prompts list names one to a line, and the text after the break
// could pass for another section.
func CheckName(name string) error {
	if strings.TrimSpace(name) == "" {
		return errors.New("the name is empty")
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("the name %q holds a line break or another control character", name)
		}
	}
	return nil
}

// IsNil reports whether v is nil or holds a nil pointer or function. A caller that
// ignores the error of a constructor may pass a nil pointer in an interface, which
// is not equal to nil.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return (rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Func) && rv.IsNil()
}
