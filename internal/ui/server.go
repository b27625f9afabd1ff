package ui

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

//go:embed templates/*.html
var templateFiles embed.FS

// Config says what a server shows.
type Config struct {
	Engine *lcm.Engine
	// Scratch returns an engine on an empty store of its own, with the settings of
	// Engine but no model, and a function that closes both. The context page folds
	// a copy of the messages there.
	Scratch func(context.Context) (*lcm.Engine, func() error, error)
	// Branches lists the branches of a conversation that were left. It may be nil.
	Branches func(context.Context, store.ConversationID) ([]stats.Branch, error)
	// Resume returns the command that opens a conversation in its host, or "", and whether the host
	// still has it. It may be nil.
	Resume func(context.Context, store.Conversation) (command string, there bool, err error)
	Budget int    // of the context page, unless the user chooses another
	Home   string // the user's directory, which pages write as ~
}

// Server serves the pages.
type Server struct {
	Config
	*reader
	guard     *guard
	templates *templates
}

// reader reads the record for the pages.
type reader struct {
	record       store.Store
	listBranches func(context.Context, store.ConversationID) ([]stats.Branch, error)
}

// New returns a server.
func New(c Config) (*Server, error) {
	t, err := parseTemplates(templateFiles, "templates", functions(time.Local, c.Home))
	if err != nil {
		return nil, err
	}
	read := &reader{record: c.Engine.Store(), listBranches: c.Branches}
	return &Server{Config: c, reader: read, guard: newGuard(), templates: t}, nil
}

// functions returns those that templates call beside the built-in ones. Times are written in
// a zone, and paths below home with ~.
func functions(zone *time.Location, home string) map[string]any {
	format := func(layout string) func(time.Time) string {
		return func(t time.Time) string { return t.In(zone).Format(layout) }
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return format("2006-01-02 15:04")(t)
	}
	return map[string]any{
		"number": func(n int64) string { return prose.Number(n) },
		"count":  func(n int64, one, many string) string { return prose.Count(n, one, many) },
		"size":   prose.Size,
		"line":   safetext.Line,
		"text":   safetext.Text,
		"clip":   prose.Clip,
		"path":   func(path string) string { return safetext.Line(tilde(path, home)) },
		"when":   func(t time.Time) markup { return timeTag(t, when(t)) },
		"at":     func(t time.Time) markup { return timeTag(t, format("15:04")(t)) },
		"zone":   func() string { return prose.Zone(time.Now().In(zone)) },
		"offset": func() string { return time.Now().In(zone).Format("-07:00") },
		"zero":   time.Time.IsZero,
		"roles": func() []llms.Role {
			return []llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleTool, llms.RoleSystem}
		},
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":    format("15:04"),
		"date":     format(time.DateOnly),
		"day":      format("2 January 2006"),
		"days":     func(d sessionData) markup { return d.days(zone) },
		"relation": sessionData.relation,
		"shapes":   func(m mapData) []Shape { return m.shapes(when) },
		"bands":    mapData.bands,
		"asset":    asset,
		"summary":  summaryText,
		"expand":   summaryData.expand,
		"newest":   sentData.newestFirst,
		"round":    func(n float64) string { return prose.Number(int64(n)) },
		"passages": passages,
	}
}

// tilde writes a path below home with ~.
func tilde(path, home string) string {
	if below, ok := strings.CutPrefix(path, home); ok && home != "" && (below == "" || below[0] == '/' || below[0] == '\\') {
		return "~" + below
	}
	return path
}

// zoneOf returns the zone of the reader, which the script of the pages keeps in a cookie, else
// that of the server.
func zoneOf(r *http.Request) *time.Location {
	if c, err := r.Cookie("lcm_zone"); err == nil && c.Value != "" {
		if zone, err := time.LoadLocation(c.Value); err == nil {
			return zone
		}
	}
	return time.Local
}

func timeTag(t time.Time, text string) markup {
	if t.IsZero() {
		return ""
	}
	return markup(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339), text))
}

// Token returns the token of the link to open, which works once.
func (s *Server) Token() string { return s.guard.token }

// Handler returns the handler of all pages.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	page(s, mux, "/{$}", "/sessions", "home", s.home)
	page(s, mux, "/session/{id}", "", "session", s.sessionPage)
	page(s, mux, "/session/{id}/map", "", "map", s.mapPage)
	page(s, mux, "/session/{id}/stored", "", "stored", s.storedPage)
	page(s, mux, "/session/{id}/context", "", "context", s.contextPage)
	page(s, mux, "/session/{id}/sent", "", "sent", s.sentPage)
	page(s, mux, "/message/{id}", "", "message", s.messagePage)
	page(s, mux, "/summary/{id}", "", "summary", s.summaryPage)
	page(s, mux, "/file/{id}", "", "file", s.filePage)
	page(s, mux, "/search", "", "search", s.searchPage)
	page(s, mux, "/why", "", "why", s.whyPage)
	mux.HandleFunc("GET /session/{id}/export", s.exportSession)
	mux.HandleFunc("GET /file/{id}/content", s.fileContent)
	mux.HandleFunc("GET /session/{id}/events", s.events)
	mux.HandleFunc("GET /assets/{run}/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=86400")
		http.ServeFileFS(w, r, assetFiles, "assets/"+r.PathValue("name"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, notFound("", "There is no page at this address."))
	})
	return s.guard.wrap(mux)
}

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		_ = srv.Close()
		<-done
		return nil
	}
}

// frame is the data of a template: the page's own data and the search box's.
type frame struct {
	Title string
	Query string
	Data  any
}

// titled is data that names its page.
type titled interface{ title() string }

// page registers a page and its JSON. An empty api has the path of the page.
func page[T any](s *Server, mux *http.ServeMux, path, api, name string, load func(*http.Request) (T, error)) {
	if api == "" {
		api = path
	}
	handle := func(w http.ResponseWriter, r *http.Request) { answer(s, w, r, name, load) }
	mux.HandleFunc("GET "+path, handle)
	mux.HandleFunc("GET /api"+api, handle)
}

func fromAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// later reports whether a request wants a page without the part that takes long. The
// script of the page asks for that part with ?fragment=1; ?now=1 is for browsers
// without scripts.
func later(r *http.Request) bool {
	q := r.URL.Query()
	return !fromAPI(r) && q.Get("fragment") == "" && q.Get("now") == ""
}

// answer loads the data of a page and renders it, or writes it as JSON.
func answer[T any](s *Server, w http.ResponseWriter, r *http.Request, name string, load func(*http.Request) (T, error)) {
	data, err := load(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if fromAPI(r) {
		writeJSON(w, http.StatusOK, data)
		return
	}
	s.render(w, r, http.StatusOK, name, data)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the browser is gone
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, code int, name string, data any) {
	f := frame{Title: "lcm", Data: data}
	if strings.HasPrefix(r.URL.Path, "/search") {
		f.Query = r.URL.Query().Get("q")
	}
	if t, ok := data.(titled); ok {
		f.Title = safetext.Line(t.title())
	}
	whole := name + ".html"
	if r.URL.Query().Get("fragment") != "" {
		whole = name
	}
	var b bytes.Buffer
	inZone := &templates{s.templates.trees, functions(zoneOf(r), s.Home)}
	if err := inZone.execute(&b, whole, f); err != nil {
		http.Error(w, "the page could not be rendered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the browser is gone
}

// failure is the data of the page of an error.
type failure struct {
	Code    int
	Message string
	Hint    string
}

func (f failure) title() string {
	if f.Code == http.StatusNotFound {
		return "Not found"
	}
	return "Not shown"
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if fromAPI(r) {
		writeJSON(w, status(err), map[string]string{"error": message(err)})
		return
	}
	text, advice := hint.Split(err)
	s.render(w, r, status(err), "failure", failure{status(err), safetext.Line(text), safetext.Line(advice)})
}

// missing returns the error for something that the record does not have. Any other
// error stays as it is.
func missing(err error, kind, name string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return notFound("It may have been erased, or the link is of another database.", "There is no %s %s in this record.", kind, prose.Clip(name, 60))
}

func notFound(advice, format string, args ...any) error {
	e := hint.New(advice, format, args...)
	e.Kind = store.ErrNotFound
	return e
}

func message(err error) string {
	text, advice := hint.Split(err)
	return strings.TrimSpace(text + "\n" + advice)
}

// refusal returns an error and its advice in one line.
func refusal(err error) string {
	return safetext.Line(strings.ReplaceAll(message(err), "\n", "; "))
}

// errBadRequest is the kind of errors in the address of a page.
var errBadRequest = errors.New("the address is wrong")

func status(err error) int {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, recall.ErrRefused), errors.Is(err, errBadRequest):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
