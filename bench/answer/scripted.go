package answer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// ScriptedOptions name the record and the answers of a run of [Scripted].
type ScriptedOptions struct {
	Database, Questions, Answers string
	Half                         string // only questions of this half; empty: all
	Quiet                        bool   // print no answers
}

// scriptedAnswer is what a sub-agent says to a question, beside a quote of the record.
type scriptedAnswer struct {
	Source string `json:"source_q"`
	Quote  string `json:"quote"`
	Answer string `json:"answer"`
	True   bool   `json:"true"`
	MadeUp string `json:"made_up"`
}

// ScriptedReport is the outcome of a run of [Scripted].
type ScriptedReport struct {
	MadeUp      int      `json:"madeUp"`
	MadeUpNoted int      `json:"madeUpNoted"`
	Named       int      `json:"named"` // the note names the thing that was made up
	True        int      `json:"true"`
	TrueNoted   int      `json:"trueNoted"`
	NotServed   int      `json:"notServed"` // the quote was not served to the sub-agent
	Lines       []string `json:"lines"`
}

// Text implements the report of a benchmark.
func (r ScriptedReport) Text() string {
	return strings.Join(r.Lines, "\n") + fmt.Sprintf("\n\nmade up: %d of %d noted (%d by name); true: %d of %d noted; quotes that were not served: %d\n",
		r.MadeUpNoted, r.MadeUp, r.Named, r.TrueNoted, r.True, r.NotServed)
}

// Scripted has a scripted sub-agent answer questions about a record. It opens everything
// that it was given of the project, cites the message with the quote, and says what the file has. The
// report says which answers were noted as unsupported, or refused.
func Scripted(ctx context.Context, o ScriptedOptions) (r ScriptedReport, err error) {
	db, err := sqlite.Open(ctx, o.Database, sqlite.Options{})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db, lcm.WithoutBackground(), lcm.WithPolicy(lcm.Policy{ViewPolicy: lcm.ViewPolicy{FreshTail: 1}}))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	projects, err := fold(ctx, engine)
	if err != nil {
		return r, err
	}
	questions := map[string]string{}
	if err := jsonLines(o.Questions, func(line []byte) error {
		var q struct{ ID, Half, Q string }
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if o.Half == "" || q.Half == o.Half {
			questions[q.ID] = q.Q
		}
		return nil
	}); err != nil {
		return r, err
	}
	err = jsonLines(o.Answers, func(line []byte) error {
		var a scriptedAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if questions[a.Source] == "" {
			return nil
		}
		return r.ask(ctx, engine, projects, a, questions[a.Source], o.Quiet)
	})
	return r, err
}

// fold folds everything, so that sub-agents may read on beneath summaries, and returns the
// projects.
func fold(ctx context.Context, engine *lcm.Engine) (map[store.ConversationID]store.Project, error) {
	projects := map[store.ConversationID]store.Project{}
	for c, err := range engine.Conversations(ctx, store.ConversationQuery{}) {
		if err != nil {
			return nil, err
		}
		projects[c.ID] = c.Project
	}
	for id := range projects {
		if _, err := engine.Compact(ctx, id, lcm.CompactOptions{Budget: 4_000, Full: true}); err != nil {
			return nil, err
		}
	}
	return projects, nil
}

func jsonLines(path string, each func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ask has one answer given.
func (r *ScriptedReport) ask(ctx context.Context, engine *lcm.Engine, projects map[store.ConversationID]store.Project, a scriptedAnswer, question string, quiet bool) error {
	found, err := engine.Grep(ctx, recall.GrepRequest{Pattern: regexp.QuoteMeta(a.Quote), Mode: recall.Regex, Kinds: recall.InMessages, Where: recall.Where{AllConversations: true}, Limit: 1})
	if err != nil || len(found.Matches) == 0 {
		return errors.Join(err, fmt.Errorf("%s: no message has %q", a.Source, a.Quote))
	}
	m := found.Matches[0]
	model := llmtest.New(careful(a.Answer, m.ID.String()))
	var above []store.SummaryID // so that the quote is served
	if m.CoveredBy != "" {
		above = append(above, m.CoveredBy)
	}
	got, err := engine.Ask(ctx, recall.Question{Prompt: question, Query: question, SummaryIDs: above, Where: recall.Where{Projects: []store.Project{projects[m.ConversationID]}}, Model: model})
	if err != nil {
		return err
	}
	noted := ""
	for _, n := range got.Notes {
		if strings.HasPrefix(n, "unsupported: ") {
			noted = n
		}
	}
	if got.Method != recall.MethodDelegated {
		noted = "refused: " + got.Reason
	}
	if strings.Contains(got.Reason, "nothing of that was read") {
		r.NotServed++
	}
	kind := "true"
	switch {
	case a.True:
		r.True++
		if noted != "" {
			r.TrueNoted++
		}
	default:
		kind = "made up " + a.MadeUp
		r.MadeUp++
		if noted != "" {
			r.MadeUpNoted++
		}
		if strings.Contains(noted, a.MadeUp) {
			r.Named++
		}
	}
	if noted == "" {
		noted = "not noted"
	}
	line := fmt.Sprintf("%s %-22s %s", a.Source, kind, noted)
	if !quiet {
		line += "\n     " + a.Answer
	}
	r.Lines = append(r.Lines, line)
	return nil
}

var (
	taskPayload = regexp.MustCompile(`\{.*"includeMessages":true\}`)
	nextPage    = regexp.MustCompile(`There is more: call lcm_expand again with the same arguments and cursor ("[^\n]*")\.`)
)

// careful is a sub-agent that reads all pages and then gives its answer, however often it
// is asked.
func careful(answer, cited string) llmtest.Responder {
	return func(r llms.Request) llmtest.Reply {
		payload := ""
		for _, m := range r.Messages {
			if p := taskPayload.FindString(m.PlainText()); p != "" && m.Role == llms.RoleUser {
				payload = p
				break
			}
		}
		last := r.Messages[len(r.Messages)-1]
		if len(r.Messages) == 1 {
			return llmtest.Call("lcm_expand", payload)
		}
		if results := last.ToolResults(); len(results) > 0 && len(results[0].Output) > 0 {
			if more := nextPage.FindStringSubmatch(results[0].Output[0].Text); more != nil {
				return llmtest.Call("lcm_expand", strings.TrimSuffix(payload, "}")+`,"cursor":`+more[1]+"}")
			}
		}
		said, err := json.Marshal(map[string]any{"answer": answer, "citedIds": []string{cited}, "totalTokens": 0, "truncated": false})
		if err != nil {
			return llmtest.Say(err.Error())
		}
		return llmtest.Say(string(said))
	}
}
