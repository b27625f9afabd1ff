// Command subagents shows delegated recall: a sub-agent reads the exact messages of a
// long, folded conversation and answers a question about it. The caller sees only the
// short answer. It needs no key: the model is scripted.
//
//	go run ./examples/subagents
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store/sqlite"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "subagents:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{}) // a path keeps it on disk
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// The model that reads for others may be a cheaper one than theirs.
	model := llmtest.New(subAgent)
	engine, err := lcm.New(db, lcm.WithAskModel(model))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	session := engine.Session("subagents/demo")
	if err := session.Append(ctx, history()...); err != nil {
		return err
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{Budget: 32_000, Full: true}); err != nil {
		return err
	}
	return ask(ctx, session, out)
}

// history is a conversation that is too long for its budget: the decision that the
// question is about is its message 13, and work on other things follows.
func history() []llms.Message {
	var all []llms.Message
	add := func(user, assistant string) { all = append(all, llms.User(user), llms.Assistant(assistant)) }
	work := func(n int) {
		for i := range n {
			add(fmt.Sprintf("Carrier %d sends its tracking events in another format. Please add it.", i),
				fmt.Sprintf("I added internal/carriers/carrier%02d.go. %s", i, strings.Repeat("The parser maps its codes to ours, and a table test covers them. ", 12)))
		}
	}
	work(6)
	add("A carrier answered with Retry-After: 3600. Wait at most 2 minutes because the lease on a parcel is 150 seconds: "+
		"a worker that sleeps longer loses the parcel to another one.", "Done: the worker waits for 2 minutes at most.")
	work(60)
	return all
}

// ask asks twice: the sub-agent for an answer, then the record for the passages.
func ask(ctx context.Context, session *lcm.Session, out io.Writer) error {
	question := recall.Question{Query: "lease on a parcel, Retry-After", Prompt: "How long do we wait at most for Retry-After, and why?"}
	answer, err := session.Ask(ctx, question)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", answer.Method, answer.Answer)
	for _, c := range answer.Citations {
		fmt.Fprintf(out, "  %s says %q\n", c.MessageID, c.Quote)
	}
	fmt.Fprintf(out, "  %d tokens of the record were read for it\n", answer.TotalSourceTokens)

	question.Output = recall.OutputEvidence
	question.MaxTokens = 300
	if answer, err = session.Ask(ctx, question); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d passages\n", answer.Method, len(answer.CitedIDs))
	return nil
}

var (
	payload = regexp.MustCompile(`(?m)^ +(\{.*"includeMessages":true\})$`)
	piece   = regexp.MustCompile(`id="(msg_\d+)"[^>]*>\n([^<]*2 minutes because the lease[^<]*)`)
)

// subAgent stands for a model: it makes the call that its task names, reads the page
// and answers in JSON. It also cites a summary that it has not read; lcm leaves that
// citation out.
func subAgent(r llms.Request) llmtest.Reply {
	results := r.Messages[len(r.Messages)-1].ToolResults()
	if len(results) == 0 {
		call := payload.FindStringSubmatch(llmtest.LastUserText(r))
		if call == nil {
			return llmtest.Say("There is no payload in the task.")
		}
		return llmtest.Call("lcm_expand", call[1])
	}
	found := piece.FindStringSubmatch(strings.ReplaceAll(results[0].Output[0].Text, "<record", "\n<record"))
	if found == nil {
		return llmtest.Say(`{"answer": "The record does not say.", "citedIds": []}`)
	}
	reply, err := json.Marshal(map[string]any{
		"answer":   "Two minutes, because the lease on a parcel is 150 seconds.",
		"citedIds": []string{found[1], "sum_0000000000000000"},
	})
	if err != nil {
		return llmtest.Say(err.Error())
	}
	return llmtest.Say(string(reply))
}
