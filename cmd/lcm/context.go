package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/assemble"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

type contextReport struct {
	Conversation  store.ConversationID `json:"conversation"`
	Budget        int                  `json:"budget"`
	Tokens        int                  `json:"tokens"`
	HistoryTokens int64                `json:"history_tokens"`
	Items         []contextItem        `json:"items"`
	Dropped       []string             `json:"dropped,omitempty"`
	Skipped       int                  `json:"skipped,omitempty"`
	Repairs       []string             `json:"repairs,omitempty"`
	Messages      []json.RawMessage    `json:"messages"` // in lcm's own shape
}

type contextItem struct {
	ID     string `json:"id"`
	Tokens int    `json:"tokens"`
}

type contextFlags struct {
	choice
	budget            int
	openai, anthropic bool
	brief             bool
}

func newContext(a *app) *cobra.Command {
	var f contextFlags
	c := &cobra.Command{
		Use:   "context",
		Short: "Print what a model would see, with its size",
		Long: `Print what a model would be sent within a budget of tokens: summaries, then the
newest messages. If the view is above the hard threshold of the budget it is
folded first, exactly as it is for an agent; nothing is lost by that.

--openai and --anthropic print the messages as those APIs take them.`,
		Example: `lcm context --budget 32000
lcm context --budget 32000 --items
lcm context --openai | jq '.[-1]'`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd, a.json); err != nil {
				return err
			}
			ar, err := a.open(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			return errors.Join(a.context(cmd.Context(), ar, f), ar.close(cmd.Context()))
		},
	}
	f.flag(c)
	c.Flags().IntVarP(&f.budget, "budget", "b", 0, "size of the context window in tokens (default: context.token_budget)")
	c.Flags().BoolVar(&f.openai, "openai", false, "print the messages for OpenAI's API")
	c.Flags().BoolVar(&f.anthropic, "anthropic", false, "print the system prompt and the messages for Anthropic's API")
	c.Flags().BoolVar(&f.brief, "items", false, "only list the items and their sizes")
	a.jsonFlag(c)
	return c
}

func (f contextFlags) check(cmd *cobra.Command, json bool) error {
	chosen := 0
	for _, on := range []bool{json, f.openai, f.anthropic, f.brief} {
		if on {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return wrongUsage(cmd, errors.New("--json, --openai, --anthropic and --items exclude each other"))
	case f.budget != 0 && f.budget < lcm.MinBudget:
		return failed(exitUsage, fmt.Sprintf("use at least %d", lcm.MinBudget), "a budget of %d tokens is too small", f.budget)
	}
	return nil
}

func (a *app) context(ctx context.Context, ar *archive, f contextFlags) error {
	c, err := ar.pick(ctx, f.choice)
	if err != nil {
		return err
	}
	session, err := ar.engine.Resume(ctx, c.ID)
	if err != nil {
		return err
	}
	view, err := session.Context(ctx, f.budget)
	if err != nil {
		return explainBudget(err)
	}
	if view.Compaction != nil && view.Compaction.Folds() > 0 {
		a.note("folded first, to fit: %s", view.Compaction)
	}
	switch {
	case f.openai:
		return a.printMessages(llms.FormatOpenAI, view.Messages)
	case f.anthropic:
		system, rest := llms.SplitSystem(view.Messages)
		records, err := llms.EncodeAll(llms.FormatAnthropic, rest)
		if err != nil {
			return err
		}
		return a.printJSON(map[string]any{"system": system, "messages": records})
	case a.json:
		return a.printContextJSON(c, view)
	}
	a.printContext(c, view, ar.counter, f.brief)
	return nil
}

// explainBudget gives the one budget that no folding can meet its hint.
func explainBudget(err error) error {
	var small *assemble.BudgetError
	if errors.As(err, &small) {
		return failed(exitFailure, fmt.Sprintf("use a budget of at least %d", small.Need),
			"the newest user message and the newest round need %s tokens, the budget is %s", number(small.Need), number(small.Budget))
	}
	return err
}

func (a *app) printMessages(f llms.Format, ms []llms.Message) error {
	records, err := llms.EncodeAll(f, ms)
	if err != nil {
		return err
	}
	return a.printJSON(records)
}

func (a *app) printContextJSON(c store.Conversation, view lcm.Context) error {
	r := contextReport{
		Conversation: c.ID, Budget: view.Budget, Tokens: view.Tokens, HistoryTokens: c.Tokens,
		Items: []contextItem{}, Skipped: view.Skipped, Repairs: view.Repairs, Messages: []json.RawMessage{},
	}
	for _, it := range view.Items {
		r.Items = append(r.Items, contextItem{it.Node.String(), it.Tokens})
	}
	for _, n := range view.Dropped {
		r.Dropped = append(r.Dropped, n.String())
	}
	for _, m := range view.Messages {
		m.Raw = llms.Raw{Format: m.Raw.Format} // translate, whatever it came as
		record, err := llms.Encode(llms.FormatLCM, m)
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, record)
	}
	return a.printJSON(r)
}

func (a *app) printContext(c store.Conversation, view lcm.Context, counter llms.Counter, brief bool) {
	if brief {
		t := newTable("ITEM", ">TOKENS")
		for _, it := range view.Items {
			t.add(it.Node.String(), number(it.Tokens))
		}
		a.printTable(t)
	} else {
		for i, m := range view.Messages {
			head := string(m.Role) + " · " + counted(llms.CountMessage(counter, m), "token", "tokens")
			if len(view.Messages) == len(view.Items) { // nothing was inserted or merged to repair it
				head = view.Items[i].Node.String() + " · " + head
			}
			a.printf("%s\n%s\n\n", a.paint(roleStyle(m.Role), "── "+head), a.shown(m.Render()))
		}
	}
	a.printf("%s tokens of %s, in %s (the history: %s tokens, in %s)\n", number(view.Tokens), number(view.Budget),
		counted(len(view.Items), "item", "items"), number(c.Tokens), counted(c.Messages, "message", "messages"))
	for _, n := range view.Dropped {
		a.note("%s is in the view but does not fit", n)
	}
	if view.Skipped > 0 {
		a.note("%s of the view were not looked at: they cannot fit", counted(view.Skipped, "older item", "older items"))
	}
}
