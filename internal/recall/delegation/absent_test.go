package delegation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// A question about something that was never said has no answer, with a model or without;
// one with an absent word has a few passages with its other words.
func TestNothingWasSaid(t *testing.T) {
	for _, runner := range []*scripted{nil, {}} {
		f := newFixture(t, func(c *delegation.Config) {
			if runner != nil {
				c.Runner = runner
			}
		})
		c := f.talk("s", "the parser reads tables", "tables of the parser are slow", "a parser for tables", "parser and tables", "tables, parser", "why tables, parser?", "read the tables, parser", "parser of tables")
		sum := f.fold(c, 2, "About the parser.")
		ask := func(q recall.Question) recall.Answer {
			t.Helper()
			q.Where = recall.Where{Current: c}
			a, err := f.Ask(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a := ask(recall.Question{Prompt: "Did we ever use Cassandra?"})
		if a.Method != recall.MethodNone || !slices.Equal(a.NotInRecord, []string{"Cassandra"}) {
			t.Errorf("%s %q: %s", a.Method, a.NotInRecord, a.Answer)
		}
		if runner != nil && len(runner.children) > 0 {
			t.Error("a sub-agent was asked")
		}
		a = ask(recall.Question{Prompt: "Why does Cassandra read tables of the parser?", Output: recall.OutputEvidence})
		if a.Method != recall.MethodEvidence || !slices.Equal(a.NotInRecord, []string{"Cassandra"}) || strings.Count(a.Answer, "\nmsg_") != lookup.WithOtherWords || a.Truncated {
			t.Errorf("%s %q: %s", a.Method, a.NotInRecord, a.Text())
		}
		if a = ask(recall.Question{Prompt: "why does cassandra read tables of the parser", Output: recall.OutputEvidence}); strings.Count(a.Answer, "\nmsg_") != 2*lookup.WithOtherWords {
			t.Errorf("an ordinary word: %s", a.Text())
		}
		if a = ask(recall.Question{Prompt: "Did we ever use Cassandra?", SummaryIDs: []store.SummaryID{sum}, Output: recall.OutputEvidence}); len(a.NotInRecord) > 0 {
			t.Errorf("with a summary that is named: %q", a.NotInRecord)
		}
	}
}
