package cache

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/llms"
)

// Session is a conversation to replay.
type Session struct {
	Name     string
	Messages []llms.Message
	Tokens   int
}

func newSession(name string, ms []llms.Message) Session {
	s := Session{Name: name, Messages: ms}
	for _, m := range ms {
		s.Tokens += llms.CountMessage(llms.Estimate, m)
	}
	return s
}

// Bundled returns the bundled session.
func Bundled() Session { return newSession("bundled", sample.Messages()) }

// Generate returns a session of about the given tokens: prompts, each followed by
// eight tool calls with outputs of 8 to 48 kB, as a coding agent has that reads
// files. An output comes after 5 to 30 seconds, and a prompt after half a minute to
// twenty minutes.
func Generate(tokens int, seed uint64) Session {
	rng := rand.New(rand.NewPCG(seed, 0x63616368))
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	var ms []llms.Message
	total, n := 0, 0
	add := func(m llms.Message, after time.Duration) {
		now = now.Add(after)
		m.ID, m.Time = fmt.Sprintf("g%06d", len(ms)), now
		ms = append(ms, m)
		total += llms.CountMessage(llms.Estimate, m)
	}
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(rng.Int64N(int64(high-low))) }
	text := func(kind, size int) string {
		var b strings.Builder
		for b.Len() < size {
			m := harness.Message(4*n + kind)
			b.WriteString(m.Render() + "\n")
			n++
		}
		return b.String()[:size]
	}
	for total < tokens {
		add(llms.User(text(0, 400)), between(30*time.Second, 20*time.Minute))
		for range 8 {
			call := llms.ToolCall{ID: fmt.Sprintf("call_%06d", len(ms)), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/file_%d.go"}`, len(ms))}
			add(llms.Calls(text(3, 200), call), between(5*time.Second, 20*time.Second))
			add(llms.Result(call.ID, call.Name, text(2, 8_000+rng.IntN(40_000)), false), between(time.Second, 10*time.Second))
		}
		add(llms.Assistant(text(3, 800)), between(5*time.Second, 20*time.Second))
	}
	return newSession(fmt.Sprintf("generated, %.1f M tokens", float64(total)/1e6), ms)
}
