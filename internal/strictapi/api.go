package strictapi

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

// Options set up an [API].
type Options struct {
	// Script plays the model. Side requests (titles) and compactions are answered
	// without it.
	Script Script
	// Window returns the most tokens that a request may have. Nil: 200,000, and
	// 1,000,000 where the header anthropic-beta names context-1m.
	Window func(model string, h http.Header) int
	// Key is the credential that each request must carry. Empty: any.
	Key string
	// Now is the clock of the cache. Nil: the machine's.
	Now func() time.Time
	// Seen is called with each request and its record, after it was judged.
	// It runs under the lock of the API.
	Seen func(r Record, body []byte)
}

// API is an [http.Handler] that checks requests and answers with a script.
//
// Anthropic Messages: the first message is the user's, the last is not the
// model's; a message of role system comes after a user's message and before the
// model's. Each tool_use has one tool_result in the next message, before other
// content, and each tool_result its call; ids of calls do not repeat. Thinking
// comes back with the signature that it was given. No text is empty; no message
// is. At most four cache marks, none with 1h after one with 5m, none on thinking.
//
// OpenAI: each call has one output and each output its call; Chat Completions
// wants the outputs right behind the calls. Encrypted reasoning was given out
// before, is followed by an item of the model's, and is not missing before one.
// Ids of items do not repeat.
type API struct {
	options Options
	name    string // makes the ids of two servers differ

	mu      sync.Mutex
	records []Record
	cache   cache
	issued  issued
	plays   map[string]*progress
}

// Record is one request and the verdict on it.
type Record struct {
	Face    string // "anthropic", "responses" or "chat"; empty for other paths
	Path    string
	Kind    Kind
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

// Kind is the use that a host makes of a request.
type Kind string

// The kinds of requests.
const (
	Main       Kind = "main"
	Side       Kind = "side" // without tools: a title, a suggestion
	Compaction Kind = "compaction"
	Count      Kind = "count"
	Other      Kind = "other" // of another path
)

// Input is the number of tokens that neither came from the cache nor went to it.
func (r Record) Input() int { return r.Tokens - r.Read - r.Written }

// Cost is the input cost of an accepted request, in uncached tokens.
func (r Record) Cost() float64 {
	if r.Refused != "" || r.Fault != 0 || r.Kind == Count || r.Kind == Other {
		return 0
	}
	return float64(r.Input()) + 0.1*float64(r.Read) + 1.25*float64(r.Written)
}

// New returns an API.
func New(o Options) *API {
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
	return &API{
		options: o, name: strings.ToLower(rand.Text()[:6]), cache: cache{until: map[key]time.Time{}},
		issued: issued{thinking: map[string]string{}, reasoning: map[string]string{}}, plays: map[string]*progress{},
	}
}

// Records returns the requests so far, in their order.
func (a *API) Records() []Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.records)
}

// verdict is the result of checking a request.
type verdict struct {
	model   string
	items   int
	refused string
	blocks  []block // in the order of the cache
	marked  bool    // the cache has marks, else it holds the longest prefix
}

// face is one wire format.
type face struct {
	name  string
	check func(body []byte, known issued) (verdict, error)
}

var faces = map[string]face{
	"/messages":              {"anthropic", checkAnthropic},
	"/messages/count_tokens": {"anthropic", checkAnthropic},
	"/responses":             {"responses", checkResponses},
	"/chat/completions":      {"chat", checkChat},
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	f, ok := faces[path]
	record := Record{Face: f.name, Path: r.URL.Path, Kind: Other, Header: r.Header.Clone(), Bytes: len(body), Tokens: tokens(len(body))}
	if !ok || r.Method != http.MethodPost {
		a.keep(record, body)
		if r.URL.Path == "/" || path == "/models" {
			fmt.Fprint(w, `{"object":"list","data":[],"has_more":false}`)
			return
		}
		http.NotFound(w, r)
		return
	}
	record.Session, record.Agent = caller(r.Header)
	if path == "/messages/count_tokens" {
		record.Kind = Count
	}
	v, status := a.judge(f, &record, body)
	if status != 0 {
		a.keep(record, body)
		refuse(w, f, status, record)
		return
	}
	if record.Kind == Count {
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
func (a *API) judge(f face, record *Record, body []byte) (verdict, int) {
	if a.options.Key != "" && record.Header.Get("X-Api-Key") != a.options.Key && record.Header.Get("Authorization") != "Bearer "+a.options.Key {
		record.Refused = "invalid x-api-key"
		return verdict{}, http.StatusUnauthorized
	}
	a.mu.Lock()
	v, err := f.check(body, a.issued)
	a.mu.Unlock()
	if err != nil {
		v.refused = err.Error()
	}
	record.Model, record.Items, record.Refused = v.model, v.items, v.refused
	record.Window = a.options.Window(v.model, record.Header)
	if record.Refused == "" && record.Tokens > record.Window && record.Kind != Count {
		record.Refused = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", record.Tokens, record.Window)
	}
	if record.Refused != "" {
		return v, http.StatusBadRequest
	}
	return v, 0
}

// answer plays a step and charges the request for it.
func (a *API) answer(q llms.Request, record Record, v verdict, body []byte) llmtest.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	reply, done := a.play(q, &record)
	reply.ID = fmt.Sprintf("%s%d", a.name, len(a.records)+1)
	if reply.Fault != nil && reply.Fault.Kind == llmtest.FaultStatus {
		record.Fault = reply.Fault.Status
	} else {
		record.Prefix, record.Read, record.Written = a.cache.charge(v, a.options.Now())
		reply.Usage = llms.Usage{InputTokens: record.Tokens, CacheReadTokens: record.Read, CacheWriteTokens: record.Written, OutputTokens: size(reply)}
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

// size is the number of tokens of an answer.
func size(r llmtest.Reply) int {
	n := len(r.Reasoning) + len(r.Text)
	for _, c := range r.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return tokens(n) + 1
}

func tokens(bytes int) int { return bytes / 4 }

func (a *API) keep(r Record, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keepLocked(r, body)
}

func (a *API) keepLocked(r Record, body []byte) {
	a.records = append(a.records, r)
	if a.options.Seen != nil {
		a.options.Seen(r, body)
	}
}

// refuse writes the error of the real API.
func refuse(w http.ResponseWriter, f face, status int, r Record) {
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

// Totals sums up records.
type Totals struct {
	Requests    int // main requests that were answered
	Compactions int
	Faults      int
	Refused     []string
	Largest     int // tokens of the largest accepted request
	Read        int
	Written     int
	Input       int
	Cost        float64
}

// Sum returns the totals of records.
func Sum(records []Record) Totals {
	var t Totals
	for _, r := range records {
		switch {
		case r.Refused != "":
			t.Refused = append(t.Refused, r.Refused)
			continue
		case r.Fault != 0:
			t.Faults++
			continue
		case r.Kind == Count, r.Kind == Other:
			continue
		case r.Kind == Main:
			t.Requests++
		case r.Kind == Compaction:
			t.Compactions++
		}
		t.Largest = max(t.Largest, r.Tokens)
		t.Read, t.Written, t.Input, t.Cost = t.Read+r.Read, t.Written+r.Written, t.Input+r.Input(), t.Cost+r.Cost()
	}
	return t
}

func (t Totals) String() string {
	return fmt.Sprintf("%d requests, largest %d tokens, %d compactions, %d faults, %d refused, cost %.0f (input %d, read %d, written %d)",
		t.Requests, t.Largest, t.Compactions, t.Faults, len(t.Refused), t.Cost, t.Input, t.Read, t.Written)
}

// caller returns the session and the sub-agent that a host names in a request.
func caller(h http.Header) (session, agent string) {
	for _, name := range []string{"X-Claude-Code-Session-Id", "Thread-Id", "Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		if session = h.Get(name); session != "" {
			return session, h.Get("X-Claude-Code-Agent-Id")
		}
	}
	return "", ""
}
