package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

const firstTurn = "Remember this: the key to the boathouse hangs behind the third lantern, code 8841-Ω."

var snippetField = regexp.MustCompile(`"snippet":"((?:[^"\\]|\\.)*)"`)

// talker is a model that chats, and looks up facts that it is asked to recall.
func talker(r llms.Request) llmtest.Reply {
	last := r.Messages[len(r.Messages)-1]
	if results := last.ToolResults(); len(results) > 0 {
		found := snippetField.FindStringSubmatch(results[0].Output[0].Text)
		if found == nil {
			return llmtest.Say("I found nothing.")
		}
		return llmtest.Say("You said: " + found[1])
	}
	if strings.Contains(llmtest.LastUserText(r), "What did I say first") {
		return llmtest.Call("lcm_grep", map[string]any{"pattern": "boathouse", "scope": "messages"})
	}
	return llmtest.Say("Noted. " + strings.Repeat("The harbour is calm, the boats lie still and the tide turns as it should. ", 4))
}

// chatting runs lcm chat on lines of input against a scripted model.
func chatting(t *testing.T, model llmtest.Responder, input string, args ...string) (out, errs string, h *llmtest.Handler) {
	t.Helper()
	h = llmtest.NewHandler(model)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for key, value := range map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": dir, "LCM_DATABASE_PATH": filepath.Join(dir, "lcm.db"), "LCM_SYNCHRONOUS": "relaxed", "NO_COLOR": "1",
		"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.URL + "/v1", "LCM_TOKENS_PER_DAY": "0",
	} {
		t.Setenv(key, value)
	}
	var stdout, stderr bytes.Buffer
	code := run(context.WithoutCancel(t.Context()), newProgram(strings.NewReader(input), &stdout, &stderr), append([]string{"chat", "--model", "scripted"}, args...))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	return stdout.String(), stderr.String(), h
}

func TestChatHoldsManyTurnsInABudget(t *testing.T) {
	const turns, budget = 200, 16_000
	var input strings.Builder
	fmt.Fprintln(&input, firstTurn)
	for i := 2; i < turns; i++ {
		fmt.Fprintf(&input, "Turn %d: entry %d of the log says wind from the west at %d knots, the gauge at %d, and nothing else of note.\n", i, i, i%40, i*7%91)
	}
	fmt.Fprintln(&input, "What did I say first, word for word?")
	out, errs, h := chatting(t, talker, input.String(), "--budget", fmt.Sprint(budget))
	exchanges := h.Exchanges()
	if len(exchanges) != turns+1 {
		t.Errorf("%d requests, want one a turn and one more for the tool", len(exchanges))
	}
	most := 0
	for i, e := range exchanges {
		size := requestTokens(e.Request)
		if most = max(most, size); size > budget {
			t.Fatalf("request %d has %d tokens, the budget is %d", i+1, size, budget)
		}
	}
	for _, m := range exchanges[turns-1].Request.Messages {
		if m.PlainText() == firstTurn {
			t.Error("the first turn is still in view: the test proves nothing")
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(out), "You said: "+firstTurn) {
		t.Errorf("the last answer is %.200q", out[max(0, len(out)-200):])
	}
	if !strings.Contains(errs, "→ lcm_grep(") || !strings.Contains(errs, "← lcm_grep: ") {
		t.Error("the tool call was not shown")
	}
	t.Logf("largest request: %d tokens", most)
}

func requestTokens(r llms.Request) int {
	n := llms.Estimate.Count(r.System)
	for _, m := range r.Messages {
		n += llms.CountMessage(llms.Estimate, m)
	}
	for _, s := range r.Tools {
		n += llms.Estimate.Count(s.Name) + llms.Estimate.Count(s.Description) + llms.Estimate.Count(string(s.Parameters))
	}
	return n
}

func TestChatCommands(t *testing.T) {
	out, errs, _ := chatting(t, talker, "hello\n/help\n/nonsense\n/quit\nnever said\n")
	for _, want := range []string{"Noted.", "/quit leaves"} {
		if !strings.Contains(out, want) {
			t.Errorf("standard output lacks %q:\n%s", want, out)
		}
	}
	if !strings.Contains(errs, "/nonsense is not a command") {
		t.Errorf("standard error: %s", errs)
	}
	if strings.Contains(out, "never said") {
		t.Error("it went on after /quit")
	}
}

func TestChatGoesOnAfterAFailedTurn(t *testing.T) {
	model := func(r llms.Request) llmtest.Reply {
		if strings.Contains(llmtest.LastUserText(r), "fail") {
			return llmtest.Status(400, "scripted refusal")
		}
		return llmtest.Say("fine")
	}
	out, errs, _ := chatting(t, model, "fail\nand now?\n")
	if !strings.Contains(errs, "scripted refusal") || !strings.Contains(out, "fine") {
		t.Errorf("out %q\nerr %q", out, errs)
	}
}

func TestChatSaysWhenAnAnswerIsCut(t *testing.T) {
	model := func(llms.Request) llmtest.Reply {
		return llmtest.Reply{Text: "It begins well and", Stop: llms.StopLength}
	}
	out, errs, _ := chatting(t, model, "tell me everything\n")
	if !strings.Contains(out, "It begins well and\n") || !strings.Contains(errs, "ran into the limit of its answer") {
		t.Errorf("out %q\nerr %q", out, errs)
	}
}

// The memory's guidance and one line for each tool are in the system prompt,
// and every tool can be expanded.
func TestChatCarriesTheGuidance(t *testing.T) {
	_, _, h := chatting(t, talker, "hello\n")
	r := h.Exchanges()[0].Request
	for _, m := range r.Messages {
		if m.Role == llms.RoleSystem {
			r.System += m.PlainText()
		}
	}
	for _, want := range []string{"## Memory & Context", "- lcm_grep: ", "- lcm_describe: ", "- lcm_expand_query: ", "- expand: "} {
		if !strings.Contains(r.System, want) {
			t.Errorf("the system prompt lacks %q:\n%s", want, r.System)
		}
	}
	if strings.Contains(r.System, "- lcm_expand:") {
		t.Error("the main agent was given lcm_expand")
	}
}

// A chat that ends before a word is said, and commands that only look, leave no
// conversation behind: it would be the project's newest.
func TestChatWithoutAWordLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir()) // a project that is named by its directory
	_, errs, _ := chatting(t, talker, "/help\n/quit\n")
	if strings.Contains(errs, "chat//") || !strings.Contains(errs, "session chat/") {
		t.Errorf("the key is not as it should be: %s", errs)
	}
	if list := listed(t); len(list) != 0 {
		t.Errorf("it left %v", list)
	}
}

// listed are the conversations of the database that chatting made.
func listed(t *testing.T) []store.Conversation {
	t.Helper()
	db, err := sqlite.Open(t.Context(), os.Getenv("LCM_DATABASE_PATH"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestChatContinuesATurn(t *testing.T) {
	asked := 0
	model := func(llms.Request) llmtest.Reply {
		if asked++; asked == 1 {
			return llmtest.Status(400, "scripted refusal")
		}
		return llmtest.Say("fine")
	}
	out, errs, h := chatting(t, model, "how is it?\n/approve\n/continue\n/continue\n")
	if !strings.Contains(out, "fine") || len(h.Exchanges()) != 2 {
		t.Errorf("%d requests, out %q", len(h.Exchanges()), out)
	}
	for _, want := range []string{"no call waits for approval", "no unfinished turn"} {
		if !strings.Contains(errs, want) {
			t.Errorf("standard error lacks %q: %s", want, errs)
		}
	}
}
