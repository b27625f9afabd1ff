package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The lines of a session in which the user types ahead.
const (
	asked     = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"fix the parser"}}`
	called    = `{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}`
	gave      = `{"type":"user","uuid":"r1","parentUuid":"a1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}`
	answered  = `{"type":"assistant","uuid":"a2","parentUuid":"r1","sessionId":"s","message":{"role":"assistant","id":"m2","content":[{"type":"text","text":"done"}]}}`
	next      = `{"type":"user","uuid":"u2","parentUuid":"a2","sessionId":"s","message":{"role":"user","content":"do not amend"}}`
	attached  = `{"type":"attachment","uuid":"t1","parentUuid":"r1","sessionId":"s","attachment":{"type":"queued_command","prompt":"do not amend"}}`
	summary   = `{"type":"user","uuid":"h1","parentUuid":"r1","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"what was"}}`
	aside     = `{"type":"assistant","uuid":"x1","isSidechain":true,"sessionId":"s","message":{"role":"assistant","id":"m9","content":[{"type":"text","text":"aside"}]}}`
	remove    = `{"type":"queue-operation","operation":"remove","timestamp":"2026-01-02T03:04:06Z","sessionId":"s"}`
	dequeue   = `{"type":"queue-operation","operation":"dequeue","timestamp":"2026-01-02T03:04:06Z","sessionId":"s"}`
	takenBack = `{"type":"queue-operation","operation":"popAll","timestamp":"2026-01-02T03:04:06Z","sessionId":"s","content":"do not amend"}`
	peeked    = `{"type":"queue-operation","operation":"peek","timestamp":"2026-01-02T03:04:06Z","sessionId":"s"}`
	typed     = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:04:05Z","sessionId":"s","content":"do not amend"}`
	announced = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:04:04Z","sessionId":"s","content":"{\"task_id\":\"b1\",\"description\":\"Run the tests\",\"task_type\":\"local_bash\"}"}`
	removed   = `{"type":"queue-operation","operation":"remove","timestamp":"2026-01-02T03:04:06Z","sessionId":"s","reason":"absorbed_mid_turn","content":"do not amend"}`
	early     = `{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}`
	late      = `{"type":"assistant","uuid":"a2","parentUuid":"r1","sessionId":"s","timestamp":"2026-01-02T03:04:07Z","message":{"role":"assistant","id":"m2","content":[{"type":"text","text":"done"}]}}`
	reviewing = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:04:05Z","sessionId":"s","content":"/review"}`
	review    = `{"type":"user","uuid":"u3","parentUuid":"a2","sessionId":"s","message":{"role":"user","content":"<command-message>review</command-message>\n<command-name>/review</command-name>"}}`
	notified  = `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:04:05Z","sessionId":"s","content":"<task-notification>x</task-notification>"}`
)

// A prompt that was typed while the agent worked is a message of the user where the model
// got it, once, whichever records a version of the program writes.
func TestPromptsTypedAhead(t *testing.T) {
	for name, c := range map[string]struct{ lines, said string }{
		"got after the result":           {asked + called + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"got before a summary":           {asked + called + typed + remove + gave + summary, "user fix the parser|assistant|tool|user do not amend|user what was"},
		"a sub-agent in between":         {asked + called + typed + remove + aside + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"two":                            {asked + called + typed + typed + remove + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|user do not amend|assistant done"},
		"a prompt of its own":            {asked + typed + answered + dequeue + next, "user fix the parser|assistant done|user do not amend"},
		"every prompt is queued":         {typed + dequeue + next, "user do not amend"},
		"taken back":                     {asked + called + typed + takenBack + gave + answered, "user fix the parser|assistant|tool|assistant done"},
		"taken back, then again":         {asked + called + typed + takenBack + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"another taken back":             {asked + called + notified + takenBack + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"said once":                      {asked + called + typed + remove + gave + answered + summary, "user fix the parser|assistant|tool|user do not amend|assistant done|user what was"},
		"an unknown operation":           {asked + called + typed + peeked + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"attached afterwards":            {asked + called + typed + remove + gave + attached + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"attached before":                {asked + called + typed + gave + attached + remove + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"not got yet":                    {asked + called + typed + gave + answered, "user fix the parser|assistant|tool|assistant done"},
		"nothing was typed":              {asked + remove + dequeue + answered, "user fix the parser|assistant done"},
		"one follows, one not":           {asked + called + notified + dequeue + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"a task is announced":            {asked + called + announced + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"announcements at a turn's end":  {asked + called + announced + announced + gave + answered + typed + remove + remove + dequeue + next, "user fix the parser|assistant|tool|assistant done|user do not amend"},
		"an announcement that stayed":    {asked + called + announced + gave + answered + next + called + strings.ReplaceAll(typed, "amend", "rebase") + remove + gave + answered, "user fix the parser|assistant|tool|assistant done|user do not amend|assistant|tool|user do not rebase|assistant done"},
		"a prompt before a notification": {asked + called + notified + typed + remove + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"the removal says what it is of": {asked + called + strings.ReplaceAll(typed, "amend", "push") + typed + removed + gave + answered, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"the call is written late":       {asked + typed + remove + early + gave + late, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"written late, and attached":     {asked + typed + remove + early + gave + attached + late, "user fix the parser|assistant|tool|user do not amend|assistant done"},
		"a command of its own":           {asked + reviewing + answered + dequeue + review + called + typed + remove + gave + answered, "user fix the parser|assistant done|program <command-message>review</command-message>\n<command-name>/review</command-name>|assistant|tool|user do not amend|assistant done"},
		"a notification":                 {asked + called + notified + remove + gave + answered, "user fix the parser|assistant|tool|program <task-notification>x</task-notification>|assistant done"},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			for _, rec := range hosttest.ReadLines(t, Host{}, strings.ReplaceAll(c.lines, "}{", "}\n{")+"\n") {
				if rec.Flags&store.FlagHidden != 0 {
					continue
				}
				if hosts.IsAside(rec.ID) && rec.Time.Second() != 5 {
					t.Errorf("%s has the time %v, not that at which it was typed", rec.PlainText(), rec.Time)
				}
				who, text := string(rec.Role), ""
				if rec.Flags&store.FlagSynthetic != 0 {
					who = "program"
				}
				if rec.Role == llms.RoleUser || rec.Role == llms.RoleAssistant {
					text = " " + rec.PlainText()
				}
				said = append(said, strings.TrimSpace(who+text))
			}
			if diff := cmp.Diff(c.said, strings.Join(said, "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
