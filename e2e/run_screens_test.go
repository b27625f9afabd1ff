//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"time"
)

// screen is a host as its own user interface drives it: one process and several
// sessions. Codex and opencode have their slash commands only there.
type screen interface {
	// begin starts a session: /new, or /clear after another one.
	begin() string
	// say gives a session a prompt and waits for the end of the turn.
	say(session, prompt string) outcome
	// interrupt gives a session a prompt and ends the turn when ready returns: Esc.
	interrupt(session, prompt string, ready func()) outcome
	// undo goes back to before the last n prompts. fork starts a session that has the
	// prompts before them.
	undo(session string, n int)
	fork(session string, n int) string
	// compact is /compact.
	compact(session string) outcome
}

// openScreen starts the program behind the user interface of a host. It ends with the
// test.
func (b *runBed) openScreen() screen {
	b.Helper()
	switch h := b.agent.(type) {
	case codexAgent:
		return openCodex(b, h)
	case opencodeAgent:
		return openOpencode(b, h)
	}
	b.Fatalf("%s has no such interface", b.agent.name())
	return nil
}

// pipes starts a command line and returns its standard input and output. The process
// group ends with the test.
func (b *runBed) pipes(line []string) (io.Writer, io.Reader) {
	b.Helper()
	c := b.prepared(line)
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	b.start(c)
	b.Cleanup(func() {
		_ = in.Close()
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for _, signal := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
			_ = syscall.Kill(-c.Process.Pid, signal) // the group may be gone
			select {
			case <-ended: // lcm has read the transcripts to their ends
				return
			case <-time.After(3 * time.Second):
			}
		}
	})
	return in, out
}

// codexScreen is Codex's app server.
type codexScreen struct {
	*runBed
	in *json.Encoder

	mu      sync.Mutex
	id      int
	answers map[int]chan codexAnswer
	events  map[string]chan codexEvent // by thread
	turns   map[string][]string        // the turns of a thread that had a prompt
}

type codexAnswer struct {
	Result json.RawMessage
	Error  json.RawMessage
}

type codexEvent struct {
	Method string
	Params struct {
		ThreadID string
		Turn     struct {
			ID, Status string
			Error      json.RawMessage
		}
		Item struct{ Type, Text string }
	}
}

func openCodex(b *runBed, h codexAgent) *codexScreen {
	b.Helper()
	line := slices.Concat(b.wrap, []string{h.program(b.bed), "-c", "tool_output_token_limit=9000", "-c", "model_context_window=200000", "app-server"})
	in, out := b.pipes(line)
	s := &codexScreen{runBed: b, in: json.NewEncoder(in), answers: map[int]chan codexAnswer{}, events: map[string]chan codexEvent{}, turns: map[string][]string{}}
	go s.read(out)
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "e2e", "version": "1"}}, nil)
	if err := s.in.Encode(map[string]any{"jsonrpc": "2.0", "method": "initialized"}); err != nil {
		b.Fatal(err)
	}
	return s
}

// read gives answers and events to those who wait for them.
func (s *codexScreen) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID *int
			codexAnswer
			codexEvent
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		s.mu.Lock()
		switch {
		case m.Method == "" && m.ID != nil:
			if to := s.answers[*m.ID]; to != nil {
				to <- m.codexAnswer
			}
		case m.Params.ThreadID != "":
			s.eventsOf(m.Params.ThreadID) <- m.codexEvent
		}
		s.mu.Unlock()
	}
}

// eventsOf returns the events of a thread. The caller has the lock.
func (s *codexScreen) eventsOf(thread string) chan codexEvent {
	if s.events[thread] == nil {
		s.events[thread] = make(chan codexEvent, 100_000) // the reader never waits
	}
	return s.events[thread]
}

func (s *codexScreen) call(method string, params, to any) {
	s.Helper()
	s.mu.Lock()
	s.id++
	answer := make(chan codexAnswer, 1)
	s.answers[s.id] = answer
	err := s.in.Encode(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	s.mu.Unlock()
	if err != nil {
		s.Fatal(err)
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			s.Fatalf("%s: %s", method, a.Error)
		}
		if to != nil {
			if err := json.Unmarshal(a.Result, to); err != nil {
				s.Fatal(err)
			}
		}
	case <-time.After(patience):
		s.Fatalf("%s: no answer", method)
	}
}

func (s *codexScreen) begin() string {
	s.Helper()
	return s.thread("thread/start", map[string]any{"sessionStartSource": "clear"})
}

// thread calls a method that returns a thread.
func (s *codexScreen) thread(method string, params map[string]any) string {
	s.Helper()
	params["cwd"], params["approvalPolicy"], params["sandbox"] = s.work, "never", "read-only"
	var answer struct{ Thread struct{ ID string } }
	s.call(method, params, &answer)
	return answer.Thread.ID
}

// finish waits for the end of a turn.
func (s *codexScreen) finish(session string) outcome {
	s.Helper()
	s.mu.Lock()
	events := s.eventsOf(session)
	s.mu.Unlock()
	o := outcome{Code: 1}
	for deadline := time.After(longPatience); ; {
		select {
		case e := <-events:
			switch {
			case e.Method == "item/completed" && e.Params.Item.Type == "agentMessage":
				o.Answer = e.Params.Item.Text
			case e.Method == "turn/completed":
				if e.Params.Turn.Status == "completed" {
					o.Code = 0
				}
				o.log = e.Params.Turn.Status + " " + string(e.Params.Turn.Error)
				return o
			}
		case <-deadline:
			s.Fatal("the turn does not end")
		}
	}
}

// submit starts a turn with a prompt.
func (s *codexScreen) submit(session, prompt string) (turn string) {
	s.Helper()
	var answer struct{ Turn struct{ ID string } }
	s.call("turn/start", map[string]any{"threadId": session, "input": []any{map[string]any{"type": "text", "text": prompt}}}, &answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[session] = append(s.turns[session], answer.Turn.ID)
	return answer.Turn.ID
}

func (s *codexScreen) say(session, prompt string) outcome {
	s.Helper()
	s.submit(session, prompt)
	return s.finish(session)
}

func (s *codexScreen) interrupt(session, prompt string, ready func()) outcome {
	s.Helper()
	turn := s.submit(session, prompt)
	ready()
	s.call("turn/interrupt", map[string]any{"threadId": session, "turnId": turn}, nil)
	return s.finish(session)
}

func (s *codexScreen) undo(session string, n int) {
	s.Helper()
	turns := s.turns[session]
	s.call("thread/revert", map[string]any{"threadId": session, "beforeTurnId": turns[len(turns)-n]}, nil)
	s.turns[session] = turns[:len(turns)-n]
}

func (s *codexScreen) fork(session string, n int) string {
	s.Helper()
	turns := s.turns[session]
	return s.thread("thread/fork", map[string]any{"threadId": session, "lastTurnId": turns[len(turns)-n-1]})
}

func (s *codexScreen) compact(session string) outcome {
	s.Helper()
	s.call("thread/compact/start", map[string]any{"threadId": session}, nil)
	return s.finish(session)
}

// opencodeScreen is opencode's server.
type opencodeScreen struct {
	*runBed
	address string
}

func openOpencode(b *runBed, h opencodeAgent) *opencodeScreen {
	b.Helper()
	_, out := b.pipes(slices.Concat(b.wrap, []string{h.program(b.bed), "serve", "--port", "0"}))
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := listening.FindStringSubmatch(lines.Text()); at != nil {
			go io.Copy(io.Discard, out)
			return &opencodeScreen{b, at[1]}
		}
	}
	b.Fatal("opencode does not say where it serves")
	return nil
}

// request asks the server about a session.
func (s *opencodeScreen) request(method, path string, body, to any) {
	s.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.address+path+"?directory="+url.QueryEscape(s.work), bytes.NewReader(raw))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: longPatience}
	answer, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("opencode %s: %s %v\n%s", path, answer.Status, err, got)
	}
	if to != nil {
		if err := json.Unmarshal(got, to); err != nil {
			s.Fatalf("opencode %s: %v\n%s", path, err, got)
		}
	}
}

func (s *opencodeScreen) begin() string {
	s.Helper()
	var session struct{ ID string }
	s.request(http.MethodPost, "/session", map[string]any{}, &session)
	return session.ID
}

// opencodeMessage is a message and its parts.
type opencodeMessage struct {
	Info struct {
		ID, Role string
		Error    json.RawMessage
	}
	Parts []struct{ Type, Text string }
}

func (m opencodeMessage) outcome() outcome {
	o := outcome{log: string(m.Info.Error)}
	if m.Info.Error != nil {
		o.Code = 1
	}
	for _, p := range m.Parts {
		if p.Type == "text" {
			o.Answer = p.Text
		}
	}
	return o
}

func (s *opencodeScreen) say(session, prompt string) outcome {
	s.Helper()
	var m opencodeMessage
	s.request(http.MethodPost, "/session/"+session+"/message", map[string]any{"parts": []any{map[string]any{"type": "text", "text": prompt}}}, &m)
	return m.outcome()
}

func (s *opencodeScreen) interrupt(session, prompt string, ready func()) outcome {
	s.Helper()
	ended := make(chan outcome, 1)
	go func() { ended <- s.say(session, prompt) }()
	ready()
	s.request(http.MethodPost, "/session/"+session+"/abort", map[string]any{}, nil)
	return <-ended
}

// prompt returns the id of the n-th last prompt.
func (s *opencodeScreen) prompt(session string, n int) string {
	s.Helper()
	var all []opencodeMessage
	s.request(http.MethodGet, "/session/"+session+"/message", nil, &all)
	for _, m := range slices.Backward(all) {
		if m.Info.Role == "user" {
			if n--; n == 0 {
				return m.Info.ID
			}
		}
	}
	s.Fatal("the session has fewer prompts")
	return ""
}

func (s *opencodeScreen) undo(session string, n int) {
	s.Helper()
	s.request(http.MethodPost, "/session/"+session+"/revert", map[string]any{"messageID": s.prompt(session, n)}, nil)
}

func (s *opencodeScreen) fork(session string, n int) string {
	s.Helper()
	var forked struct{ ID string }
	s.request(http.MethodPost, "/session/"+session+"/fork", map[string]any{"messageID": s.prompt(session, n)}, &forked)
	return forked.ID
}

func (s *opencodeScreen) compact(session string) outcome {
	s.Helper()
	s.request(http.MethodPost, "/session/"+session+"/summarize", map[string]any{"providerID": "x", "modelID": "scripted"}, nil)
	return outcome{}
}
