package secondhand_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestSettles: the part of a turn that settles what a message is says the same as the whole
// turn, and a call of another tool next to the message settles it.
func TestSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turn []store.Message
		for n := range rapid.IntRange(1, 8).Draw(t, "messages") {
			call := func(name string) llms.ToolCall {
				return llms.ToolCall{ID: fmt.Sprint(n, name), Name: name, Arguments: "{}"}
			}
			m := rapid.SampledFrom([]llms.Message{
				llms.User("what port has the proxy?"), llms.User("go on"), llms.Assistant("It has port 1."),
				llms.Calls("", call("mcp__lcm__lcm_grep")), llms.Calls("", call("Bash")), llms.Calls("", call("Bash"), call("mcp__lcm__lcm_grep")),
				llms.Result(fmt.Sprint(n-1, "Bash"), "", "x", false), llms.Result(fmt.Sprint(n-2, "mcp__lcm__lcm_grep"), "", "x", false), llms.Result(fmt.Sprint(n-1, "mcp__lcm__lcm_grep"), "", "x", false),
			}).Draw(t, "message")
			turn = append(turn, store.Message{ID: store.MessageID(n), Flags: rapid.SampledFrom([]store.Flag{0, 0, 0, store.FlagEcho}).Draw(t, "flags"), Body: m})
		}
		of := rapid.IntRange(0, len(turn)-1).Draw(t, "of")
		enough := secondhand.Settles(turn[of])
		from, to, settled := of, of+1, enough(turn[of])
		for !settled && from > 0 {
			from--
			settled = enough(turn[from])
		}
		for !settled && to < len(turn) {
			settled = enough(turn[to])
			to++
		}
		whole, part := secondhand.Messages(turn)[of], secondhand.Messages(turn[from:to])[of-from]
		if _, asks := secondhand.Asking(turn); whole != part || settled && asks {
			t.Fatalf("message %d of %v: %v of the turn, %v of messages %d to %d", of, turn, whole, part, from, to)
		}
	})
	before, m := store.Message{Body: llms.Calls("", llms.ToolCall{ID: "1", Name: "Bash", Arguments: "{}"})}, store.Message{Body: llms.Result("1", "Bash", "done", false)}
	if enough := secondhand.Settles(m); enough(m) || !enough(before) || len(m.Body.ToolResults()) != 1 {
		t.Error("the call of a result does not settle what the result is")
	}
}
