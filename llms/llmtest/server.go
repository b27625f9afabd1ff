package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Exchange is one request that a server answered.
type Exchange struct {
	Face    string       // "anthropic", "chat", "responses" or "gemini"
	Path    string       // of the request
	Header  http.Header  // of the request
	Body    []byte       // as it came
	Request llms.Request // as it was understood
	Reply   Reply        // that was sent
}

// Handler answers HTTP requests with a scripted model, in four wire
// formats:
//
//	POST /v1/messages           Anthropic Messages (and …/count_tokens)
//	POST /v1/chat/completions   OpenAI Chat Completions
//	POST /v1/responses          OpenAI Responses
//	GET  /v1/models             a list of one
//	POST /v1beta/models/…       Gemini's generateContent and streamGenerateContent
//
// The paths with /v1 also work without it.
type Handler struct {
	model  Responder
	mux    *http.ServeMux
	closed chan struct{}
	once   sync.Once

	mu        sync.Mutex
	exchanges []Exchange
	usage     llms.Usage
}

// NewHandler returns a handler that answers with m.
func NewHandler(m Responder) *Handler {
	h := &Handler{model: m, mux: http.NewServeMux(), closed: make(chan struct{})}
	for _, prefix := range []string{"/v1", ""} {
		h.mux.HandleFunc("POST "+prefix+"/messages", h.face(anthropicFace))
		h.mux.HandleFunc("POST "+prefix+"/messages/count_tokens", countTokens)
		h.mux.HandleFunc("POST "+prefix+"/chat/completions", h.face(chatFace))
		h.mux.HandleFunc("POST "+prefix+"/responses", h.face(responsesFace))
		h.mux.HandleFunc("GET "+prefix+"/models", listModels)
	}
	h.mux.HandleFunc("POST /v1beta/models/{call}", h.gemini)
	h.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, map[string]any{}) })
	return h
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Exchanges returns the requests and answers so far.
func (h *Handler) Exchanges() []Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.exchanges)
}

// Usage returns the cost of all calls so far. The input counts from the first byte
// of an answer, the output from its end. An HTTP error costs nothing.
func (h *Handler) Usage() llms.Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usage
}

// wireRequest is a request of one of the formats.
type wireRequest struct {
	llms.Request
	Stream       bool
	IncludeUsage bool // Chat Completions: usage only comes when asked for
	// Namespaces has, for the Responses API, the namespace that a tool's name
	// begins with.
	Namespaces map[string]string
}

// frame is one server-sent event.
type frame struct {
	event string // the name, empty where the format has none
	data  any
	piece bool // a piece of the answer, which Fault.After counts
}

// face is one wire format.
type face struct {
	name   string
	decode func(body []byte) (wireRequest, error)
	frames func(r wireRequest, reply Reply) []frame
	whole  func(r wireRequest, reply Reply) any
	// failure is the body of an HTTP error; broken the event of an error in
	// the middle of a stream.
	failure func(f *Fault) any
	broken  func(f *Fault) frame
	// delta names the event in which something that is not JSON may come.
	delta string
}

func (h *Handler) face(f face) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		request, err := f.decode(body)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, f.failure(&Fault{Status: http.StatusBadRequest, Message: err.Error()}))
			return
		}
		reply := h.model(request.Request).finished(request.Request)
		reply = h.keep(Exchange{Face: f.name, Path: r.URL.Path, Header: r.Header, Body: body, Request: request.Request, Reply: reply})
		switch {
		case reply.Fault != nil && reply.Fault.Kind == FaultStatus:
			writeFailure(w, f, reply.Fault)
		case request.Stream:
			h.stream(w, r, f, request, reply)
		default:
			h.whole(w, f, request, reply)
		}
	}
}

// keep records an exchange and returns its reply, numbered if it has no id.
func (h *Handler) keep(e Exchange) Reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Reply.ID == "" {
		e.Reply.ID = strconv.Itoa(len(h.exchanges) + 1)
	}
	h.exchanges = append(h.exchanges, e)
	return e.Reply
}

func (h *Handler) spend(u llms.Usage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.usage = h.usage.Add(u)
}

func writeFailure(w http.ResponseWriter, f face, fault *Fault) {
	switch {
	case fault.RetryAfter >= time.Second:
		w.Header().Set("Retry-After", fmt.Sprint(int(fault.RetryAfter.Seconds())))
	case fault.RetryAfter > 0:
		w.Header().Set("Retry-After-Ms", fmt.Sprint(fault.RetryAfter.Milliseconds()))
	}
	writeJSON(w, fault.Status, f.failure(fault))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(v)) // a client that went away is no failure of the server
}

// marshal returns the JSON of a value of this package.
func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":"llmtest cannot write its own reply"}`)
	}
	return raw
}

// stream sends the reply piece by piece, as far as its fault lets it.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, f face, request wireRequest, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	out := http.NewResponseController(w)
	send := func(fr frame) {
		if fr.event != "" {
			_, _ = fmt.Fprintf(w, "event: %s\n", fr.event)
		}
		data, ok := fr.data.(string)
		if !ok {
			data = string(marshal(fr.data))
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		_ = out.Flush()
	}
	sent := 0
	frames := f.frames(request, reply)
	h.spend(inputOf(reply.Usage))
	for i, fr := range frames {
		// A fault that is due after more pieces than there are strikes before
		// the last event: the answer never comes to its end.
		if reply.Fault != nil && (fr.piece && sent >= reply.Fault.After || i == len(frames)-1) {
			h.fail(r, f, reply.Fault, send)
			return
		}
		if i == len(frames)-1 {
			h.spend(llms.Usage{OutputTokens: reply.Usage.OutputTokens}) // before the client can know that it is over
		}
		send(fr)
		if fr.piece {
			sent++
		}
	}
}

// fail breaks a stream.
func (h *Handler) fail(r *http.Request, f face, fault *Fault, send func(frame)) {
	switch fault.Kind {
	case FaultHang:
		select {
		case <-r.Context().Done():
		case <-h.closed:
		}
	case FaultBadJSON:
		send(frame{event: f.delta, data: `{"type":"` + f.delta + `","delta":`})
		return
	case FaultError:
		send(f.broken(fault))
		return
	}
	panic(http.ErrAbortHandler) // net/http then drops the connection without the final chunk
}

// whole sends the reply in one piece. One with a fault is an HTTP error.
func (h *Handler) whole(w http.ResponseWriter, f face, request wireRequest, reply Reply) {
	if reply.Fault != nil {
		writeFailure(w, f, reply.Fault)
		return
	}
	h.spend(reply.Usage)
	writeJSON(w, http.StatusOK, f.whole(request, reply))
}

func countTokens(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request, err := decodeAnthropic(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, anthropicFailure(&Fault{Status: http.StatusBadRequest, Message: err.Error()}))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"input_tokens": inputTokens(request.Request)})
}

func listModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "has_more": false, "data": []any{
		map[string]any{"id": "scripted", "object": "model", "type": "model", "display_name": "scripted", "created": created, "owned_by": "llmtest"},
	}})
}

// created is the time that answers carry: any, as long as it is the same.
const created = 1_750_000_000

// Server is a Handler that listens on loopback.
type Server struct {
	*Handler
	URL    string // http://127.0.0.1:PORT
	server *http.Server
	done   chan struct{}
}

// Serve starts a server on a free port of the loopback interface.
func Serve(m Responder) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	s := &Server{Handler: NewHandler(m), URL: "http://" + listener.Addr().String(), done: make(chan struct{})}
	s.server = &http.Server{Handler: s.Handler}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(listener) // ends with Close
	}()
	return s, nil
}

// Close stops the server and the replies that hang.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.closed) })
	err := s.server.Close()
	<-s.done
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("llmtest: %w", err)
	}
	return nil
}

// chunks cuts the JSON text of arguments the way models stream it. Cuts fall
// between characters, never inside one.
func chunks(text string) []string {
	const most = 12
	var out []string
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
		if b.Len() >= most {
			out = append(out, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}

// Client returns an HTTP client that shares no connections with others, and
// a function that closes those it holds.
func Client() (client *http.Client, closeIdle func()) {
	transport := &http.Transport{}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}
