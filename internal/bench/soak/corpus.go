package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

var words = strings.Fields(`server client request response error timeout retry queue worker token buffer parser index table column
	record message session context budget summary branch commit deploy release config secret cache lock thread channel socket
	stream batch the of to and in is that for it with as was on at by this not are but from or have an which when will more if
	out so up what its about into only other time new some could these two first then any now over must through where should`)

var syllables = strings.Fields("con ter in re de pro per com ment ver ser tic ous ive ble ma ta la ra na mi ti li mo to lo mu tu lu")

// round is how many messages agents exchange in a turn: a question, a tool
// call, its result and an answer.
const round = 4

// compose writes the n-th message. The same n always gives the same one.
func compose(n int) llms.Message {
	m := speak(n)
	m.ID = fmt.Sprintf("soak-%09d", n)
	return m
}

func speak(n int) llms.Message {
	rng := rand.New(rand.NewPCG(uint64(n), 0x50a4))
	call := fmt.Sprintf("call_%08d", n/round)
	switch n % round {
	case 0:
		return llms.User(prose(rng, 300))
	case 1:
		return llms.Calls(prose(rng, 120), llms.ToolCall{
			ID: call, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"internal/%s/%s.go"}`, word(rng), word(rng)),
		})
	case 2:
		return llms.Result(call, "read_file", prose(rng, 500), false)
	}
	return llms.Assistant(prose(rng, 400))
}

// word takes a common word or makes one of syllables up, so that the
// vocabulary is as large as that of real texts.
func word(rng *rand.Rand) string {
	if rng.IntN(3) > 0 {
		return words[rng.IntN(len(words))]
	}
	var b strings.Builder
	for range 2 + rng.IntN(2) {
		b.WriteString(syllables[rng.IntN(len(syllables))])
	}
	return b.String()
}

func prose(rng *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(word(rng))
		switch rng.IntN(14) {
		case 0:
			b.WriteByte('.')
		case 1:
			fmt.Fprintf(&b, " %d", rng.IntN(100_000))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// question asks in words, expression as a regular expression.
func question(n int) string {
	rng := rand.New(rand.NewPCG(uint64(n), 0x9e))
	return word(rng) + " " + word(rng) + " " + word(rng)
}

func expression(n int) string {
	rng := rand.New(rand.NewPCG(uint64(n), 0x9f))
	return word(rng) + `\s+` + word(rng)
}
