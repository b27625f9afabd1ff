package compare

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// importing is the row that makes the database of the others, so it always runs.
const importing = "import"

type task struct {
	name string
	run  func(context.Context, *side) (Cost, error)
}

var tasks = []task{
	command("lcm version", "version"),
	{importing, func(ctx context.Context, s *side) (Cost, error) {
		s.replace("lcm.db", "")
		return run(s.command(ctx, "lcm.db", "import", "claude"))
	}},
	{"fold (lcm compact --all)", func(ctx context.Context, s *side) (Cost, error) {
		s.replace("fold.db", "lcm.db")
		return run(s.command(ctx, "fold.db", "compact", "--all"))
	}},
	served("lcm_grep over MCP, a question", questions...),
	served("lcm_grep over MCP, a word", "dispatcher", "goroutine", "RoundTrip", "webhook", "deadline"),
	command("lcm grep, a question", "grep", "--full-text", questions[0]),
	command("lcm grep, a word", "grep", "dispatcher"),
	command("lcm grep, an IP address", "grep", `[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}`),
	command("lcm grep, a version", "grep", `\bv[0-9]+\.[0-9]+\.[0-9]+\b`),
	hook("lcm hook, session start", "SessionStart", "source", "resume"),
	hook("lcm hook, prompt", "UserPromptSubmit", "prompt", questions...),
	hook("lcm hook, end of a turn", "Stop", "source", ""),
	proxied("lcm run, 1,000 messages", 1_000),
	proxied("lcm run, 10,000 messages", 10_000),
}

var questions = []string{
	"what rate did we agree on for Nordpil, and why not 10 per second?",
	"the webhook order test is flaky again, how did we fix the dispatcher last time?",
	"which change request did we file for the canary?",
	"why did the goroutine of the http server block when the connection was closed?",
	"did we decide to keep old cursors working for the shops?",
}

// repeat is how often a command of milliseconds runs for one measurement.
const repeat = 5

func mean(fn func(i int) (Cost, error)) (sum Cost, err error) {
	for i := 0; i < repeat && err == nil; i++ {
		var c Cost
		c, err = fn(i)
		sum.CPU, sum.Read = sum.CPU+c.CPU/repeat, sum.Read+c.Read/repeat
	}
	return sum, err
}

func command(name string, args ...string) task {
	return task{name, func(ctx context.Context, s *side) (Cost, error) {
		return mean(func(int) (Cost, error) { return run(s.command(ctx, "lcm.db", args...)) })
	}}
}

// replace copies a database over another one, or removes that.
func (s *side) replace(name, from string) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(s.home, name+suffix))
	}
	if src, err := os.ReadFile(filepath.Join(s.home, from)); err == nil {
		_ = os.WriteFile(filepath.Join(s.home, name), src, 0o600)
	}
}

// hook answers an event of Claude Code after a few records more. Values are those of a field.
func hook(name, event, field string, values ...string) task {
	return task{name, func(ctx context.Context, s *side) (Cost, error) {
		return mean(func(i int) (Cost, error) {
			s.events++
			session := s.open.session
			if event != "Stop" {
				session = fmt.Sprintf("new-%d", s.events)
			}
			input, err := json.Marshal(object{"hook_event_name": event, "session_id": session, "transcript_path": s.open.path, "cwd": s.work, field: values[i%len(values)]})
			if err = errors.Join(err, s.open.grow(4)); err != nil {
				return Cost{}, err
			}
			c := s.command(ctx, "lcm.db", "hook", "claude")
			c.Stdin = bytes.NewReader(input)
			return run(c)
		})
	}}
}

// server is a program that runs until its standard input ends.
type server struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *side) start(name string, c *exec.Cmd) (*server, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	s.servers[name] = &server{c, in, bufio.NewReader(out)}
	return s.servers[name], nil
}

func (p *server) end() { _ = p.in.Close(); _ = p.Wait() }

// during is what the program spends on one of so many calls of fn.
func (p *server) during(times int, fn func(i int) error) (c Cost, err error) {
	before := spent(p.Process.Pid)
	for i := 0; i < times && err == nil; i++ {
		err = fn(i)
	}
	after := spent(p.Process.Pid)
	return Cost{(after.CPU - before.CPU) / float64(times), (after.Read - before.Read) / float64(times)}, err
}

// call sends a request over MCP and waits for its answer.
func (p *server) call(method string, params object) error {
	if err := json.NewEncoder(p.in).Encode(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		var answer struct {
			ID     int
			Result *struct{ IsError bool }
		}
		if err := json.Unmarshal(line, &answer); err != nil || answer.ID != 1 {
			continue // a notification
		}
		if answer.Result == nil || answer.Result.IsError {
			return fmt.Errorf("%s answers %.200s", method, line)
		}
		return nil
	}
}

// served is a search with words by a running `lcm mcp`.
func served(name string, patterns ...string) task {
	return task{name, func(ctx context.Context, s *side) (c Cost, err error) {
		p := s.servers["mcp"]
		if p == nil {
			if p, err = s.start("mcp", s.command(ctx, "lcm.db", "mcp")); err != nil {
				return c, err
			}
			if err := p.call("initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "bench", "version": "1"}}); err != nil {
				return c, err
			}
			if err := json.NewEncoder(p.in).Encode(object{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
				return c, err
			}
			time.Sleep(2 * time.Second) // it looks for new records first
		}
		return p.during(len(patterns), func(i int) error {
			return p.call("tools/call", object{"name": "lcm_grep", "arguments": object{"pattern": patterns[i], "mode": "full_text"}})
		})
	}}
}

// agent prints where it is to send requests, and ends with its standard input.
const agent = "#!/bin/sh\necho \"base $ANTHROPIC_BASE_URL\"\nexec cat >/dev/null\n"

// conversation is a session that grows while requests go through `lcm run` to a model that
// answers at once.
type conversation struct {
	*transcript
	*server
	base string // where requests are sent
	got  int64  // bytes of the last request at the model
}

// converse starts the program in a home directory of its own, whose session is imported.
func (s *side) converse(ctx context.Context, messages int) (*conversation, error) {
	own := newSide(s.material, s.binary, filepath.Join(s.home, fmt.Sprint(messages)))
	c := &conversation{transcript: s.newTranscript(own.home, own.work, uint64(messages), 12)}
	err := errors.Join(os.MkdirAll(own.work, 0o700), c.grow(messages), os.WriteFile(filepath.Join(own.home, "claude"), []byte(agent), 0o700))
	if err == nil {
		_, err = run(own.command(ctx, "lcm.db", "import", "claude"))
	}
	if err != nil {
		return nil, err
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.got, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n", c.got/4)
	}))
	cmd := own.command(ctx, "lcm.db", "run", "--budget", "60000", "--", "claude")
	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+model.URL, "LCM_BACKGROUND_COMPACTION=extractive")
	c.server, err = s.start(own.home, cmd)
	for err == nil && c.base == "" {
		var line string
		line, err = c.out.ReadString('\n')
		c.base, _ = strings.CutPrefix(strings.TrimSpace(line), "base ")
	}
	return c, err
}

// errWhole means that a request reached the model as it was.
var errWhole = errors.New("a request was not folded")

// ask sends a request with two messages more than the one before.
func (c *conversation) ask(ctx context.Context) error {
	if err := c.grow(2); err != nil {
		return err
	}
	body := fmt.Sprintf(`{"model":"claude-bench","max_tokens":1,"stream":true,"messages":[%s]}`, bytes.Join(c.messages, []byte(",")))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Claude-Code-Session-Id", c.session)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	time.Sleep(50 * time.Millisecond) // a model takes longer, and the proxy works meanwhile
	if err = errors.Join(err, resp.Body.Close()); err == nil && c.got > int64(len(body))/2 {
		err = errWhole
	}
	return err
}

// proxied is a request of that many messages, once the first of them are folded.
func proxied(name string, messages int) task {
	const warm, requests = 200, 20
	open := map[*side]*conversation{}
	return task{name, func(ctx context.Context, s *side) (_ Cost, err error) {
		c := open[s]
		if c == nil {
			if c, err = s.converse(ctx, messages); err != nil {
				return Cost{}, err
			}
			open[s] = c
			for n := 0; n == 0 || errors.Is(err, errWhole) && n < warm; n++ {
				err = c.ask(ctx)
			}
			if err != nil {
				return Cost{}, err
			}
		}
		return c.during(requests, func(int) error { return c.ask(ctx) })
	}}
}
