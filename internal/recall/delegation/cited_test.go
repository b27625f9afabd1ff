package delegation_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// A summary and the message beneath it are cited together: the words are quoted once, and what
// is quoted is cited.
func TestAQuoteIsPrintedOnce(t *testing.T) {
	for _, also := range [][]string{{"msg_1"}, nil} {
		var leaf store.SummaryID
		runner := &scripted{}
		runner.do = func(context.Context, *subAgent, string) (string, error) {
			return says("12 fathoms", append([]string{string(leaf)}, also...)...), nil
		}
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		c := f.talk("s", "the anchor lies at 12 fathoms", "the tide is low")
		leaf = f.fold(c, 2, "It was said where the anchor lies.")
		a := f.evidence(recall.Question{SummaryIDs: []store.SummaryID{leaf}, Prompt: "How deep is the anchor?", Where: recall.Where{Current: c}})
		if n := strings.Count(a.Text(), `"the anchor lies at 12 fathoms"`); a.Method != recall.MethodDelegated || n != 1 {
			t.Errorf("%s, the quote is printed %d times:\n%s", a.Method, n, a.Text())
		}
		if !slices.Equal(asTexts(a.CitedIDs), []string{string(leaf), "msg_1"}) {
			t.Errorf("cited %v", a.CitedIDs)
		}
	}
}

// A page names the summaries that its messages lie beneath, for citations, and no others.
func TestAPageNamesWhatMayBeCited(t *testing.T) {
	var pages []string
	runner := &scripted{lazy: true}
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		for tool, args := range map[string]map[string]any{"lcm_expand": {"messageIds": []string{"msg_1"}}, "lcm_describe": {"id": "msg_1"}, "lcm_grep": {"pattern": "fathoms"}} {
			pages = append(pages, call(ctx, s.child, tool, args))
		}
		pages = append(pages, s.expand(ctx, map[string]any{"messageIds": []string{"msg_3"}}))
		return says("12 fathoms", "msg_1"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
	c := f.talk("s", "the anchor lies at 12 fathoms", "the tide is low", "the anchor is up")
	leaf := f.fold(c, 2, "It was said where the anchor lies.")
	f.evidence(recall.Question{Query: "anchor", Prompt: "How deep is the anchor?", Where: recall.Where{Current: c}})
	named := regexp.MustCompile(`You may also cite the summaries of these messages: (.*)\.\n`)
	for i, page := range pages {
		m := named.FindStringSubmatch(page)
		if beneath := i < 3; beneath != (m != nil) || beneath && m[1] != string(leaf) {
			t.Errorf("page %d names %q, want %s: %v\n%s", i, m, leaf, beneath, page)
		}
	}
}

// A question whose caller has a deadline does not wait for another one of the same caller until
// there is no time for evidence.
func TestAQueuedQuestionEndsWithEvidence(t *testing.T) {
	var runner scripted
	asked, release := make(chan struct{}), make(chan struct{})
	runner.do = func(context.Context, *subAgent, string) (string, error) {
		close(asked)
		<-release
		return says("12 fathoms", "msg_1"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "the anchor lies at 12 fathoms")
	q := recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}, Caller: "one"}
	first := make(chan recall.Answer)
	go func() { first <- f.evidence(q) }()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	a, err := f.Ask(ctx, q)
	close(release)
	if err != nil || a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "timeout: other questions") || !strings.Contains(a.Answer, "12 fathoms") {
		t.Errorf("%v, %s (%s): %s", err, a.Method, a.Reason, a.Answer)
	}
	if a := <-first; a.Method != recall.MethodDelegated {
		t.Errorf("the first question: %s (%s)", a.Method, a.Reason)
	}
	f.gone(&runner)
}
