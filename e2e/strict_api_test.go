package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// apiOptions set up a strictAPI.
type apiOptions struct {
	// Script plays the model. Side requests (titles) and compactions are answered
	// without it.
	Script playScript
	// Window returns the most tokens that a request may have. Nil: 200,000, and
	// 1,000,000 where the header anthropic-beta names context-1m.
	Window func(model string, h http.Header) int
	// Key is the credential that each request must carry. Empty: any.
	Key string
	// Now is the clock of the cache. Nil: the machine's.
	Now func() time.Time
	// Seen is called with each request and its record, after it was judged.
	// It runs under the lock of the API.
	Seen func(r apiRecord, body []byte)
}

// strictAPI is a scripted model behind HTTP that refuses the requests that the real
// APIs refuse. It serves Anthropic Messages (with count_tokens), OpenAI Responses,
// OpenAI Chat Completions and Gemini's generateContent. llmtest writes the answers; strictAPI adds:
//
//   - It checks each request against the rules below and refuses it with the error
//     of the real API.
//   - It counts input from the bytes received, four for a token. The input must fit
//     the window.
//   - It simulates the provider's prompt cache. The cost of a request is
//     input + 0.1 × read + 1.25 × written, in units of an uncached token.
//   - It keeps an apiRecord of each request: its size, verdict, cache use and cost.
//
// A playScript decides each step of the model. The step is read from the end of the
// request: a prompt names a play ("play:long1"), and the ids of the calls carry the
// play and the step. So a script works on a request whose old messages were
// replaced, in a resumed session, in a sub-agent and after a rewind.
//
// The rules of Anthropic Messages:
// the first message is the user's, the last is not the
// model's; a message of role system comes after a user's message and before the
// model's. Each tool_use has one tool_result in the next message, before other
// content, and each tool_result its call; ids of calls do not repeat. Thinking
// comes back with the signature that it was given. No text is empty; no message
// is. At most four cache marks, none with 1h after one with 5m, none on thinking.
//
// The rules of OpenAI: each call has one output and each output its call; Chat Completions
// wants the outputs right behind the calls. Encrypted reasoning was given out
// before, is followed by an item of the model's, and is not missing before one.
// Ids of items do not repeat.
//
// The rules of Gemini: the first content is the user's; the calls of a content have their
// responses in the next one, and each response its call.
type strictAPI struct {
	options apiOptions
	name    string // makes the ids of two servers differ

	mu      sync.Mutex
	records []apiRecord
	cache   promptCache
	issued  issuedSignatures
	plays   map[string]*playProgress
}

// apiRecord is one request and the verdict on it.
type apiRecord struct {
	Face    string // "anthropic", "responses", "chat" or "gemini"; empty for other paths
	Path    string
	Kind    requestKind
	Model   string
	Session string
	Agent   string // of a sub-agent
	Header  http.Header

	Bytes  int
	Tokens int
	Window int
	Items  int // messages, or items of the Responses API

	// Refused is the error of a request that breaks a rule; empty if it is
	// valid. Fault is the status that the script failed it with.
	Refused string
	Fault   int

	Play    string
	Step    int
	Prefix  int // tokens up to the last cache mark; where there are no marks, all that can be cached
	Read    int // tokens from the cache
	Written int // tokens written to the cache
}

// requestKind is the use that a host makes of a request.
type requestKind string

// The kinds of requests.
const (
	mainRequest       requestKind = "main"
	sideRequest       requestKind = "side" // without tools: a title, a suggestion
	compactionRequest requestKind = "compaction"
	countRequest      requestKind = "count"
	otherRequest      requestKind = "other" // of another path
)

// Input is the number of tokens that neither came from the cache nor went to it.
func (r apiRecord) Input() int { return r.Tokens - r.Read - r.Written }

// Cost is the input cost of an accepted request, in uncached tokens.
func (r apiRecord) Cost() float64 {
	if r.Refused != "" || r.Fault != 0 || r.Kind == countRequest || r.Kind == otherRequest {
		return 0
	}
	return float64(r.Input()) + 0.1*float64(r.Read) + 1.25*float64(r.Written)
}

// newStrictAPI returns an API.
func newStrictAPI(o apiOptions) *strictAPI {
	if o.Window == nil {
		o.Window = func(_ string, h http.Header) int {
			if strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), "context-1m") {
				return 1_000_000
			}
			return 200_000
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &strictAPI{
		options: o, name: strings.ToLower(rand.Text()[:6]), cache: promptCache{until: map[cacheKey]time.Time{}},
		issued: issuedSignatures{thinking: map[string]string{}, reasoning: map[string]string{}}, plays: map[string]*playProgress{},
	}
}

// Records returns the requests so far, in their order.
func (a *strictAPI) Records() []apiRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.records)
}

// apiVerdict is the result of checking a request.
type apiVerdict struct {
	model   string
	items   int
	refused string
	blocks  []cacheBlock // in the order of the cache
	marked  bool         // the cache has marks, else it holds the longest prefix
}

// apiFormat is one wire format.
type apiFormat struct {
	name  string
	check func(body []byte, known issuedSignatures) (apiVerdict, error)
}

var apiFormats = map[string]apiFormat{
	"/messages":              {"anthropic", checkAnthropic},
	"/messages/count_tokens": {"anthropic", checkAnthropic},
	"/responses":             {"responses", checkResponses},
	"/chat/completions":      {"chat", checkChat},
	geminiPath:               {"gemini", checkGemini},
}

// ServeHTTP implements [http.Handler].
func (a *strictAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	if strings.HasSuffix(path, "enerateContent") {
		path = geminiPath
	}
	f, ok := apiFormats[path]
	record := apiRecord{Face: f.name, Path: r.URL.Path, Kind: otherRequest, Header: r.Header.Clone(), Bytes: len(body), Tokens: bytesToTokens(len(body))}
	if !ok || r.Method != http.MethodPost {
		a.keep(record, body)
		if r.URL.Path == "/" || path == "/models" {
			fmt.Fprint(w, `{"object":"list","data":[],"has_more":false}`)
			return
		}
		http.NotFound(w, r)
		return
	}
	record.Session, record.Agent = apiCaller(r.Header)
	if path == "/messages/count_tokens" {
		record.Kind = countRequest
	}
	v, status := a.judge(f, &record, body)
	if status != 0 {
		a.keep(record, body)
		refuseRequest(w, f, status, record)
		return
	}
	if record.Kind == countRequest {
		a.keep(record, body)
		fmt.Fprintf(w, `{"input_tokens":%d}`, record.Tokens)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	llmtest.NewHandler(func(q llms.Request) llmtest.Reply {
		return a.answer(q, record, v, body)
	}).ServeHTTP(w, r)
}

// judge checks a request. It returns a status if the request is refused.
func (a *strictAPI) judge(f apiFormat, record *apiRecord, body []byte) (apiVerdict, int) {
	if a.options.Key != "" && record.Header.Get("X-Api-Key") != a.options.Key && record.Header.Get("Authorization") != "Bearer "+a.options.Key {
		record.Refused = "invalid x-api-key"
		return apiVerdict{}, http.StatusUnauthorized
	}
	a.mu.Lock()
	v, err := f.check(body, a.issued)
	a.mu.Unlock()
	if err != nil {
		v.refused = err.Error()
	}
	record.Model, record.Items, record.Refused = v.model, v.items, v.refused
	record.Window = a.options.Window(v.model, record.Header)
	if record.Refused == "" && record.Tokens > record.Window && record.Kind != countRequest {
		record.Refused = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", record.Tokens, record.Window)
	}
	if record.Refused != "" {
		return v, http.StatusBadRequest
	}
	return v, 0
}

// answer plays a step and charges the request for it.
func (a *strictAPI) answer(q llms.Request, record apiRecord, v apiVerdict, body []byte) llmtest.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	reply, done := a.play(q, &record)
	reply.ID = fmt.Sprintf("%s%d", a.name, len(a.records)+1)
	if reply.Fault != nil && reply.Fault.Kind == llmtest.FaultStatus {
		record.Fault = reply.Fault.Status
	} else {
		record.Prefix, record.Read, record.Written = a.cache.charge(v, a.options.Now())
		reply.Usage = llms.Usage{InputTokens: record.Tokens, CacheReadTokens: record.Read, CacheWriteTokens: record.Written, OutputTokens: replySize(reply)}
		if reply.Reasoning != "" {
			reply.Signature = a.issued.sign(reply, len(a.records)+1)
		}
	}
	if reply.Fault == nil {
		done()
	}
	a.keepLocked(record, body)
	return reply
}

// replySize is the number of tokens of an answer.
func replySize(r llmtest.Reply) int {
	n := len(r.Reasoning) + len(r.Text)
	for _, c := range r.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return bytesToTokens(n) + 1
}

func bytesToTokens(bytes int) int { return bytes / 4 }

func (a *strictAPI) keep(r apiRecord, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keepLocked(r, body)
}

func (a *strictAPI) keepLocked(r apiRecord, body []byte) {
	a.records = append(a.records, r)
	if a.options.Seen != nil {
		a.options.Seen(r, body)
	}
}

// refuseRequest writes the error of the real API.
func refuseRequest(w http.ResponseWriter, f apiFormat, status int, r apiRecord) {
	kind := "invalid_request_error"
	if status == http.StatusUnauthorized {
		kind = "authentication_error"
	}
	var body any = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": r.Refused}}
	if f.name != "anthropic" {
		code, message := kind, r.Refused
		if r.Tokens > r.Window {
			code, message = "context_length_exceeded", "Your input exceeds the context window of this model. "+message
		}
		body = map[string]any{"error": map[string]any{"type": kind, "code": code, "message": message, "param": nil}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false) // hosts look for "tokens > "
	_ = out.Encode(body)     // a client that went away is no failure of the server
}

// apiCaller returns the session and the sub-agent that a host names in a request.
func apiCaller(h http.Header) (session, agent string) {
	for _, name := range []string{"X-Claude-Code-Session-Id", "Thread-Id", "Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		if session = h.Get(name); session != "" {
			return session, h.Get("X-Claude-Code-Agent-Id")
		}
	}
	return "", ""
}
