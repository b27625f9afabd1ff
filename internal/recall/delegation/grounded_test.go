package delegation_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// An answer that rests on nothing is asked for once more, with what is missing,
// and then gives way to evidence.
func TestUngroundedAnswersAreRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		lazy  bool
		lines []string // what the sub-agent says, turn by turn
		again string   // what it is told
		want  string   // the answer, or how the reason begins
		ok    bool
	}{
		{"read nothing, twice", true, []string{says("I made this up: 64."), says("I made this up: 64.")}, "nothing of the record was read",
			"ungrounded: the sub-agent's answer was not accepted, twice: nothing of the record was read", false},
		{"read nothing, cited something", true, []string{says("64", "msg_1"), says("64", "msg_1")}, "nothing of the record was read", "ungrounded: ", false},
		{"all citations dropped", false, []string{says("12", "msg_99", "nonsense"), says("12", "msg_98")}, "it cites msg_99, nonsense, and nothing of that was read. You have read msg_1.", "ungrounded: ", false},
		{"an uncited figure", false, []string{says("I made this up: 64."), says("64 it is")}, `nothing that was read says "64"`, "ungrounded: ", false},
		{"an uncited figure beside one that was read", false, []string{says("12 fathoms and 64 cables"), says("12 fathoms and 64")}, `nothing that was read says "64`, "ungrounded: ", false},
		{"a made-up cause beside a valid citation", false, []string{says("It was DNS all along.", "msg_1"), says("It was DNS.", "msg_1")}, `nothing that was read says "DNS"`, "ungrounded: ", false},
		{"prose without reading", true, []string{"it is deep", says("64")}, "could not be read", "ungrounded: ", false},
		{"mended", false, []string{says("12 fathoms", "msg_99"), says("12 fathoms", "msg_1")}, "none", "12 fathoms", true},
		{"some citations hold", false, []string{says("12 fathoms", "msg_99", "msg_1")}, "", "12 fathoms", true},
		{"an uncited figure that was read", false, []string{says("12 fathoms")}, "", "12 fathoms", true},
		{"not found", false, []string{says("The record does not say.")}, "", "The record does not say.", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner := &scripted{lazy: test.lazy}
			runner.do = func(_ context.Context, s *subAgent, _ string) (string, error) {
				if s.turns > len(test.lines) {
					return "", errors.New("asked too often")
				}
				return test.lines[s.turns-1], nil
			}
			f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
			c := f.talk("s", "the anchor lies at 12 fathoms")
			a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
			if err != nil {
				t.Fatal(err)
			}
			if len(runner.asked) != len(test.lines) || len(runner.asked) == 2 && test.again != "none" && !strings.Contains(runner.asked[1], test.again) {
				t.Errorf("asked %q", runner.asked[1:])
			}
			switch {
			case test.ok && (a.Method != recall.MethodDelegated || a.Answer != test.want):
				t.Errorf("%s (%s): %q", a.Method, a.Reason, a.Answer)
			case !test.ok && (a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, test.want) || !strings.Contains(a.Answer, "12 fathoms")):
				t.Errorf("%s (%s): %q", a.Method, a.Reason, a.Answer)
			}
			f.gone(runner)
		})
	}
}

// An answer that cites nothing keeps its text. A note says that nothing supports it, and
// the passages of the record stand beside it, all within maxTokens.
func TestAnUncitedAnswerHasEvidenceBesideIt(t *testing.T) {
	const never = "the team never chose anything and left the matter open"
	for _, test := range []struct {
		name, answer string
		cited        []string
		beside       string
	}{
		{"uncited", never, nil, "the anchor lies at 12 fathoms"},
		{"cited", never, []string{"msg_1"}, ""},
		{"no room", strings.Repeat("nothing was ever chosen by anybody. ", 40), nil, ""},
	} {
		runner := &scripted{}
		runner.do = func(context.Context, *subAgent, string) (string, error) { return says(test.answer, test.cited...), nil }
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		c := f.talk("s", "the anchor lies at 12 fathoms")
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", MaxTokens: 120, Where: recall.Where{Current: c}})
		if err != nil || a.Method != recall.MethodDelegated || !strings.HasPrefix(test.answer, a.Answer[:30]) || len(a.CitedIDs) != len(test.cited) {
			t.Fatalf("%s: %v, %+v", test.name, err, a)
		}
		if noted := strings.Contains(strings.Join(a.Notes, "\n"), "nothing supports the answer"); noted != (len(test.cited) == 0) {
			t.Errorf("%s: notes %q", test.name, a.Notes)
		}
		if !strings.Contains(a.Evidence, test.beside) || (a.Evidence == "") != (test.beside == "") || llms.Estimate.Count(a.Answer)+llms.Estimate.Count(a.Evidence) > 120 {
			t.Errorf("%s: beside the answer %q", test.name, a.Evidence)
		}
		if !strings.Contains(a.Text(), a.Evidence) {
			t.Errorf("%s: the text has no evidence:\n%s", test.name, a.Text())
		}
	}
}

// Of several conversations the note names the one whose answer cites nothing.
func TestAnUncitedAnswerOfSeveralIsNamed(t *testing.T) {
	runner := &scripted{}
	runner.do = func(_ context.Context, s *subAgent, task string) (string, error) {
		if strings.Contains(task, "msg_1") {
			return says("12 fathoms", "msg_1"), nil
		}
		return says("it was never measured"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
	f.talk("s", "the anchor lies at 12 fathoms")
	silent := f.talk("t", "the anchor was painted")
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{AllConversations: true}})
	want := fmt.Sprintf("conversation %d: nothing supports the answer", silent)
	if err != nil || len(a.Notes) != 1 || !strings.HasPrefix(a.Notes[0], want) || len(a.CitedIDs) != 1 || a.Evidence != "" {
		t.Errorf("%v, notes %q, %+v", err, a.Notes, a)
	}
}

// A sub-agent that was told that its answer rests on nothing may still read.
func TestAnUngroundedAnswerMayBeMendedByReading(t *testing.T) {
	runner := &scripted{lazy: true}
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		if s.turns == 2 {
			s.expand(ctx, map[string]any{"messageIds": []string{"msg_1"}})
		}
		return says("12 fathoms", "msg_1"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
	c := f.talk("s", "the anchor lies at 12 fathoms")
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
	if err != nil || a.Method != recall.MethodDelegated || len(a.CitedIDs) != 1 {
		t.Errorf("%v %+v", err, a)
	}
}

// Names and numbers that the sub-agent has not read are named in a note; what it read in a
// description, beside a text or in the question is known.
func TestWhatWasNeverReadIsNoted(t *testing.T) {
	for answer, want := range map[string]string{
		"12 fathoms, says Captain Holm of the MS Fram, at 54.3 N": "unsupported: Captain, Holm, MS, Fram, 54.3",
		"Twelve fathoms, as said on 1 February 2026 in msg_1.":    "",
		"12 fathoms for the ANCHOR-7, in 8 tokens.":               "",
	} {
		runner := &scripted{}
		runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
			call(ctx, s.child, "lcm_describe", map[string]any{"id": "msg_1"})
			return says(answer, "msg_1"), nil
		}
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		c := f.talk("s", "the anchor lies at 12 fathoms")
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep is the ANCHOR-7?", Where: recall.Where{Current: c}})
		if err != nil || a.Method != recall.MethodDelegated || strings.Join(a.Notes, "\n") != want {
			t.Errorf("%q: %v, %s, notes %q", answer, err, a.Method, a.Notes)
		}
	}
}

// What every description said is known, not only what the last one did, and its facts are
// charged on top of the text.
func TestEveryDescriptionIsRead(t *testing.T) {
	tokensLeft, tokensOf := regexp.MustCompile(`(\d+) tokens left`), regexp.MustCompile(`of (\d+) tokens`)
	runner := &scripted{lazy: true}
	var left []int
	var facts string
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		first := call(ctx, s.child, "lcm_describe", map[string]any{"id": "msg_1"})
		last := call(ctx, s.child, "lcm_describe", map[string]any{"id": "msg_2"})
		facts, _, _ = strings.Cut(last, "\n")
		for _, page := range []string{first, last, s.expand(ctx, map[string]any{"messageIds": []string{"msg_2"}})} {
			n, err := strconv.Atoi(tokensLeft.FindStringSubmatch(page)[1])
			if err != nil {
				t.Error(err)
			}
			left = append(left, n)
		}
		return says("The first text has "+tokensOf.FindStringSubmatch(first)[1]+" tokens.", "msg_1"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner, c.Limits.ExpandTokens = runner, 5000 })
	c := f.talk("s", strings.Repeat("the anchor lies deep. ", 60), "the anchor of the other ship was never found by anybody")
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How long is the text?", Where: recall.Where{Current: c}})
	if err != nil || a.Method != recall.MethodDelegated || len(a.Notes) > 0 {
		t.Errorf("%v, %s (%s), notes %q", err, a.Method, a.Reason, a.Notes)
	}
	described, expanded := left[0]-left[1], left[1]-left[2]
	if described < expanded+llms.Estimate.Count(facts) {
		t.Errorf("a description cost %d tokens, and the text alone %d", described, expanded)
	}
}

// A sub-agent that says that it could not see everything is believed.
func TestTheSubAgentsTruncatedIsHonoured(t *testing.T) {
	for _, claim := range []string{`true`, `"true"`, `false`} {
		var runner scripted
		runner.do = func(context.Context, *subAgent, string) (string, error) {
			return `{"answer": "12 fathoms", "citedIds": ["msg_1"], "truncated": ` + claim + `}`, nil
		}
		f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
		c := f.talk("s", "the anchor lies at 12 fathoms")
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
		if err != nil {
			t.Fatal(err)
		}
		want := claim != "false"
		if a.Truncated != want || (a.TruncatedBy == "expansion") != want || strings.Contains(strings.Join(a.Notes, " "), "not complete") != want {
			t.Errorf("claimed %s: %v by %q, %q", claim, a.Truncated, a.TruncatedBy, a.Notes)
		}
	}
}

// What a provider says in its errors reaches the caller without keys.
func TestReasonsHaveNoSecrets(t *testing.T) {
	const key = "sk-proj-a8Kq2LmX9vRt5WzB7cNd3YpF6gHjS4uE1oQxT0bVnMcZkLw"
	const address = "https://admin:hunter2swordfish@models.example/v1"
	const token = "https://mytoken@models.example/v1"
	broken := errors.New("401: Incorrect API key provided: " + key + " at " + address + " and " + token)
	for name, runner := range map[string]*scripted{
		"model": {do: func(context.Context, *subAgent, string) (string, error) { return "", broken }},
		"spawn": {spawn: broken},
		"panic": {do: func(context.Context, *subAgent, string) (string, error) { panic(broken) }},
	} {
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		f.talk("s", "the anchor lies at 12 fathoms")
		f.talk("t", "the anchor lies at 13 fathoms")
		for _, where := range []recall.Where{{Current: 1}, {AllConversations: true}} {
			a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: where})
			if err != nil {
				t.Fatal(err)
			}
			said := a.Reason + strings.Join(a.Notes, "\n")
			if !strings.Contains(said, "401: Incorrect API key provided") || strings.Contains(said, key) || strings.Contains(said, "hunter2swordfish") || strings.Contains(said, "mytoken") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}
