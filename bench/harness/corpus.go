package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Message returns the n-th message of the corpus. Four make a round: a
// question, a tool call, its result and an answer.
func Message(n int) llms.Message {
	rng := rand.New(rand.NewPCG(uint64(n), 0x6c636d))
	var m llms.Message
	round := n / 4
	switch n % 4 {
	case 0:
		m = llms.User(prose(rng, 380))
	case 1:
		m = llms.Calls(prose(rng, 180), llms.ToolCall{
			ID: fmt.Sprintf("call_%08d", round), Name: "read_file",
			Arguments: fmt.Sprintf(`{"path":"internal/%s/%s_%d.go","from":%d,"to":%d}`, Pick(rng), Pick(rng), rng.IntN(1000), rng.IntN(500), 500+rng.IntN(500)),
		})
	case 2:
		m = llms.Result(fmt.Sprintf("call_%08d", round), "read_file", output(rng, 460), rng.IntN(20) == 0)
	default:
		m = llms.Assistant(prose(rng, 400))
	}
	if n%32 == 0 {
		m.Parts[0].Text += " " + PickFrom(rng, Chinese) + PickFrom(rng, Chinese) + "。"
	}
	m.ID = fmt.Sprintf("m%08d", n)
	m.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 7 * time.Second)
	return m
}

// Digest names the corpus: the beginning of the SHA-256 of its first thousand messages.
func Digest() string {
	h := sha256.New()
	for n := range 1000 {
		fmt.Fprintln(h, Message(n).SearchText())
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Chinese are words of which one message in 32 has two.
var Chinese = strings.Fields("配置文件 数据库迁移 连接超时 部署失败 缓存命中率 重试次数 订单服务 日志级别 内存泄漏 索引重建 回滚版本 限流阈值")

// Pick takes a word: every other one is a word of the session, as often as it
// occurs there.
func Pick(rng *rand.Rand) string {
	m := session()
	if rng.IntN(2) == 0 {
		return PickFrom(rng, m.plain)
	}
	return m.rare(rng)
}

// PickFrom takes a word of a list.
func PickFrom(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

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
			fmt.Fprintf(&b, " %s/%s.go:%d", Pick(rng), Pick(rng), rng.IntN(900))
		case 5:
			fmt.Fprintf(&b, " `%s_%s`", Pick(rng), Pick(rng))
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
	fmt.Fprintf(&b, "%4d\t%s_%s(%s, 0x%08x)\n", 1+rng.IntN(400), Pick(rng), Pick(rng), Pick(rng), rng.Uint32())
	for at := rng.IntN(len(m.lines)); b.Len() < n; at = (at + 1) % len(m.lines) {
		b.WriteString(renumber(rng, m.lines[at]))
		b.WriteByte('\n')
	}
	return b.String()
}
