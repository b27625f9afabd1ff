package qwen

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Shapes of records that the fixtures do not show.
func TestRecords(t *testing.T) {
	const hidden, synthetic = store.FlagHidden, store.FlagSynthetic
	hosttest.Shapes(t, func(raw string) hosts.Record { return read(t, raw+"\n")[0] }, map[string]hosttest.Shape{
		"with lcm's lines": {`{"type":"user","uuid":"u","provenance":"real_user","message":{"role":"user","parts":[{"text":"as before"},{"text":"<qwen:user-prompt-submit-context>\n&lt;lcm-context source=\"lcm\"&gt;x"}]}}`, llms.RoleUser, "as before", 0, "user"},
		"with them, 0.15":  {`{"type":"user","uuid":"u","message":{"role":"user","parts":[{"text":"as before"},{"text":"&lt;lcm-context source=\"lcm\"&gt;\n- \"&lt;/lcm-context&gt;\"\n&lt;/lcm-context&gt;"}]}}`, llms.RoleUser, "as before", 0, "user"},
		"typed meanwhile":  {`{"type":"user","subtype":"mid_turn_user_message","uuid":"u","provenance":"real_user","message":{"role":"user","parts":[{"text":"stop"}]}}`, llms.RoleUser, "stop", 0, "user/mid_turn_user_message"},
		"a goal's":         {`{"type":"user","subtype":"goal_runtime","uuid":"u","provenance":"goal_runtime","message":{"role":"user","parts":[{"text":"go on"}]}}`, llms.RoleUser, "go on", synthetic, "user/goal_runtime"},
		"empty answer":     {`{"type":"assistant","uuid":"u","model":"m"}`, llms.RoleAssistant, "", hidden, "assistant"},
		"title":            {`{"type":"system","subtype":"custom_title","uuid":"u","systemPayload":{"customTitle":"T"}}`, llms.RoleSystem, "", hidden, "system/custom_title"},
		"an image":         {`{"type":"user","uuid":"u","message":{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}`, llms.RoleUser, "[image/png 2 B]", 0, "user"},
		"unknown part":     {`{"type":"user","uuid":"u","message":{"role":"user","parts":[{"smell":1}]}}`, llms.RoleUser, `{"smell":1}`, 0, "user"},
		"unknown subtype":  {`{"type":"system","subtype":"telepathy","uuid":"u"}`, llms.RoleSystem, `{"type":"system","subtype":"telepathy","uuid":"u"}`, hidden | store.FlagUnknown, "system/telepathy"},
		"no message":       {`{"type":"user","uuid":"u"}`, llms.RoleSystem, `{"type":"user","uuid":"u"}`, hidden | store.FlagUnknown, "user"},
		"not JSON":         {`{"type":`, llms.RoleSystem, `{"type":`, hidden | store.FlagUnknown, "(damaged)"},
	})
}

// TestRewind: the record that says so goes back to the one before the prompt that was taken
// back.
func TestRewind(t *testing.T) {
	rec := read(t, `{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","parts":[{"text":"one"}]}}
{"type":"user","uuid":"2","parentUuid":"1","message":{"role":"user","parts":[{"text":"two"}]}}
{"type":"system","subtype":"rewind","uuid":"3","parentUuid":"1","systemPayload":{}}
`)[2]
	if !rec.Branch || rec.After != "1" {
		t.Errorf("%+v", rec)
	}
}

// TestNotClaude: a session of Qwen Code is not taken for one of Claude Code, whatever it begins
// with.
func TestNotClaude(t *testing.T) {
	for _, first := range []string{
		`{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","parts":[{"text":"one"}]}}`,
		`{"type":"system","subtype":"session_source","uuid":"1","parentUuid":null,"sessionId":"s","systemPayload":{}}`,
		strings.TrimSpace(strings.Repeat(`{"type":"system","subtype":"slash_command","uuid":"1","parentUuid":null,"sessionId":"s"}`+"\n", 120)), // no message is near
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		content := first + "\n" + `{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","parts":[{"text":"two"}]}}` + "\n"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (claude.Host{}).In(t.Context(), path); !errors.Is(err, hosts.ErrNoTranscript) {
			t.Errorf("Claude Code: %v", err)
		}
		if found, err := New().In(t.Context(), path); err != nil || len(found) != 1 || found[0].Session != "s" {
			t.Errorf("%v, %v", found, err)
		}
	}
}

func read(t testing.TB, content string) []hosts.Record { return hosttest.ReadLines(t, New(), content) }

func FuzzRead(f *testing.F) {
	for _, line := range []string{
		`{"type":"assistant","uuid":"u","message":{"role":"model","parts":[{"text":"x","thought":true},{"functionCall":{"id":"c","name":"tool_call","args":{"name":"y","arguments":{}}}}]}}`,
		`{"type":"tool_result","uuid":"u","message":{"role":"user","parts":[{"functionResponse":{"id":"c","response":{"error":"x"},"parts":[{"inlineData":{}}]}}]}}`,
		`{"type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"parts":[{"text":"x"}]}]}}`, `{"type":"user","message":{"parts":1}}`, "{",
	} {
		f.Add(line + "\n" + line + "\n")
	}
	f.Fuzz(func(t *testing.T, content string) { read(t, content) })
}
