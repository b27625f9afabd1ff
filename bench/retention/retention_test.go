package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// session makes up a coding session: an agent works through a list of
// modules, reads files, runs tests, and tells the user what it found. Old
// names come up again, as they do.
func session(rounds int) []summary.Source {
	rng := rand.New(rand.NewPCG(7, 11))
	nouns := []string{"ledger", "invoice", "refund", "courier", "parcel", "tariff", "depot", "manifest", "waybill", "driver", "route", "webhook", "session", "quota", "export"}
	verbs := []string{"load", "merge", "reconcile", "dispatch", "expire", "validate", "reserve", "settle", "retry", "archive"}
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	var out []summary.Source
	say := func(role llms.Role, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		out = append(out, summary.Source{
			ID: fmt.Sprintf("msg_%d", len(out)+1), Seq: int64(len(out) + 1), Role: role,
			Tool: role == llms.RoleTool, Text: text,
		})
	}
	for i := range rounds {
		a, b, v := nouns[i/8%len(nouns)], pick(nouns), pick(verbs)
		path := fmt.Sprintf("internal/%s/%s.go", a, b)
		fn := v + title(b)
		say(llms.RoleUser, "The %s screen shows the wrong total again after we %s a %s. Please find out why, and do not touch the public API while you are at it.", a, v, b)
		say(llms.RoleAssistant, "Let me look at how the %s is handled first.\n→ read({\"path\":%q})", b, path)
		var lines []string
		for l := range 40 {
			lines = append(lines, fmt.Sprintf("%4d\tif %s := %s%s(ctx, %d); %s != nil { return fmt.Errorf(\"%s %s: %%w\", err) }", l+1, pick(nouns), pick(verbs), title(pick(nouns)), rng.IntN(5000), pick(nouns), pick(verbs), pick(nouns)))
		}
		say(llms.RoleTool, "← read: %s", strings.Join(lines, "\n"))
		say(llms.RoleAssistant, "The root cause is in %s: the function %s() rounds each %s on its own before they are added up, so cents get lost when there are many of them. "+
			"I would rather add them up first and round once at the end, because that is also what the accounting side does. The other callers only display the value and are not affected by the change.", path, fn, b)
		if i%3 == 0 {
			say(llms.RoleUser, "Agreed, go ahead. Keep the limit at %d ms though, the %s team depends on it.", 50*(1+i%7), a)
		}
		say(llms.RoleTool, "← bash: --- FAIL: Test%s (0.%02ds)\n    %s_test.go:%d: got %d, want %d\nFAIL\nexit status 1", title(fn), i%90, b, 10+i, rng.IntN(9000), rng.IntN(9000))
		say(llms.RoleAssistant, "The test failed as expected before the change; with the change in place the whole package passes, and I have left the public API alone as you asked. It is a small diff and easy to review.")
	}
	return out
}

func TestIdentifiersSurvive(t *testing.T) {
	report, err := Measure(t.Context(), session(60), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.Text())
	if len(report.Depths) != 3 {
		t.Fatalf("%d depths, want 3", len(report.Depths))
	}
	for i, floor := range []float64{0.95, 0.90, 0.80} {
		d := report.Depths[i]
		if got := d.Prose.Share(); got < floor {
			t.Errorf("depth %d keeps %.3f of the identifiers in prose, want %.2f", d.Depth, got, floor)
		}
		if d.Prose.Share() <= d.Prose.HeadShare() {
			t.Errorf("depth %d keeps %.3f, head truncation %.3f", d.Depth, d.Prose.Share(), d.Prose.HeadShare())
		}
		if d.Fidelity != 1 || d.Sentences == 0 {
			t.Errorf("depth %d: %.3f of %d sentences are verbatim", d.Depth, d.Fidelity, d.Sentences)
		}
	}
	if d := report.Depths[0]; d.Ratio > report.Budget {
		t.Errorf("depth 1 costs %.3f of the conversation, the budget is %.3f", d.Ratio, report.Budget)
	}
}

// TestSample holds the bundled session to what the project claims for it.
func TestSample(t *testing.T) {
	report, err := Measure(t.Context(), FromMessages(sample.Messages()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + report.Text())
	if len(report.Depths) != 3 {
		t.Fatalf("%d depths, want 3", len(report.Depths))
	}
	for i, floor := range []float64{0.95, 0.90, 0.80} {
		d := report.Depths[i]
		if got := d.Prose.Share(); got < floor {
			t.Errorf("depth %d keeps %.3f of the identifiers in prose, want %.2f", d.Depth, got, floor)
		}
		if d.Fidelity != 1 || d.Sentences == 0 {
			t.Errorf("depth %d: %.3f of %d sentences are verbatim", d.Depth, d.Fidelity, d.Sentences)
		}
	}
	if d := report.Depths[0]; d.Ratio > report.Budget {
		t.Errorf("depth 1 costs %.3f of the session, the budget is %.2f", d.Ratio, report.Budget)
	}
}

func TestSameInputSameReport(t *testing.T) {
	one, err := Measure(t.Context(), session(12), Options{ChunkTokens: 2000})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Measure(t.Context(), session(12), Options{ChunkTokens: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Fatal(diff)
	}
	var back Report
	data, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, back); diff != "" {
		t.Fatalf("JSON does not carry the report:\n%s", diff)
	}
}

// inventor writes sentences that nobody said.
type inventor struct{}

func (inventor) Summarise(context.Context, summary.Request) (summary.Result, error) {
	return summary.Result{Text: "Nobody ever said this.\n" + summary.Footer + "everything"}, nil
}

func TestInventedSentencesLowerFidelity(t *testing.T) {
	report, err := Measure(t.Context(), session(6), Options{Summariser: inventor{}, Depths: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := report.Depths[0]; d.Fidelity != 0 || d.Prose.Kept != 0 {
		t.Errorf("fidelity %.2f and %d identifiers kept, want none", d.Fidelity, d.Prose.Kept)
	}
}

type failing struct{ err error }

func (f failing) Summarise(context.Context, summary.Request) (summary.Result, error) {
	return summary.Result{}, f.err
}

func TestErrorsAreReported(t *testing.T) {
	cause := errors.New("the model is away")
	if _, err := Measure(t.Context(), session(3), Options{Summariser: failing{cause}}); !errors.Is(err, cause) {
		t.Errorf("err = %v, want %v", err, cause)
	}
	if _, err := Measure(t.Context(), nil, Options{}); err == nil {
		t.Error("no error for an empty conversation")
	}
}
