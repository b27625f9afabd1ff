package scale

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

// message returns the n-th message of the corpus. Four make a round: a
// question, a tool call, its result and an answer.
func message(n int) llms.Message {
	rng := rand.New(rand.NewPCG(uint64(n), 0x6c636d))
	var m llms.Message
	round := n / 4
	switch n % 4 {
	case 0:
		m = llms.User(prose(rng, 380))
	case 1:
		m = llms.Calls(prose(rng, 180), llms.ToolCall{
			ID: fmt.Sprintf("call_%08d", round), Name: "read_file",
			Arguments: fmt.Sprintf(`{"path":"internal/%s/%s_%d.go","from":%d,"to":%d}`, pick(rng), pick(rng), rng.IntN(1000), rng.IntN(500), 500+rng.IntN(500)),
		})
	case 2:
		m = llms.Result(fmt.Sprintf("call_%08d", round), "read_file", output(rng, 460), rng.IntN(20) == 0)
	default:
		m = llms.Assistant(prose(rng, 400))
	}
	if n%32 == 0 {
		m.Parts[0].Text += " " + pickFrom(rng, chinese) + pickFrom(rng, chinese) + "。"
	}
	m.ID = fmt.Sprintf("m%08d", n)
	m.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 7 * time.Second)
	return m
}

// digest names the corpus.
func digest() string {
	h := sha256.New()
	for n := range 1000 {
		fmt.Fprintln(h, message(n).SearchText())
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

var chinese = strings.Fields("配置文件 数据库迁移 连接超时 部署失败 缓存命中率 重试次数 订单服务 日志级别 内存泄漏 索引重建 回滚版本 限流阈值")

// pick takes a word: every other one is a word of the session, as often as it
// occurs there.
func pick(rng *rand.Rand) string {
	m := session()
	if rng.IntN(2) == 0 {
		return pickFrom(rng, m.plain)
	}
	return m.rare(rng)
}

func pickFrom(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// prose writes about n characters as they are said: a walk through the words
// of the session, each followed by one that follows it there, with rarer words,
// identifiers, numbers and paths among them.
func prose(rng *rand.Rand, n int) string {
	m := session()
	var b strings.Builder
	at := rng.IntN(len(m.words))
	for b.Len() < n {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(m.words[at])
		switch rng.IntN(24) {
		case 0, 1, 2:
			b.WriteString(" " + m.rare(rng))
		case 3:
			fmt.Fprintf(&b, " %d", rng.IntN(100_000))
		case 4:
			fmt.Fprintf(&b, " %s/%s.go:%d", pick(rng), pick(rng), rng.IntN(900))
		case 5:
			fmt.Fprintf(&b, " `%s_%s`", pick(rng), pick(rng))
		}
		next := m.after[m.words[at]]
		at = next[rng.IntN(len(next))]
	}
	b.WriteByte('.')
	return b.String()
}

// output writes about n characters as tools do: a numbered line of code, then
// lines of the session's tool output from some place on, with other numbers.
func output(rng *rand.Rand, n int) string {
	m := session()
	var b strings.Builder
	fmt.Fprintf(&b, "%4d\t%s_%s(%s, 0x%08x)\n", 1+rng.IntN(400), pick(rng), pick(rng), pick(rng), rng.Uint32())
	for at := rng.IntN(len(m.lines)); b.Len() < n; at = (at + 1) % len(m.lines) {
		b.WriteString(renumber(rng, m.lines[at]))
		b.WriteByte('\n')
	}
	return b.String()
}

// instant is a summariser that takes no time: it repeats the beginnings of its
// first sources. It notes when it is called.
type instant struct{ calls []time.Time }

// Summarise implements [summary.Summariser].
func (in *instant) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	in.calls = append(in.calls, time.Now())
	const end = summary.Footer + "the rest"
	left := 3 * r.Target
	var b strings.Builder
	b.Grow(left + len(r.Sources) + len(end))
	for _, s := range r.Sources {
		text := s.Text
		if most := min(400, left); len(text) > most {
			text = strings.ToValidUTF8(text[:most], "")
		}
		b.WriteString(strings.ReplaceAll(text, summary.Footer, ""))
		b.WriteByte('\n')
		if left -= len(text); left <= 0 {
			break
		}
	}
	b.WriteString(end)
	return summary.Result{Text: b.String(), Method: "instant"}, nil
}
