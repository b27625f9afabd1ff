//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"
)

// openclawAgent is OpenClaw, without its gateway.
type openclawAgent struct{ sessions *int }

func (openclawAgent) name() string { return "openclaw" }

func (openclawAgent) onlyEngine() {}

func (openclawAgent) prepare(b *bed) {
	b.write(filepath.Join(b.home, ".openclaw", "openclaw.json"), `{
  // mine
  "models": {"providers": {"x": {"baseUrl": "`+b.url+`/v1", "apiKey": "x", "api": "openai-completions",
    "models": [{"id": "scripted", "name": "scripted", "contextWindow": 128000, "maxTokens": 4000}]}}},
  "gateway": {"mode": "local", "auth": {"mode": "token", "token": "x"}, "http": {"endpoints": {"chatCompletions": {"enabled": true}}}},
  "agents": {"defaults": {"model": {"primary": "x/scripted"}, "workspace": "`+b.work+`", "skipBootstrap": true,
    "compaction": {"mode": "default"}}}, // the other one refuses the scripted model's summary
}
`)
}

func (openclawAgent) trust(*bed) {}

// ask begins a session under a key of its own: one key has one session after the other.
func (a openclawAgent) ask(b *bed, prompt string) string {
	*a.sessions++
	return a.goOn(b, prompt)
}

func (a openclawAgent) goOn(b *bed, prompt string) string {
	line := a.engineLine(b, prompt, true)
	return b.host(line[0], line[1:]...)
}

func (a openclawAgent) engineLine(b *bed, prompt string, goOn bool) []string {
	if !goOn {
		*a.sessions++
	}
	return []string{node(b, filepath.Dir(b.programs)), filepath.Join(b.programs, "openclaw", "openclaw.mjs"),
		"agent", "--local", "--agent", "main", "--session-key", fmt.Sprintf("session-%d", *a.sessions), "-m", prompt}
}

// startOpenclaw starts the gateway, which has one process for many turns: a start takes twenty
// seconds of processor time.
func startOpenclaw(b *runBed, a openclawAgent) (turn func(prompt string, goOn bool), end func()) {
	b.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	line := a.engineLine(b.bed, "", true)[:2]
	c := b.prepared(append(line, "gateway", "--port", address[strings.LastIndex(address, ":")+1:]))
	b.start(c)
	ask := func(method, path, body string) (string, error) {
		q, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		q.Header = http.Header{"Authorization": {"Bearer x"}, "Content-Type": {"application/json"}, "X-Openclaw-Session-Key": {fmt.Sprintf("session-%d", *a.sessions)}}
		answer, err := (&http.Client{Timeout: 4 * patience}).Do(q)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return string(got), err
	}
	for late := time.Now().Add(patience); ; time.Sleep(time.Second) {
		if _, err = ask("GET", "/v1/models", ""); err == nil {
			break
		}
		if time.Now().After(late) {
			b.Fatalf("the gateway does not answer: %v", err)
		}
	}
	return func(prompt string, goOn bool) {
			if !goOn {
				*a.sessions++
			}
			body, err := json.Marshal(map[string]any{"model": "openclaw", "messages": []any{map[string]any{"role": "user", "content": prompt}}})
			if err != nil {
				b.Fatal(err)
			}
			if got, err := ask("POST", "/v1/chat/completions", string(body)); err != nil {
				b.Logf("the turn ends with %v: %.2000s", err, got)
			}
		}, func() {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
			_ = c.Wait() // it reports the signal
		}
}

func (openclawAgent) adapter(b *bed) string {
	return filepath.Join(b.home, ".openclaw", "extensions", "lcm", "index.js")
}

func (openclawAgent) compact(*bed, string) bool { return false }

func (openclawAgent) records(b *bed) (all [][]byte) {
	db, err := sqlite3.OpenFlags(filepath.Join(b.home, ".openclaw/agents/main/agent/openclaw-agent.sqlite"), sqlite3.OPEN_READONLY)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	inflate, err := zstd.NewReader(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer inflate.Close()
	s, _, err := db.Prepare("SELECT event_json, event_zstd FROM transcript_events")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for s.Step() {
		event := s.ColumnBlob(0, nil)
		if event == nil {
			if event, err = inflate.DecodeAll(s.ColumnBlob(1, nil), nil); err != nil {
				b.Fatal(err)
			}
		}
		all = append(all, event)
	}
	if s.Err() != nil {
		b.Fatal(s.Err())
	}
	return all
}

func (openclawAgent) rewritten() []string { return nil }
