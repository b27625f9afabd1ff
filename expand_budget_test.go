package lcm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// The needle is the last message beneath the last summary. The one question has its
// words, the other has none of them.
const (
	needle     = "The sluice valve of the north basin opens at 47.25 kPa."
	withWords  = "At what pressure does the sluice valve open?"
	otherWords = "Which threshold was agreed upon?"
)

// stack is a conversation of leaf summaries of 20,000 tokens each.
type stack struct {
	session *lcm.Session
	leaves  []string
	top     string // the summary above all leaves
	depth   int
}

// newStack folds a conversation into leaves, and these two by two up to one summary if
// there are more than ten.
func newStack(t *testing.T, leaves int) stack {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	s := stack{session: engine.Session("harbour")}
	filler := strings.Repeat("the gauge was read and the log was turned to the next page before the shift ended, and nobody minded; ", 13)
	var ms []llms.Message
	for tokens := 0; tokens < leaves*20_000; {
		m := llms.Assistant(fmt.Sprintf("Step %d: %s", len(ms), filler))
		m.Time = time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(len(ms)) * time.Minute)
		tokens += llms.Estimate.Count(m.PlainText())
		ms = append(ms, m)
	}
	ms[len(ms)-1] = llms.Assistant(needle)
	ms[len(ms)-1].Time = ms[len(ms)-2].Time.Add(time.Minute)
	if err := s.session.Append(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	c, err := s.session.Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fold := func(over []store.Item) (sum store.Summary) {
		err := db.Update(t.Context(), c.ID, func(w store.Writer) (err error) {
			body := fmt.Sprintf("Work went on from %d.\n%sthe work\n%s", over[0].Pos, summary.Footer, strings.Repeat(filler, 4)) // as long as real ones
			sum, err = w.Fold(t.Context(), store.NewSummary{Over: over, Wording: store.Wording{Body: body, Tokens: llms.Estimate.Count(body), Level: summary.Normal, Method: "model"}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	items := func() []store.Item {
		v, err := db.View(t.Context(), c.ID, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		return v.Items
	}
	all := items()
	for n := range leaves {
		s.leaves = append(s.leaves, string(fold(all[n*len(all)/leaves:(n+1)*len(all)/leaves]).ID))
	}
	for leaves > 10 && len(items()) > 1 {
		for all := items(); len(all) > 0; all = all[2:] {
			sum := fold(all[:2])
			s.top, s.depth = string(sum.ID), sum.Depth
		}
	}
	return s
}

// pager is a sub-agent that opens what it was given and pages on until the tool says that
// there is no more for it, whatever it has read; then it answers. A stubborn one does not
// listen when it is told to answer, and asks once more. A headstrong one does not open
// the payload of its task but the summaries alone.
func pager(ids []string, stubborn, headstrong bool) llmtest.Responder {
	return func(r llms.Request) llmtest.Reply {
		args := map[string]any{"summaryIds": ids}
		if found := payloadLine.FindStringSubmatch(r.Messages[0].PlainText()); found != nil && !headstrong {
			if err := json.Unmarshal([]byte(found[1]), &args); err != nil {
				return llmtest.Say(err.Error())
			}
		}
		last, cited := "", ""
		for _, m := range r.Messages {
			for _, result := range m.ToolResults() {
				last = result.Output[0].Text
				if at := strings.Index(last, needle); at >= 0 {
					found := pieceLine.FindAllStringSubmatch(last[:at], -1)
					cited = found[len(found)-1][1]
				}
			}
		}
		next := nextLine.FindStringSubmatch(last)
		switch {
		case last == "":
		case next != nil:
			args["cursor"] = next[1]
		case stubborn && !strings.HasPrefix(last, "Error: "):
		case cited == "":
			return llmtest.Say(answerJSON("The record does not say."))
		default:
			return llmtest.Say(answerJSON(needle, cited))
		}
		return llmtest.Call("lcm_expand", args)
	}
}

// served is everything that the tools returned to a model.
func served(m *llmtest.Model) string {
	var all strings.Builder
	requests := m.Requests()
	for _, said := range requests[len(requests)-1].Messages {
		for _, result := range said.ToolResults() {
			all.WriteString(result.Output[0].Text)
		}
	}
	return all.String()
}

// However much there is to read, a sub-agent that pages on ends in an answer within the
// default limits, and in the right one where the words of the question lead to it or
// everything could be read.
func TestReadingOnEndsInAnAnswer(t *testing.T) {
	for _, leaves := range []int{2, 3, 10, 16} {
		s := newStack(t, leaves)
		ids := s.leaves
		name := fmt.Sprintf("%d leaf summaries", leaves)
		if s.top != "" {
			ids, name = []string{s.top}, fmt.Sprintf("a summary of depth %d", s.depth)
		}
		for _, prompt := range []string{withWords, otherWords} {
			for _, kind := range []string{"obedient", "stubborn", "headstrong"} {
				t.Run(fmt.Sprintf("%s, %s, %s", name, prompt, kind), func(t *testing.T) {
					model := llmtest.New(pager(ids, kind == "stubborn", kind == "headstrong"))
					a, err := s.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(ids...), Prompt: prompt, Model: model})
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d calls, %d input tokens, %d tokens of the record, truncated %v: %s", a.Usage.Calls, a.Usage.InputTokens, a.TotalSourceTokens, a.Truncated, a.Answer)
					if a.Method != recall.MethodDelegated || a.Usage.InputTokens > recall.DefaultModelTokens {
						t.Fatalf("%s (%s), %+v", a.Method, a.Reason, a.Usage)
					}
					if !strings.Contains(served(model), `id="msg_`) {
						t.Error("no message was read")
					}
					found := a.Answer == needle && len(a.CitedIDs) == 1
					if want := prompt == withWords || leaves <= 3; found != want || !found && !a.Truncated || leaves <= 2 && kind != "stubborn" && a.Truncated {
						t.Errorf("found %v, truncated %v, cited %v", found, a.Truncated, a.CitedIDs)
					}
				})
			}
		}
	}
}

// windowed is a model that refuses requests above its window, as providers do.
type windowed struct {
	llms.Model
	window  int
	refused *atomic.Int32
}

func (m windowed) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	size := llms.Estimate.Count(r.System)
	for _, t := range r.Tools {
		size += llms.Estimate.Count(t.Name + t.Description + string(t.Parameters))
	}
	for _, said := range r.Messages {
		size += llms.Estimate.Count(said.Render())
	}
	if size <= m.window {
		return m.Model.Stream(ctx, r)
	}
	m.refused.Add(1)
	return func(yield func(llms.Event, error) bool) {
		yield(llms.Event{}, llms.Classify(llms.Failure{Provider: "test", Status: http.StatusRequestEntityTooLarge, Message: "the request is too large"}))
	}
}

// The pages fit the window of the model that reads them. It is known once the model has
// refused a request, and the next question has no request refused.
func TestPagesFitTheWindowOfTheModel(t *testing.T) {
	s := newStack(t, 2)
	for _, window := range []int{8_000, 16_000, 32_000, 64_000} {
		var refused atomic.Int32
		model := windowed{llmtest.New(pager(s.leaves, false, false)), window, &refused}
		for n, most := range []int32{4, 0} {
			refused.Store(0)
			a, err := s.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(s.leaves...), Prompt: withWords, Model: named{model, fmt.Sprint("test/", window)}})
			if err != nil || a.Method != recall.MethodDelegated || a.Answer != needle || refused.Load() > most {
				t.Errorf("a window of %d, question %d, %d refused: %v, %s (%s) %q", window, n+1, refused.Load(), err, a.Method, a.Reason, a.Answer)
			}
			if a.TotalSourceTokens > window || a.Usage.InputTokens > recall.DefaultModelTokens {
				t.Errorf("a window of %d: %d tokens of the record, %+v", window, a.TotalSourceTokens, a.Usage)
			}
		}
	}
	var refused atomic.Int32
	a, err := s.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(s.leaves...), Prompt: withWords, Model: windowed{llmtest.New(pager(s.leaves, false, false)), 500, &refused}})
	if err != nil || a.Method != recall.MethodEvidence || refused.Load() != 1 {
		t.Errorf("a window that the task does not fit: %v, %d refused, %s (%s)", err, refused.Load(), a.Method, a.Reason)
	}
}

type named struct {
	llms.Model
	name string
}

func (m named) Name() string { return m.name }
