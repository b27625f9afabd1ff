package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/summary"
)

var words = strings.Fields(`the of to and in is that for it with as was on be at by this had not are but from or have an they
	which one you were all her she there would their we him been has when who will no more if out so up said what its about than
	into them can only other time new some could these two may first then do any like my now over such our man me even most made
	after also well many must through years where much your way down should because long each just state those people too
	server client request response error timeout retry queue worker token buffer parser index table column record message
	session context budget summary branch commit deploy release config secret cache lock thread channel socket stream batch`)

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
		m = llms.Result(fmt.Sprintf("call_%08d", round), "read_file", code(rng, 480), rng.IntN(20) == 0)
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

var chinese = strings.Fields("配置文件 数据库迁移 连接超时 部署失败 缓存命中率 重试次数 订单服务 日志级别 内存泄漏 索引重建 回滚版本 限流阈值")

var syllables = strings.Fields(`con ter in re de pro per com ment tion ing er ly est an ar al en or el ma ta la ra na sa ca
	pa da ba mi ti li ri ni si ci di bi mo to lo ro no so co po do bo mu tu lu ru nu su cu du bu ver ser tic ous ive ble`)

// rarer are the words that a vocabulary has beside the common ones.
var rarer = func() []string {
	rng := rand.New(rand.NewPCG(20, 26))
	all := make([]string, 20_000)
	for i := range all {
		for range 2 + rng.IntN(3) {
			all[i] += pickFrom(rng, syllables)
		}
	}
	return all
}()

// pick takes a word: every other one is common.
func pick(rng *rand.Rand) string {
	if rng.IntN(2) == 0 {
		return pickFrom(rng, words)
	}
	// Squaring favours the front of the list, as use does.
	r := rng.Float64()
	return rarer[int(r*r*float64(len(rarer)))]
}

func pickFrom(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// prose writes sentences of about n characters.
func prose(rng *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pick(rng))
		switch rng.IntN(16) {
		case 0:
			b.WriteByte('.')
		case 1:
			fmt.Fprintf(&b, " %d", rng.IntN(100_000))
		case 2:
			fmt.Fprintf(&b, " %s/%s.go:%d", pick(rng), pick(rng), rng.IntN(900))
		}
	}
	b.WriteByte('.')
	return b.String()
}

// code writes numbered lines of about n characters.
func code(rng *rand.Rand, n int) string {
	var b strings.Builder
	for line := 1; b.Len() < n; line++ {
		fmt.Fprintf(&b, "%4d\t%s_%s(%s, 0x%x)\n", line, pick(rng), pick(rng), pick(rng), rng.Uint32())
	}
	return b.String()
}

// instant is a summariser that takes no time: it repeats the beginning of its
// first source.
type instant struct{}

// Summarise implements [summary.Summariser].
func (instant) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	var b strings.Builder
	for _, s := range r.Sources {
		if b.Len() > 3*r.Target {
			break
		}
		text := s.Text
		if len(text) > 400 {
			text = strings.ToValidUTF8(text[:400], "")
		}
		b.WriteString(strings.ReplaceAll(text, summary.Footer, ""))
		b.WriteByte('\n')
	}
	text := b.String()
	if most := 3 * r.Target; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n"
	}
	return summary.Result{Text: text + summary.Footer + "the rest", Method: "instant"}, nil
}
