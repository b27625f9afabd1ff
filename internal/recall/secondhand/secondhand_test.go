package secondhand_test

import (
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/secondhand"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func TestMessages(t *testing.T) {
	call := func(name, arguments string) llms.Message {
		return llms.Calls("Let me look.", llms.ToolCall{ID: "1", Name: name, Arguments: arguments})
	}
	result := llms.Result("1", "", "msg_9: port 8443", false)
	reply := llms.Assistant("Port 8443.")
	const question = "which port did we give the proxy?"
	for name, tt := range map[string]struct {
		turn []llms.Message
		echo []int // indexes of messages with FlagEcho
		want []bool
	}{
		"an answer":                {[]llms.Message{llms.User(question), reply}, nil, []bool{false, false}},
		"a tool of lcm":            {[]llms.Message{llms.User(question), call("mcp__lcm__lcm_grep", "{}"), result, reply}, nil, []bool{true, true, true, true}},
		"a tool explained":         {[]llms.Message{llms.User(question), call("lcm_grep", "{}"), result, llms.Calls("", llms.ToolCall{ID: "2", Name: "expand", Arguments: `{"subject_type":"tool","subject_name":"lcm_grep"}`}), llms.Result("2", "", "…", false), reply}, nil, []bool{true, true, true, true, true, true}},
		"lcm in a shell":           {[]llms.Message{llms.User(question), call("Bash", `{"command":"cd /p && lcm --db x.db grep -F 'proxy port' | head"}`), result, reply}, nil, []bool{true, true, true, true}},
		"why, in a shell":          {[]llms.Message{llms.User(question), call("Bash", `{"command":"lcm why proxy.go:7"}`), result, reply}, nil, []bool{true, true, true, true}},
		"the hook's lines":         {[]llms.Message{llms.User("and what port has the proxy"), llms.User("<lcm-context>"), reply}, []int{1}, []bool{true, true, true}},
		"the hook's, in German":    {[]llms.Message{llms.User("welchen Port hat der Proxy"), llms.User("<lcm-context>"), reply}, []int{1}, []bool{true, true, true}},
		"a statement is a source":  {[]llms.Message{llms.User("from now on the proxy has port 9443"), llms.User("<lcm-context>"), llms.Assistant("Noted.")}, []int{1}, []bool{false, true, true}},
		"work after lcm was asked": {[]llms.Message{llms.User(question), call("mcp__lcm__lcm_grep", "{}"), result, llms.Calls("", llms.ToolCall{ID: "2", Name: "Bash", Arguments: `{"command":"ss -ltn"}`}), llms.Result("2", "", "9443", false), llms.Assistant("9443 now.")}, nil, []bool{false, true, true, false, false, false}},
		"work on lcm":              {[]llms.Message{llms.User(question), call("Bash", `{"command":"go test ./internal/lcm"}`), result, reply}, nil, []bool{false, false, false, false}},
		"the end of a turn":        {[]llms.Message{result, reply}, []int{0}, []bool{true, true}},
		"nothing":                  {nil, nil, []bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			turn := make([]store.Message, len(tt.turn))
			for i, m := range tt.turn {
				turn[i].Body = m
				if slices.Contains(tt.echo, i) {
					turn[i].Flags = store.FlagEcho
				}
			}
			if got := secondhand.Messages(turn); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestOnlyAsks: a session is left out only if nothing else was done in any of its turns.
func TestOnlyAsks(t *testing.T) {
	user := store.Message{Body: llms.User("the proxy answers 502")}
	said := store.Message{Body: llms.Assistant("It was the timeout.")}
	call := func(name, arguments string) store.Message {
		return store.Message{Body: llms.Calls("", llms.ToolCall{ID: "1", Name: name, Arguments: arguments})}
	}
	own, shell, other := call("mcp__lcm__lcm_grep", `{"pattern":"502"}`), call("Bash", `{"command":"lcm ask 'why 502'"}`), call("Bash", `{"command":"go test"}`)
	for name, tt := range map[string]struct {
		session []store.Message
		want    bool
	}{
		"a call of a tool":              {[]store.Message{user, own, said}, true},
		"a command":                     {[]store.Message{user, shell, said}, true},
		"two turns":                     {[]store.Message{user, own, said, user, shell, said}, true},
		"a turn without a call":         {[]store.Message{user, own, said, user, said}, false},
		"the first turn without a call": {[]store.Message{user, said, user, own, said}, false},
		"another tool":                  {[]store.Message{user, own, other, said}, false},
		"no call":                       {[]store.Message{user, said}, false},
		"nothing":                       {nil, false},
	} {
		if got := secondhand.OnlyAsks(tt.session); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
