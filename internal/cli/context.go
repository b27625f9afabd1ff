package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

type contextReport struct {
	Conversation  store.ConversationID `json:"conversation"`
	Budget        int                  `json:"budget"`
	Tokens        int                  `json:"tokens"`
	HistoryTokens int64                `json:"historyTokens"`
	Items         []contextItem        `json:"items"`
	Dropped       []string             `json:"dropped,omitempty"`
	Skipped       int                  `json:"skipped,omitempty"`
	Repairs       []string             `json:"repairs,omitempty"`
	Damaged       []string             `json:"damaged,omitempty"`     // messages that changed since they arrived
	ViewDamaged   bool                 `json:"viewDamaged,omitempty"` // the items are not those that were written
	Messages      []json.RawMessage    `json:"messages"`              // in lcm's own shape
}

type contextItem struct {
	ID     string `json:"id"`
	Tokens int    `json:"tokens"`
}

type contextCommand struct {
	*program
	choice
	budget            int
	openai, anthropic bool
	items, fold       bool
	brief             bool
	proxied           string
}

func newContext(p *program) *cobra.Command {
	cmd := &contextCommand{program: p}
	c := &cobra.Command{
		Use:   "context [N]",
		Short: "Print what a model would see, with its size",
		Args:  cobra.MatchAll(cmd.argument, exclude("brief", "proxied"), exclude("json", "openai", "anthropic", "items"), cmd.check),
		RunE: func(c *cobra.Command, args []string) error {
			show := cmd.context
			switch {
			case cmd.brief:
				show = cmd.printBrief
			case cmd.proxied != "":
				show = cmd.proxiedRequest
			}
			return cmd.runs(toRead, show)(c, args)
		},
	}
	cmd.flag(c)
	c.Flags().IntVarP(&cmd.budget, "budget", "b", 0, "size of the context window in tokens (default: context.token_budget)")
	c.Flags().BoolVar(&cmd.openai, "openai", false, "print the messages for OpenAI's API")
	c.Flags().BoolVar(&cmd.anthropic, "anthropic", false, "print the system prompt and the messages for Anthropic's API")
	c.Flags().BoolVar(&cmd.fold, "fold", false, "fold the view first where an agent's would be, and keep the summaries")
	c.Flags().StringVar(&cmd.proxied, "proxied", "", "show the last request of this session behind lcm run")
	c.Flags().BoolVar(&cmd.brief, "brief", false, "print what a new session of this project is told about the work so far")
	c.Flags().BoolVar(&cmd.items, "items", false, "only list the items and their sizes")
	return cmd.jsonFlag(c)
}

func (cmd *contextCommand) check(c *cobra.Command, _ []string) error {
	if (cmd.brief || cmd.proxied != "") && (cmd.openai || cmd.anthropic || cmd.items || cmd.fold || cmd.budget != 0) {
		return wrongUsage(c, errors.New("--brief and --proxied go with --json only"))
	}
	return checkBudget(c, cmd.budget)
}

func (cmd *contextCommand) context(ctx context.Context, rec *openRecord) error {
	c, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return err
	}
	session, err := rec.engine.Resume(ctx, c.ID)
	if err != nil {
		return err
	}
	look := session.Preview
	if cmd.fold {
		look = session.Context
	}
	view, err := look(ctx, cmd.budget)
	if err == nil && view.Compaction != nil && view.Compaction.Reason == compact.Behind {
		if err = rec.engine.Settle(ctx); err == nil {
			cmd.note("folded first, to fit")
			view, err = look(ctx, cmd.budget)
		}
	}
	if err != nil {
		return explainBudget(err)
	}
	switch {
	case view.Compaction != nil && view.Compaction.Folds() > 0:
		cmd.note("folded first, to fit: %s", view.Compaction)
	case !cmd.fold:
		cmd.noteFolding(c, view, rec.cfg.Context.HardThreshold)
	}
	damaged := len(view.Damaged)
	if view.ViewDamaged && damaged == 0 {
		damaged = 1
	}
	return errors.Join(cmd.writeContext(rec, c, view), damageShown(damaged))
}

func (cmd *contextCommand) writeContext(rec *openRecord, c store.Conversation, view lcm.Context) error {
	// The session's own agent is given its secrets, but a terminal or another
	// program is not.
	for i, m := range view.Messages {
		var err error
		if view.Messages[i], err = ingest.Shown(engineconfig.Privacy(rec.cfg), m); err != nil {
			return err
		}
	}
	switch {
	case cmd.openai:
		records, err := wire.EncodeAll(llms.FormatOpenAI, view.Messages)
		if err != nil {
			return err
		}
		return cmd.printJSON(records)
	case cmd.anthropic:
		system, rest := llms.SplitSystem(view.Messages)
		records, err := wire.EncodeAll(llms.FormatAnthropic, rest)
		if err != nil {
			return err
		}
		return cmd.printJSON(request{System: system, Messages: records})
	case cmd.json:
		return cmd.printContextJSON(c, view)
	}
	printContext(cmd.program, c, view, rec.counter, cmd.items)
	return nil
}

// explainBudget adds a hint to the error for a budget that no folding can meet.
func explainBudget(err error) error {
	var small *assemble.BudgetError
	if errors.As(err, &small) {
		return failed(exitFailure, fmt.Sprintf("use a budget of at least %d", small.Need),
			"the newest user message and the newest round need %s tokens, the budget is %s", prose.Number(small.Need), prose.Number(small.Budget))
	}
	return err
}

// noteFolding prints a note if an agent's context would have been folded first.
func (cmd *contextCommand) noteFolding(c store.Conversation, view lcm.Context, hard float64) {
	limit := int(hard * float64(view.Budget))
	if c.ViewTokens < limit && len(view.Dropped) == 0 && view.Skipped == 0 {
		return
	}
	cmd.note("the view has %s tokens; an agent's would be folded below %s first, so that summaries stand for what does not fit: add --fold",
		prose.Number(c.ViewTokens), prose.Number(limit))
}

// request is a request to Anthropic's API, which refuses an empty system prompt.
type request struct {
	System   string            `json:"system,omitempty"`
	Messages []json.RawMessage `json:"messages"`
}

func (cmd *contextCommand) printContextJSON(c store.Conversation, view lcm.Context) error {
	r := contextReport{
		Conversation: c.ID, Budget: view.Budget, Tokens: view.Tokens, HistoryTokens: c.Tokens,
		Items: []contextItem{}, Skipped: view.Skipped, Repairs: view.Repairs,
	}
	for _, it := range view.Items {
		r.Items = append(r.Items, contextItem{it.ID.String(), it.Tokens})
	}
	r.Damaged, r.ViewDamaged, r.Dropped = texts(view.Damaged), view.ViewDamaged, texts(view.Dropped)
	records, err := wire.EncodeAll(llms.FormatLCM, view.Messages)
	if err != nil {
		return err
	}
	r.Messages = list(records)
	return cmd.printJSON(r)
}

func printContext(p *program, c store.Conversation, view lcm.Context, counter llms.Counter, listOnly bool) {
	if listOnly {
		t := newTable("ITEM", ">TOKENS")
		for _, it := range view.Items {
			t.add(it.ID.String(), prose.Number(it.Tokens))
		}
		p.printTable(t)
	} else {
		for i, m := range view.Messages {
			head := string(m.Role) + " · " + prose.Count(llms.CountMessage(counter, m), "token", "tokens")
			if len(view.Messages) == len(view.Items) { // nothing was inserted or merged to repair it
				head = view.Items[i].ID.String() + " · " + head
			}
			p.printf("%s\n%s\n\n", p.paint(roleStyle(m.Role), "── "+head), p.shown(m.Render()))
		}
	}
	p.printf("%s tokens of %s, in %s (the history: %s tokens, in %s)\n", prose.Number(view.Tokens), prose.Number(view.Budget),
		prose.Count(len(view.Items), "item", "items"), prose.Number(c.Tokens), held(c.Messages, c.Erased))
	noteLeftOut(p, view)
}

// noteLeftOut names the first and the last item that do not fit the budget.
func noteLeftOut(p *program, view lcm.Context) {
	switch n := len(view.Dropped); {
	case n == 1:
		p.note("%s is in the view but does not fit", view.Dropped[0])
	case n > 1:
		p.note("%s of the view do not fit: %s … %s", prose.Count(n, "item", "items"), view.Dropped[0], view.Dropped[n-1])
	}
	if view.Skipped > 0 {
		p.note("%s cannot fit", prose.Count(view.Skipped, "older item of the view was not looked at: it", "older items of the view were not looked at: they"))
	}
}
