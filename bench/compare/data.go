package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/proof/sample"
)

// material is what sessions are made of: talk of the bundled session, and as outputs of tools
// the sources of the Go distribution. In short, made-up sentences a search takes a fraction
// of the time that it takes in such text.
type material struct {
	talk  string
	files []string
}

func load() (m material, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return m, fmt.Errorf("find the Go distribution: %w", err)
	}
	for _, message := range sample.Messages() {
		m.talk += message.PlainText() + "\n"
	}
	paths, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "*", "*.go"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && len(text) > 4000 {
			m.files = append(m.files, strings.ToValidUTF8(string(text), "?"))
		}
	}
	if len(m.files) == 0 {
		err = errors.New("the Go distribution has no sources")
	}
	return m, err
}

// transcript is a session of Claude Code that is being written.
type transcript struct {
	material
	path, session, cwd string
	rng                *rand.Rand
	percent            int      // size of the outputs
	messages           [][]byte // those of the request that Claude Code would send
}

// newTranscript begins a session, the same for the same number.
func (m material) newTranscript(home, cwd string, number uint64, percent int) *transcript {
	session := fmt.Sprintf("%08x-0000-4000-8000-000000000000", number)
	path := filepath.Join(home, ".claude", "projects", "-bench", session+".jsonl")
	return &transcript{material: m, path: path, session: session, cwd: cwd, percent: percent, rng: rand.New(rand.NewPCG(number, 1))}
}

type object = map[string]any

// grow adds records: prompts, each with nineteen calls, their outputs and an answer.
func (t *transcript) grow(records int) error {
	var out bytes.Buffer
	for range records {
		n, role := len(t.messages), "assistant"
		call := fmt.Sprintf("toolu_%s_%d", t.session[:8], (n+1)/2)
		content := []object{{"type": "text", "text": t.say(900)}}
		switch {
		case n%40 == 0:
			role = "user"
		case n%40 == 39:
		case n%2 == 0:
			role, content = "user", []object{{"type": "tool_result", "tool_use_id": call, "content": t.output()}}
		default:
			content = append(content, object{"type": "tool_use", "id": call, "name": "Bash", "input": object{"command": t.say(120), "description": t.say(40)}})
		}
		id := func(n int) string { return fmt.Sprintf("%s%012d", t.session[:24], n) }
		message := object{"role": role, "content": content}
		line := object{"type": role, "uuid": id(n), "parentUuid": nil, "sessionId": t.session, "cwd": t.cwd, "version": "2.1.197", "message": message,
			"timestamp": fmt.Sprintf("2026-01-%02dT%02d:%02d:00Z", 1+n/1440%28, n/60%24, n%60)}
		if n > 0 {
			line["parentUuid"] = id(n - 1)
		}
		body, err := json.Marshal(message)
		if err = errors.Join(err, json.NewEncoder(&out).Encode(line)); err != nil {
			return err
		}
		t.messages = append(t.messages, body)
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(out.Bytes())
	return errors.Join(err, f.Close())
}

// say returns about n bytes of talk.
func (t *transcript) say(n int) string { return t.cut(t.talk, n/4+t.rng.IntN(n)) }

func (t *transcript) cut(text string, n int) string {
	n = min(n, len(text)-1)
	from := t.rng.IntN(len(text) - n)
	return strings.ToValidUTF8(text[from:from+n], "")
}

// output is what a tool prints: a diff, sources with line numbers, a log or JSON. Most have
// one to five kilobytes, one in ten has tens of them.
func (t *transcript) output() string {
	size := 1000 + t.rng.IntN(4000)
	if t.rng.IntN(10) == 0 {
		size *= 8
	}
	text := t.cut(t.files[t.rng.IntN(len(t.files))], max(100, size*t.percent/100))
	var b strings.Builder
	kind := t.rng.IntN(5)
	for i, line := range strings.Split(text, "\n") {
		n := t.rng.IntN(1 << 24)
		switch kind {
		case 0:
			fmt.Fprintf(&b, "%c%s\n", " +- "[n%4], line)
		case 1:
			fmt.Fprintf(&b, "2026-01-%02dT12:00:%02dZ INFO 10.%d.%d.%d %06x %q took=%dms\n", 1+i%28, n%60, n>>16, n>>8&255, n&255, n, line, n%900)
		case 2:
			fmt.Fprintf(&b, "{\"id\": %d, \"name\": %q, \"version\": \"v%d.%d.%d\", \"ok\": true},\n", n, line, n%9, n%30, n%7)
		default:
			fmt.Fprintf(&b, "%6d→%s\n", i+1, line)
		}
	}
	return b.String()
}
