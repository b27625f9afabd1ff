package sample_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/llms"
)

func TestSessionIsAConversation(t *testing.T) {
	messages := sample.Messages()
	if n := len(messages); n < 400 || n > 600 {
		t.Errorf("the session has %d messages, want 400 to 600", n)
	}
	seen := map[string]bool{}
	open := map[string]string{} // call id → tool, not answered yet
	var last time.Time
	for _, m := range messages {
		if m.ID == "" || seen[m.ID] {
			t.Errorf("message id %q is missing or taken", m.ID)
		}
		seen[m.ID] = true
		if !m.Time.After(last) {
			t.Errorf("%s is not later than the message before it", m.ID)
		}
		last = m.Time
		if len(m.Parts) == 0 {
			t.Errorf("%s says nothing", m.ID)
		}
		for _, r := range m.ToolResults() {
			if open[r.CallID] != r.Name {
				t.Errorf("%s answers call %q of tool %q, which is open for %q", m.ID, r.CallID, r.Name, open[r.CallID])
			}
			delete(open, r.CallID)
		}
		if m.Role != llms.RoleTool && len(open) > 0 {
			t.Errorf("%s comes before the calls %v are answered", m.ID, open)
		}
		for _, c := range m.ToolCalls() {
			if !json.Valid([]byte(c.Arguments)) {
				t.Errorf("%s: the arguments of %s are not JSON", m.ID, c.Name)
			}
			open[c.ID] = c.Name
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without an answer: %v", open)
	}
}

// The session must be large enough to be compacted to some depth, hold a
// payload that is worth moving out, and speak more than one language.
func TestSessionHasSubstance(t *testing.T) {
	raw := sample.JSONL()
	if n := len(raw); n < 350<<10 || n > 700<<10 {
		t.Errorf("the session has %d KiB, want 350 to 700", n>>10)
	}
	large := 0
	scripts := map[string]*unicode.RangeTable{"Han": unicode.Han, "Hiragana": unicode.Hiragana, "Cyrillic": unicode.Cyrillic, "emoji": unicode.So}
	found := map[string]bool{}
	said := map[string]string{}
	for _, m := range sample.Messages() {
		text := strings.Join(texts(m), "\n")
		if len(text) > 20<<10 {
			large++
		}
		for _, r := range text {
			for name, script := range scripts {
				found[name] = found[name] || unicode.Is(script, r)
			}
		}
		if prose := m.PlainText(); len(prose) > 40 {
			if said[prose] != "" {
				t.Errorf("%s repeats %s", m.ID, said[prose])
			}
			said[prose] = m.ID
		}
	}
	if large < 3 {
		t.Errorf("%d outputs over 20 KiB, want at least 3", large)
	}
	for name := range scripts {
		if !found[name] {
			t.Errorf("no message in %s", name)
		}
	}
}

// texts returns everything a message says, calls or answers, part by part.
func texts(m llms.Message) []string {
	out := []string{m.PlainText()}
	for _, c := range m.ToolCalls() {
		out = append(out, c.Arguments)
	}
	for _, r := range m.ToolResults() {
		for _, p := range r.Output {
			out = append(out, p.Text)
		}
	}
	return out
}

func TestAnswersStandInTheirEvidence(t *testing.T) {
	byID := map[string]llms.Message{}
	for _, m := range sample.Messages() {
		byID[m.ID] = m
	}
	ids := map[string]bool{}
	for _, q := range sample.Questions() {
		if q.ID == "" || ids[q.ID] || q.Question == "" || q.Answer == "" || len(q.Evidence) == 0 {
			t.Errorf("question %q is incomplete or its id is taken", q.ID)
		}
		ids[q.ID] = true
		if strings.Contains(q.Question, q.Answer) {
			t.Errorf("%s gives its own answer away", q.ID)
		}
		for _, id := range q.Evidence {
			m, ok := byID[id]
			if !ok {
				t.Errorf("%s: there is no message %s", q.ID, id)
				continue
			}
			if !slices.ContainsFunc(texts(m), func(s string) bool { return strings.Contains(s, q.Answer) }) {
				t.Errorf("%s: %q does not stand in %s", q.ID, q.Answer, id)
			}
		}
	}
	if len(ids) < 40 {
		t.Errorf("%d questions, want at least 40", len(ids))
	}
}

var word = regexp.MustCompile(`[\p{L}\p{N}_./-]+`)

// small words carry no meaning that a search could use.
var small = strings.Fields("a an and any are as at be been by did do does for from had has have how in is it its of on one or our so that the their them they this to under was we were what when where which who whom whose why will with would")

// A paraphrased question shares at most a third of its words with the
// sentence around the answer, and they are a third of all questions.
func TestParaphrasesAvoidTheWordsOfTheAnswer(t *testing.T) {
	byID := map[string]llms.Message{}
	for _, m := range sample.Messages() {
		byID[m.ID] = m
	}
	paraphrased := 0
	all := sample.Questions()
	for _, q := range all {
		if !q.Paraphrased {
			continue
		}
		paraphrased++
		near := map[string]bool{}
		for _, s := range texts(byID[q.Evidence[0]]) {
			if i := strings.Index(s, q.Answer); i >= 0 {
				from, to := max(0, i-120), min(len(s), i+len(q.Answer)+120)
				for _, w := range word.FindAllString(strings.ToLower(s[from:to]), -1) {
					near[w] = true
				}
			}
		}
		var content, shared []string
		for _, w := range word.FindAllString(strings.ToLower(q.Question), -1) {
			if slices.Contains(small, w) {
				continue
			}
			content = append(content, w)
			if near[w] {
				shared = append(shared, w)
			}
		}
		if 3*len(shared) > len(content) {
			t.Errorf("%s is not a paraphrase: %d of %d words stand near the answer: %v", q.ID, len(shared), len(content), shared)
		}
	}
	if 3*paraphrased < len(all) {
		t.Errorf("%d of %d questions are paraphrased, want a third", paraphrased, len(all))
	}
}

func TestCallersOwnWhatTheyGet(t *testing.T) {
	sample.JSONL()[0] = 'x'
	sample.Messages()[0].Raw.Bytes[0] = 'x'
	if !bytes.HasPrefix(sample.JSONL(), []byte("{")) {
		t.Error("a caller changed the session for everyone")
	}
}

func ExampleMessages() {
	first := sample.Messages()[1]
	fmt.Println(first.ID, first.Time.Format(time.DateOnly), first.Role)
	fmt.Println(first.PlainText()[:60])
	// Output:
	// m0002 2026-03-02 user
	// Morning. Mara here. We had an ugly weekend: Nordpil's API te
}

func ExampleQuestions() {
	q := sample.Questions()[0]
	fmt.Println(q.Question)
	fmt.Println(q.Answer, q.Evidence)
	// Output:
	// Why did the retry counter in fetchWithRetry never increase?
	// declares a **new** `attempt` inside the `if` [m0008]
}
