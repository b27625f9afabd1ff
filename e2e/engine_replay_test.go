//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms/llmtest"
)

// stepsEnv is how many steps of the transcript are one step of the replay, with one command that
// prints what they gave; 1 if it is empty. An agent that takes seconds for a call then ends in minutes.
const stepsEnv = "LCM_E2E_STEPS"

// TestEngineReplay plays real work in an agent with an adapter, without lcm and with it, as
// TestRunReplay does behind the proxy. Facts with an "ask" are looked for from a new session.
func TestEngineReplay(t *testing.T) {
	files := os.Getenv(replayEnv)
	at := slices.IndexFunc(slices.Concat(agents, added), func(h agent) bool {
		_, ok := h.(engined)
		return ok && h.name() == os.Getenv("LCM_E2E_HOST")
	})
	if files == "" || at < 0 {
		t.Skip(replayEnv + " is not set, or LCM_E2E_HOST names no agent with an adapter")
	}
	h := slices.Concat(agents, added)[at].(engined)
	programsOf(t, h) // while there is a network
	if !withoutNetwork(t) {
		return
	}
	r := replayed{host: h, facts: readReplayFacts(t, os.Getenv(factsEnv), files)}
	for _, f := range strings.Split(files, ":") {
		r.turns = append(r.turns, readTurns(t, f)...)
	}
	if n, err := strconv.Atoi(os.Getenv(stepsEnv)); err == nil && n > 1 {
		for i := range r.turns {
			r.turns[i].steps = joinSteps(r.turns[i].steps, n)
		}
	}
	var plain, through apiTotals
	var alone, beside []string
	t.Run("plain", func(t *testing.T) { plain, alone = r.play(t, false) })
	t.Run("lcm", func(t *testing.T) { through, beside = r.play(t, true) })
	if through.Compactions > 0 || through.Largest > engineBudget {
		t.Errorf("%d compactions, largest request %d", through.Compactions, through.Largest)
	}
	if len(alone) == 0 || len(beside) == 0 {
		return // one of them was chosen
	}
	t.Logf("cost %.2f of plain", through.Cost/plain.Cost)
	same := 0
	for same < min(len(alone), len(beside)) && alone[same] == beside[same] {
		same++
	}
	t.Logf("the transcripts have %d and %d messages; the first %d are the same", len(alone), len(beside), same)
	if same < max(len(alone), len(beside)) {
		for _, all := range [][]string{alone, beside} {
			t.Errorf("then comes %.3000s", strings.Join(all[same:min(same+2, len(all))], "\n"))
		}
	}
}

// replayed is the work that TestEngineReplay plays.
type replayed struct {
	host  engined
	turns []replayTurn
	facts []replayFact
}

// play plays the turns in one session, counts the facts in the last request, and returns the
// messages of the agent's transcript.
func (r replayed) play(t *testing.T, setup bool) (apiTotals, []string) {
	var b *runBed
	var last []byte
	asking, found := false, 0
	asked := slices.DeleteFunc(slices.Clone(r.facts), func(f replayFact) bool { return f.Ask == "" })
	b = newRunBed(t, r.host, nil, apiOptions{
		Window: func(string, http.Header) int { return engineWindow },
		Script: func(s playStep) llmtest.Reply {
			if s.Play != "recall" {
				return b.again(s, r.turns)
			}
			if s.Number > 0 && s.Number <= len(asked) {
				answer := "" // OpenClaw rewrites the ids of calls, so that no results are counted as the step's
				for _, m := range s.Request.Messages {
					for _, r := range m.ToolResults() {
						answer = outputText(r.Output)
					}
				}
				if asked[s.Number-1].In(foldSpaces(answer)) {
					found++
				} else {
					t.Logf("not found: %s: %.600s", asked[s.Number-1].Fact.Fact, answer)
				}
			}
			if s.Number >= len(asked) {
				return llmtest.Say("That was all.")
			}
			return llmtest.Reply{Text: "Looking."}.And(offered(s.Request, "lcm_grep"), map[string]any{"pattern": asked[s.Number].Ask})
		},
		Seen: func(r apiRecord, body []byte) {
			if r.Kind == mainRequest && r.Refused == "" && !asking {
				last = slices.Clone(body)
			}
		},
	})
	b.smallWindow(r.host)
	b.write(filepath.Join(b.work, "README"), "Work that was done before.\n")
	if setup {
		b.run(b.lcm, "setup", r.host.name(), "--yes")
	}
	began := time.Now()
	turn, end := b.talk(r.host)
	for n, do := range r.turns {
		turn(fmt.Sprintf("%.100000s play:t%d", do.prompt, n), n > 0)
	}
	end()
	sum := b.totals()
	refused := map[string]int{}
	for _, why := range sum.Refused {
		refused[regexp.MustCompile(`\d+`).ReplaceAllString(why, "N")]++
	}
	by, all := countFacts(r.facts, allStrings(t, last))
	t.Logf("%d turns, %.0f s, refused: %v; %d of %d facts in the last request: %v of %v", len(r.turns), time.Since(began).Seconds(), refused, by["all"], len(r.facts), by, all)
	var messages []string
	size := 0
	records := r.host.records(b.bed)
	if in, ok := r.host.(interface{ transcript(*bed) [][]byte }); ok {
		records = in.transcript(b.bed)
	}
	for _, record := range records {
		if m := b.message(record); m != "" {
			messages, size = append(messages, m), size+len(m)
		}
	}
	t.Logf("the transcript has %d tokens", bytesToTokens(size))
	if setup {
		b.stored(r.host.records(b.bed))
		b.exported(r.host)
		asking = true
		turn, end = b.talk(r.host)
		turn("What was it? play:recall", false)
		end()
		t.Logf("recall from a new session: %d of %d", found, len(asked))
	}
	return sum, messages
}

// joinSteps makes one step with one call of n, but leaves the last one, which has no call, as it is.
func joinSteps(steps []*replayStep, n int) (out []*replayStep) {
	for i, s := range steps {
		if i%n == 0 || len(s.calls) == 0 {
			out = append(out, &replayStep{})
		}
		to := out[len(out)-1]
		to.text = strings.TrimSpace(to.text + "\n" + s.text)
		for _, c := range s.calls {
			if to.calls == nil {
				to.calls = []*replayCall{{}}
			}
			to.calls[0].output += c.content + "\n" + c.output + "\n"
		}
	}
	return out
}

// smallWindow gives opencode the window that the others have.
func (b *runBed) smallWindow(h engined) {
	b.Helper()
	if settings := filepath.Join(b.home, ".config", "opencode", "opencode.jsonc"); h == engined(opencodeAgent{}) {
		text, err := os.ReadFile(settings)
		if err != nil {
			b.Fatal(err)
		}
		b.write(settings, strings.Replace(string(text), "200000", strconv.Itoa(engineWindow), 1))
	}
}

// talk returns a function for the turns of sessions, in one process where the agent has such a
// mode, and one that ends the process.
func (b *runBed) talk(h engined) (turn func(prompt string, goOn bool), end func()) {
	switch h := h.(type) {
	case piAgent:
		p := startPi(b, h)
		return func(prompt string, _ bool) { p.turn(prompt) }, func() { _ = p.in.Close(); _ = p.wait() }
	case openclawAgent:
		return startOpenclaw(b, h)
	case opencodeAgent:
		s := startOpencode(b.bed)
		return func(prompt string, goOn bool) {
			if !goOn {
				s.ask(b.bed, prompt)
				return
			}
			s.goOn(b.bed, prompt)
		}, func() {}
	}
	return func(prompt string, goOn bool) {
		if o := b.turn(b.command(prompt, goOn)); o.Code != 0 {
			b.Logf("the turn ends with %d: %s", o.Code, tail(o.log))
		}
	}, func() {}
}

// Members of records that differ from run to run: ids, times, and what a request cost.
var passing = []string{"id", "parentId", "parentID", "timestamp", "time", "usage", "cost", "tokens", "responseId", "sessionID", "messageID", "callID",
	"toolCallId", "snapshot", "metadata", "providerOptions", "details", "idempotencyKey", "runId", "textSignature"}

var callName = regexp.MustCompile(`call_?[a-z0-9]{6}_?t\d+_?[\d_]+`)

// message is a record of an agent's transcript without what differs from run to run, or empty
// if it is no message.
func (b *runBed) message(record []byte) string {
	var v map[string]any
	if json.Unmarshal(record, &v) != nil {
		return ""
	}
	if in, ok := v["message"].(map[string]any); ok && in["role"] == "system" {
		return "" // the system prompt, which names the tools
	}
	if kind, _ := v["type"].(string); v["role"] == nil && !slices.Contains([]string{"message", "text", "tool"}, kind) {
		return ""
	}
	var strip func(any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range passing {
				delete(v, name)
			}
			for name := range v {
				v[name] = strip(v[name])
			}
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
		}
		return v
	}
	text, err := json.Marshal(strip(v))
	if err != nil {
		b.Fatal(err)
	}
	return callName.ReplaceAllString(strings.ReplaceAll(string(text), b.home, "~"), "call")
}
