package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// plainServer knows no calibration: a unit is 0.28 tokens.
func plainServer(t *testing.T) *Server {
	return &Server{cal: newCalibration(noState{}), ctx: t.Context()}
}

// A request has a reason to be above its budget only if it was sent above it, by the count of the API or, without
// an answer, by the estimate.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*call)
		used   int
		want   string
	}{
		"within":                {nil, 100, ""},
		"above":                 {nil, 101, CountedMore},
		"no answer, within":     {func(c *call) { c.made.Tokens = 100 }, 0, ""},
		"no answer, above":      {func(c *call) { c.made.Tokens, c.made.Over = 101, NotFolded }, 0, NotFolded},
		"it fits after all":     {func(c *call) { c.made.Over = NotFolded }, 100, ""},
		"a failure":             {func(c *call) { c.made.Failure = "x" }, 101, "x"},
		"no budget":             {func(c *call) { c.made.Budget = 0 }, 101, ""},
		"observed":              {func(c *call) { c.server.Observe = true }, 101, ""},
		"a subscription":        {func(c *call) { c.made.Subscription = true }, 101, ""},
		"answered by the proxy": {func(c *call) { c.answer = &answer{} }, 101, ""},
	} {
		one := &call{server: &Server{}, made: Composition{Budget: 100}}
		if c.change != nil {
			c.change(one)
		}
		if one.judge(apiUsage{Input: c.used}); one.made.Over != c.want {
			t.Errorf("%s: %q, want %q", name, one.made.Over, c.want)
		}
	}
}

// conversation makes a request of messages with sizes: a prompt, and then answers and results.
func conversation(sizes ...int) *apiform.Request {
	r := &apiform.Request{Model: "m", Units: 10}
	for i, n := range sizes {
		r.Messages = append(r.Messages, apiform.Message{Role: []apiform.Role{apiform.User, apiform.Assistant}[i%2], Units: n})
		r.Units += n
	}
	return r
}

// The reason of a request above its budget is the first one that more folding cannot help.
func TestWhyOver(t *testing.T) {
	r := conversation(90, 100, 100) // 100 units cannot be folded, 25 tokens
	for name, c := range map[string]struct {
		s    *session
		want string
	}{
		"not folded":         {&session{budget: 25}, NotFolded},
		"the instructions":   {&session{budget: 24}, InstructionsTooLong},
		"the newest":         {&session{budget: 25, foldedOut: true}, NewestTooLong},
		"something else":     {&session{budget: 120, foldedOut: true}, SummariesUnfit},
		"instructions first": {&session{budget: 24, foldedOut: true}, InstructionsTooLong},
		"behind":             {&session{budget: 24, behind: RecordBehind}, RecordBehind},
	} {
		c.s.server, c.s.model, c.s.ratio = plainServer(t), "m", 0.25
		if got := c.s.whyOver(r); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for err, want := range map[error]string{nil: "", hosts.ErrNoTranscript: NoTranscript, errKeptOut: KeptOut, io.EOF: RecordBehind} {
		if got := whyBehind(err); got != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// A folded session is stuck if it is above its budget and would be at three quarters of it with a checkpoint.
func TestStuckAtItsBounds(t *testing.T) {
	r := conversation(90, 1000, 1000, 100, 100) // a checkpoint leaves 100 and the last 200: 75 tokens
	all := (r.Units + 3) / 4
	for name, c := range map[string]struct {
		budget    int
		foldedOut bool
		want      bool
	}{
		"stuck": {100, true, true}, "it may still be folded": {100, false, false}, "a checkpoint would not help": {99, true, false},
		"it fits": {all, true, false}, "just not": {all - 1, true, true},
	} {
		s := session{server: plainServer(t), model: "m", ratio: 0.25, budget: c.budget, foldedOut: c.foldedOut}
		if got := s.stuck(r, overlay.Laid{}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The host is made to compact at the limit, once, and only where that works.
func TestRefuse(t *testing.T) {
	history := conversation(90, 100, 100)
	history.Body = make([]byte, history.Units)
	edits := overlay.Laid{Edits: []apiform.Edit{{}}}
	for name, c := range map[string]struct {
		change func(*session)
		laid   overlay.Laid
		want   bool
	}{
		"at the limit":       {nil, edits, true},
		"below it":           {func(s *session) { s.server.CheckpointBytes++ }, edits, false},
		"without summaries":  {nil, overlay.Laid{}, false},
		"again":              {func(s *session) { s.refused = true }, edits, false},
		"behind":             {func(s *session) { s.behind = NoTranscript }, edits, false},
		"observed":           {func(s *session) { s.server.Observe = true }, edits, false},
		"never":              {func(s *session) { s.server.CheckpointBytes = 0 }, edits, false},
		"a sub-agent":        {func(s *session) { s.id = "s/agent-a" }, edits, false},
		"another host":       {func(s *session) { s.host = "codex" }, edits, false},
		"it asked before it": {func(s *session) { s.asked = true }, edits, true},
	} {
		s := &session{server: plainServer(t), host: "claude", id: "s", budget: 1000}
		s.server.CheckpointBytes = 200
		if c.change != nil {
			c.change(s)
		}
		refused := s.refused
		one := &call{server: s.server, session: s, made: Composition{FullTokens: 300}}
		if got := s.refuse(one, history, c.laid); got != c.want || (one.answer != nil) != c.want || c.want && (one.answer.status != http.StatusBadRequest || !s.refused || s.asked) || !c.want && s.refused != refused {
			t.Errorf("%s: %v, %+v", name, got, one.answer)
		}
	}
	s := session{refused: true}
	if s.shrunk(); !s.refused {
		t.Error("a small request ends a refusal although the host has not asked for a summary")
	}
	s.asked = true
	if s.shrunk(); s.refused || s.asked {
		t.Error("the host has compacted and is still refused")
	}
	large := session{server: plainServer(t), budget: 50, model: "m", ratio: 0.25}
	large.server.CheckpointBytes = 100 // the history is 100 bytes above: 101 bytes are 26 tokens
	for full, want := range map[int]int{300: 274, 60: 50} {
		if got := large.maximum(&call{made: Composition{FullTokens: full}}, history); got != want {
			t.Errorf("%d tokens: the maximum is %d, want %d", full, got, want)
		}
	}
}

// A plan stays as long as its summaries are in the view, or beneath others there, with the same text.
func TestWithin(t *testing.T) {
	cover := func(id store.SummaryID, text string, beneath ...*overlay.Cover) *overlay.Cover {
		return &overlay.Cover{ID: id, Text: text, Summaries: beneath}
	}
	view := []*overlay.Cover{cover("top", "t", cover("low", "l")), cover("other", "o")}
	for name, c := range map[string]struct {
		shown []*overlay.Cover
		want  bool
	}{
		"nothing": {nil, true}, "the same": {[]*overlay.Cover{cover("top", "t"), cover("other", "o")}, true}, "beneath": {[]*overlay.Cover{cover("low", "l")}, true},
		"gone": {[]*overlay.Cover{cover("top", "t"), cover("gone", "g")}, false}, "reworded": {[]*overlay.Cover{cover("low", "x")}, false}, "empty": {[]*overlay.Cover{cover("gone", "")}, false},
	} {
		if got := within(c.shown, view); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A resumed session goes on with the summaries of the last request that carried some; one that was only observed
// carried none.
func TestRecall(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	used := func(id store.SummaryID) []UsedSummary { return []UsedSummary{{ID: id}} }
	for name, c := range map[string]struct {
		made []Composition
		want store.SummaryID
	}{
		"none":           {nil, ""},
		"the last":       {[]Composition{{Dropped: 1, Summaries: used("a")}, {Dropped: 1, Summaries: used("b")}}, "b"},
		"a plain one":    {[]Composition{{Dropped: 1, Summaries: used("a")}, {}}, "a"},
		"observed after": {[]Composition{{Dropped: 1, Summaries: used("a")}, {Dropped: 1, Observe: true, Summaries: used("b")}}, "a"},
		"only observed":  {[]Composition{{Dropped: 1, Observe: true, Summaries: used("b")}}, ""},
	} {
		if c.made != nil {
			data, _ := json.Marshal(c.made)
			if _, err := db.Put(t.Context(), store.RequestSpace, name, data, 0, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		shown := overlay.NewPlan(overlay.NewIndex(), nil)
		for _, before := range []*overlay.Plan{nil, shown} {
			s := &session{server: &Server{store: db}, key: name, index: overlay.NewIndex(), news: make(chan struct{}), shown: before}
			if err := s.recall(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got := store.SummaryID("")
			if s.shown != nil && s.shown != shown {
				got = s.shown.Covers[0].ID
			}
			if want := c.want; before == nil && got != want || before != nil && s.shown != before {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// What a run says of itself adds up over its requests.
func TestRunLogAdds(t *testing.T) {
	l := newRunLog(noState{}, Run{ID: "r"}, func() time.Time { return time.Unix(1, 0) })
	for _, m := range []Composition{
		{Tokens: 50, FullTokens: 90, Status: 200, Usage: apiUsage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}},
		{Tokens: 60, FullTokens: 90, Observe: true, Status: 200},
		{Tokens: 80, FullTokens: 95, Dropped: 2, Fold: true, Over: NotFolded, Failure: "x"},
		{Subscription: true, Status: 200}, {Checkpoint: true, Status: 200},
	} {
		l.add(t.Context(), "a", m)
	}
	l.add(t.Context(), UnknownClient, Composition{Status: 500})
	r := l.snapshot()
	got := fmt.Sprint(r.Sessions, r.Requests, r.Changed, r.Folds, r.Largest, r.Usage, r.Subscription, r.Checkpoints, r.Unanswered, r.Unknown, r.Over, r.Failures, r.OverBudget(), r.PassedUnchanged())
	if want := fmt.Sprint([]string{"a", UnknownClient}, 6, 1, 1, 90, apiUsage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}, 1, 1, 1, 1, map[string]int{NotFolded: 1}, map[string]int{"x": 1}, 1, 1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	priced := newRunLog(noState{}, Run{}, time.Now)
	for _, key := range []string{"a", "b"} {
		priced.add(t.Context(), key, Composition{Status: 200, FullTokens: 100, Tokens: 50, Window: defaultWindow, Dropped: 1, Usage: apiUsage{Input: 50}})
	}
	if r := priced.snapshot(); r.Cost != 100 || r.Plain != 200 {
		t.Errorf("two sessions cost %v against %v", r.Cost, r.Plain)
	}
	for range requestsKept {
		l.add(t.Context(), "a", Composition{Status: 201})
	}
	if kept := l.requests["a"]; len(kept) != requestsKept || kept[0].Status != 201 {
		t.Errorf("%d requests are kept, the first of %d", len(kept), kept[0].Status)
	}
	for run, want := range map[*Run][2]float64{
		{}: {0, 0}, {Usage: apiUsage{Input: 1, CacheRead: 3}, Changed: 1, Cost: 3, Plain: 4}: {0.75, 0.25},
		{Cost: 3, Plain: 4}: {0, 0}, {Changed: 1, Plain: 4}: {0, 0}, {Changed: 1, Cost: 3}: {0, 0},
	} {
		if got := [2]float64{run.CacheHitRate(), run.Saved()}; got != want {
			t.Errorf("%+v: %v, want %v", run, got, want)
		}
	}
}

// The last turn is the last request that is no title or such beside the history.
func TestLastTurn(t *testing.T) {
	for want, sizes := range map[int][]int{-1: nil, 0: {100, 50}, 1: {100, 51}, 2: {100, 1, 100, 2}, 3: {1, 2, 3, 4}} {
		var requests []Composition
		for _, n := range sizes {
			requests = append(requests, Composition{FullTokens: n})
		}
		if got := LastTurn(requests); got != want {
			t.Errorf("%v: %d, want %d", sizes, got, want)
		}
	}
}

// An agent behind another proxy of lcm is recognised by its address.
func TestIsOwnURL(t *testing.T) {
	secret := strings.Repeat("0a", 16)
	for text, want := range map[string]bool{
		"http://127.0.0.1:9/" + secret + "/anthropic": true, "http://localhost:9/" + secret + "/openai/": true, "http://[::1]:9/" + secret + "/x": true,
		"http://127.0.0.1:9/v1": false, "https://api.example/" + secret + "/anthropic": false, "http://127.0.0.1:9/" + secret: false,
	} {
		u, err := url.Parse(text)
		if err != nil || IsOwnURL(u) != want {
			t.Errorf("%s: %v, %v", text, !want, err)
		}
	}
}

// The length of a name decides which window a model has.
func TestWindowOfNames(t *testing.T) {
	for model, want := range map[string]int{"gpt-4": 8_192, "gpt-4-32k-0613": 32_768, "openai/gpt-4o-mini": 128_000, "gpt-4.1-mini": defaultWindow, "claude": defaultWindow, "claude[1m]": millionWindow} {
		for range 5 { // the order of a map
			if got, _ := plainServer(t).window(nil, model); got != want {
				t.Errorf("%s: %d, want %d", model, got, want)
			}
		}
	}
}

// A body that is too long to be read, or whose encoding is not known, passes as it came.
func TestBodies(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll([]byte("hello"), nil)
	for encoding, c := range map[string]struct {
		body []byte
		ok   bool
	}{"": {[]byte("hello"), true}, "identity": {[]byte("hello"), true}, "zstd": {packed, true}, "gzip": {[]byte("hello"), false}} {
		if got, err := decoded(encoding, c.body); (err == nil) != c.ok || c.ok && string(got) != "hello" {
			t.Errorf("%q: %q, %v", encoding, got, err)
		}
	}
	broken := errors.New("gone")
	r := &http.Request{Body: io.NopCloser(io.MultiReader(strings.NewReader("hel"), errReader{broken})), ContentLength: -1}
	if _, whole, err := readBody(r); whole || !errors.Is(err, broken) {
		t.Errorf("whole %v, %v", whole, err)
	}
	if rest, _ := io.ReadAll(r.Body); string(rest) != "hel" {
		t.Errorf("%q is left to pass on", rest)
	}
	r = &http.Request{Body: io.NopCloser(strings.NewReader("hello")), ContentLength: 5}
	body, whole, err := readBody(r)
	if again, _ := io.ReadAll(r.Body); err != nil || !whole || string(body) != "hello" || string(again) != "hello" {
		t.Errorf("%q, then %q: %v", body, again, err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// An answer of the proxy has the form of the API's, streamed or whole.
func TestTextAnswer(t *testing.T) {
	whole := textAnswer(&apiform.Request{Model: "m"}, "hello")
	var got struct {
		Content    []struct{ Type, Text string }
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal(whole.body, &got); err != nil || len(got.Content) != 1 || got.Content[0].Text != "hello" || got.StopReason != "end_turn" || whole.kind != "application/json" {
		t.Errorf("%s: %v", whole.body, err)
	}
	if s := textAnswer(&apiform.Request{Model: "m", Stream: true}, "hello"); s.kind != "text/event-stream" || !bytes.HasPrefix(s.body, []byte("event: message_start\n")) || !bytes.Contains(s.body, []byte(`"text":"hello"`)) {
		t.Errorf("%s", s.body)
	}
}

// A request that names no session belongs to the session that shares most with it, of two to the newer one.
func TestClosest(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"hello there, this is a prompt"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}},{"type":"tool_use","id":"c2","name":"ls","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"},{"type":"tool_result","tool_use_id":"c2","content":"y"}]}]}`
	req, err := apiform.ParseAfter(nil, apiform.Messages, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	with := func(id string, conv store.ConversationID, ms ...llms.Message) *session {
		s := &session{id: id, conv: conv, index: overlay.NewIndex()}
		for i, m := range ms {
			s.index.Add(store.Message{ID: store.MessageID(i + 1), Seq: int64(i + 1), Body: m})
		}
		return s
	}
	calls := func(ids ...string) (m llms.Message) {
		for _, id := range ids {
			m.Parts = append(m.Parts, llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "ls", Arguments: "{}"}})
		}
		m.Role = llms.RoleAssistant
		return m
	}
	nothing, text := with("nothing", 9, llms.User("something else")), with("text", 8, llms.User("hello there, this is a prompt"))
	one, both, newer := with("one", 7, calls("c1")), with("both", 1, calls("c1", "c2")), with("newer", 2, calls("c1", "c2"))
	for want, sessions := range map[string][]*session{
		"": {nothing}, "text": {nothing, text}, "both": {text, both, one}, "newer": {newer, both},
	} {
		if got := closest(sessions, req); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := closest([]*session{both, newer}, req); got != "newer" {
		t.Errorf("%q", got)
	}
}

// Requests with a login of a subscription pass, unless the user allows otherwise.
func TestPasses(t *testing.T) {
	login := http.Header{"Authorization": {"Bearer sk-ant-oat01"}}
	for name, c := range map[string]struct {
		s       *session
		h       http.Header
		allowed bool
		want    string // Over, or "login"
		passes  bool
	}{
		"a session":  {&session{host: "claude", id: "s"}, nil, false, "", false},
		"a stranger": {&session{}, nil, false, NoKnownAgent, true},
		"no session": {&session{host: "codex"}, nil, false, NoTranscript, true},
		"a login":    {&session{host: "claude", id: "s"}, login, false, "login", true},
		"allowed":    {&session{host: "claude", id: "s"}, login, true, "", false},
		"oauth":      {&session{host: "claude", id: "s"}, http.Header{"Anthropic-Beta": {"x,oauth-2025"}}, false, "login", true},
		"chatgpt":    {&session{host: "codex", id: "s"}, http.Header{"Chatgpt-Account-Id": {"x"}}, false, "login", true},
		"a key":      {&session{host: "claude", id: "s"}, http.Header{"Authorization": {"Bearer sk-ant-api03"}}, false, "", false},
	} {
		c.s.server = &Server{Config: Config{Subscription: c.allowed}}
		var made Composition
		if got := c.s.passes(c.h, &made); got != c.passes || made.Subscription != (c.want == "login") || !made.Subscription && made.Over != c.want {
			t.Errorf("%s: %v, %+v", name, got, made)
		}
	}
}

// A host that was made to compact has done so when it has asked for a summary and a turn of its conversation is
// small; a request for a title, beside the conversation, says nothing.
func TestRefusalEndsWithASmallTurn(t *testing.T) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	for name, c := range map[string]struct {
		last    int // the size of the request before
		asked   bool
		refused bool
	}{"a turn": {100, true, false}, "a title": {1_000_000, true, true}, "not asked": {100, false, true}} {
		server := plainServer(t)
		server.Config = Config{Budget: func(string, int, store.Project) int { return 40_000 }}
		s := &session{server: server, host: "claude", id: "s", refused: true, asked: c.asked, last: &apiform.Request{Units: c.last}, index: overlay.NewIndex()}
		one := &call{server: server, session: s, made: Composition{}}
		if _, edits := one.decide(http.Header{}, apiform.Messages, body); len(edits) > 0 || s.refused != c.refused || one.made.FullTokens == 0 || one.made.Messages != 1 {
			t.Errorf("%s: refused %v, %+v", name, s.refused, one.made)
		}
		if s.budget != 40_000 || one.made.Budget != 40_000 || one.made.Window != defaultWindow || s.model != "m" {
			t.Errorf("%s: budget %d, %+v", name, s.budget, one.made)
		}
	}
}

// Some room is folded less far: a view needs about 30,000 tokens to carry work on.
func TestFoldLevel(t *testing.T) {
	for budget, want := range map[int]float64{20_000: 5_000, 64_000: 16_000, 70_000: 30_000, 100_000: 30_000, 120_000: 30_000, 150_000: 37_500} {
		s := &session{server: plainServer(t), last: &apiform.Request{}, budget: budget}
		if got := foldLevel(s); got != want {
			t.Errorf("messages within %d tokens are folded down to %.0f, want %.0f", budget, got, want)
		}
	}
}
