package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
)

// eraseFlags are those of every command that erases.
type eraseFlags struct {
	dryRun, yes bool
	// again looks once more, after the yes, at what is to go.
	again func(context.Context, *store.Erasure) error
}

func (f *eraseFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would go")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
}

type forgetFlags struct {
	eraseFlags
	match         string
	words         bool
	since, before string
	conversation  int64
	list, finish  bool
	lift          int64
}

func newForget(a *program) *cobra.Command {
	var f forgetFlags
	c := &cobra.Command{
		Use:   "forget [CONVERSATION|MESSAGE]...",
		Short: "Erase conversations or messages for good",
		Long: `Erase whole conversations, given by number, single messages, given by id, or
all messages that match a pattern or were said in a time. They are gone from
the record, from the search index, from every summary (which is written anew
without them) and from the free space of the file; verify still holds.

A tombstone without content stays, so that importing the same transcript again
does not bring them back. --list shows the tombstones, --lift takes one away;
what it stood for may then be imported again.

What would go is shown first, and nothing is erased without a yes. Backups and
the agent's own transcripts are not touched.`,
		Example: `lcm forget 12                                 # a conversation, and those of its sub-agents
lcm forget msg_411 msg_412
lcm forget --match 'hunter2' --dry-run
lcm forget --match 'acme (corp|inc)' --conversation 3
lcm forget --since 2026-02-18T09:00Z --before 2026-02-18T11:00Z --yes
lcm forget --list
lcm forget --lift 2`,
		Args: usage(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return a.forget(cmd.Context(), cmd, f, args)
		},
	}
	f.flags(c)
	fl := c.Flags()
	fl.StringVarP(&f.match, "match", "m", "", "messages that match this regular expression, anywhere in their record")
	fl.BoolVarP(&f.words, "full-text", "F", false, "take --match as words, as in grep --full-text")
	fl.StringVar(&f.since, "since", "", "messages said not before this time")
	fl.StringVar(&f.before, "before", "", "messages said before this time")
	fl.Int64VarP(&f.conversation, "conversation", "c", 0, "with --match, --since and --before: only in this one (default: in all)")
	fl.BoolVar(&f.list, "list", false, "list what was forgotten")
	fl.Int64Var(&f.lift, "lift", 0, "take a tombstone away, by its number")
	fl.BoolVar(&f.finish, "finish", false, "complete an erasure that was cut off")
	a.jsonFlag(c)
	return c
}

// check refuses what cannot be meant.
func (f forgetFlags) check(cmd *cobra.Command, args []string) error {
	narrowed := f.match != "" || f.since != "" || f.before != ""
	ways := 0
	for _, used := range []bool{len(args) > 0, narrowed, f.list, f.finish, cmd.Flags().Changed("lift")} {
		if used {
			ways++
		}
	}
	switch {
	case ways == 0:
		return wrongUsage(cmd, errors.New("say what to forget: a conversation, messages, --match, --since or --before"))
	case ways > 1:
		return wrongUsage(cmd, errors.New("ids, --match or a time, --list, --lift and --finish exclude each other"))
	case f.words && f.match == "":
		return wrongUsage(cmd, errors.New("--full-text is for --match"))
	case cmd.Flags().Changed("conversation") && !narrowed:
		return wrongUsage(cmd, errors.New("--conversation narrows --match, --since and --before; give a conversation's number as an argument to forget all of it"))
	}
	return nil
}

func (a *program) forget(ctx context.Context, cmd *cobra.Command, f forgetFlags, args []string) (err error) {
	ar, err := a.open(ctx, toRead)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ar.close(ctx)) }()
	switch {
	case f.list:
		return a.listForgotten(ctx, ar)
	case f.finish:
		return a.finishErasing(ctx, ar)
	case cmd.Flags().Changed("lift"):
		if err := ar.db.Lift(ctx, f.lift); err != nil {
			return err
		}
		a.note("tombstone %d is lifted: what it stood for is stored again when it is imported", f.lift)
		return nil
	}
	what, err := f.forget(ctx, cmd, ar, args)
	if err != nil {
		return err
	}
	bar := a.newBar("looking")
	bar.set(0, 0, "for what is to go")
	order, err := ar.engine.Order(ctx, what)
	bar.clear()
	if err != nil {
		return err
	}
	return a.erase(ctx, ar, order, f.eraseFlags)
}

// forget makes the wish of the flags.
func (f forgetFlags) forget(ctx context.Context, cmd *cobra.Command, ar *archive, args []string) (lcm.Forget, error) {
	what := lcm.Forget{Pattern: f.match, Cause: "forget"}
	if f.words {
		what.Mode = store.FullText
	}
	now := time.Now()
	since, before, err := timeSpan(f.since, f.before, now)
	if err != nil {
		return what, wrongUsage(cmd, err)
	}
	if what.Since, what.Before, err = recall.Span(since, before, now); err != nil {
		return what, err
	}
	if f.conversation != 0 {
		args = append(args, strconv.FormatInt(f.conversation, 10))
	}
	for _, arg := range args {
		if n, err := strconv.ParseInt(arg, 10, 64); err == nil && n > 0 {
			c, err := ar.pick(ctx, choice{number: n})
			if err != nil {
				return what, err
			}
			what.Conversations = append(what.Conversations, c.ID)
			continue
		}
		id, err := store.ParseID(arg)
		if err != nil || id.Message == 0 {
			return what, wrongUsage(cmd, fmt.Errorf("%q is neither the number of a conversation nor the id of a message", arg))
		}
		what.Messages = append(what.Messages, id.Message)
	}
	if what.Messages != nil && what.Conversations != nil {
		return what, wrongUsage(cmd, errors.New("conversations and messages are forgotten one after the other"))
	}
	return what, nil
}

type eraseReport struct {
	DryRun        bool                   `json:"dryRun"`
	Tombstone     int64                  `json:"tombstone,omitempty"`
	Conversations int                    `json:"conversations"`
	Messages      int64                  `json:"messages"`
	Bytes         int64                  `json:"bytes"`
	Remade        int                    `json:"summariesRemade"`
	Gone          int                    `json:"summariesErased"`
	Payloads      int                    `json:"payloads"`
	PayloadBytes  int64                  `json:"payloadBytes"`
	Titles        int                    `json:"titles"`
	Values        int                    `json:"values"`
	Affected      []store.ConversationID `json:"affected"`
}

func reportErased(e store.Erased, dry bool) eraseReport {
	return eraseReport{
		DryRun: dry, Tombstone: e.Tombstone, Conversations: e.Conversations, Messages: e.Messages, Bytes: e.Bytes, Remade: e.Unworded,
		Gone: e.Summaries, Payloads: e.Payloads, PayloadBytes: e.PayloadBytes, Titles: e.Titles, Values: e.Values, Affected: e.Affected,
	}
}

// erase shows what an order would erase, asks, and carries it out.
func (a *program) erase(ctx context.Context, ar *archive, order store.Erasure, f eraseFlags) error {
	weighed, err := ar.engine.Weigh(ctx, order)
	if err != nil {
		return err
	}
	if weighed.Messages == 0 && weighed.Conversations == 0 {
		if a.json {
			return a.printJSON(reportErased(weighed, f.dryRun))
		}
		a.note("nothing matches: there is nothing to erase")
		return nil
	}
	if !a.json {
		a.printErased(weighed)
	}
	if f.dryRun {
		if a.json {
			return a.printJSON(reportErased(weighed, true))
		}
		a.note("nothing was erased: this was a dry run")
		return nil
	}
	if err := a.agree(ctx, f, fmt.Sprintf("Erase %s for good?", counted(weighed.Messages, "message", "messages"))); err != nil {
		return err
	}
	if f.again != nil {
		if err := f.again(ctx, &order); err != nil {
			return err
		}
	}
	bar := a.newBar("erasing")
	done, err := ar.engine.Erase(ctx, order, func(doing string) {
		bar.last = time.Time{} // every stage is shown
		bar.set(0, 0, doing)
	})
	bar.clear()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reportErased(done, false))
	}
	a.note("erased; tombstone %d keeps it from coming back (`lcm forget --list`). Backups and the agents' own transcripts still have it", done.Tombstone)
	return nil
}

func (a *program) printErased(e store.Erased) {
	t := newTable("", ">", "")
	row := func(what string, n int64, detail string) {
		if n > 0 {
			t.add(what, number(n), detail)
		}
	}
	row("conversations", int64(e.Conversations), "whole")
	row("messages", e.Messages, size(e.Bytes))
	row("payloads", int64(e.Payloads), size(e.PayloadBytes)+", in no other message")
	row("summaries", int64(e.Unworded), "written anew without them")
	row("summaries", int64(e.Summaries), "of nothing else: erased")
	row("titles", int64(e.Titles), "that quote them: erased")
	row("notes", int64(e.Values), "that quote them: erased")
	a.printTable(t)
}

// agree asks for a yes. Without a terminal, --yes is the way to say it.
func (a *program) agree(ctx context.Context, f eraseFlags, question string) error {
	if f.yes {
		return nil
	}
	if in, ok := a.in.(*os.File); !ok || !isTerminal(in) {
		return failed(exitUsage, "add --yes to erase it, or --dry-run to only see what would go", "nothing was erased: there is nobody to ask")
	}
	fmt.Fprintf(a.err, "%s This cannot be undone. [y/N] ", question)
	answer, err := bufio.NewReader(a.typed(ctx)).ReadString('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return failed(exitFailure, "", "nothing was erased")
	}
	return nil
}

type tombstoneReport struct {
	Number   int64                  `json:"tombstone"`
	Cause    string                 `json:"cause"`
	Time     time.Time              `json:"time"`
	Messages int64                  `json:"messages"`
	Bytes    int64                  `json:"bytes"`
	Finished bool                   `json:"finished"`
	Sessions []forgottenSessionJSON `json:"sessions"`
}

type forgottenSessionJSON struct {
	Key      string    `json:"key"`
	Messages int64     `json:"messages"`
	Through  time.Time `json:"through,omitzero"`
}

// listForgotten shows the tombstones.
func (a *program) listForgotten(ctx context.Context, ar *archive) error {
	all, err := ar.db.Tombstones(ctx)
	if err != nil {
		return err
	}
	reports := []tombstoneReport{}
	t := newTable("number", "when", "by", ">messages", "sessions")
	unfinished := false
	for _, ts := range all {
		r := tombstoneReport{Number: ts.ID, Cause: ts.Cause, Time: ts.Time, Messages: ts.Messages, Bytes: ts.Bytes, Finished: ts.Finished, Sessions: []forgottenSessionJSON{}}
		var keys []string
		for _, s := range ts.Sessions {
			r.Sessions = append(r.Sessions, forgottenSessionJSON(s))
			keys = append(keys, neutralLine(s.Key))
		}
		unfinished = unfinished || !ts.Finished
		reports = append(reports, r)
		t.add(strconv.FormatInt(ts.ID, 10), ts.Time.Format("2006-01-02 15:04"), neutralLine(ts.Cause), number(ts.Messages), clip(strings.Join(keys, ", "), 100))
	}
	switch {
	case a.json:
		return a.printJSON(reports)
	case len(all) == 0:
		a.note("nothing was ever forgotten")
	default:
		a.printTable(t)
	}
	if unfinished {
		a.note("an erasure was cut off: `lcm forget --finish` completes it")
	}
	return nil
}

func (a *program) finishErasing(ctx context.Context, ar *archive) error {
	bar := a.newBar("erasing")
	err := ar.engine.FinishErasing(ctx, func(doing string) {
		bar.last = time.Time{}
		bar.set(0, 0, doing)
	})
	bar.clear()
	if err == nil && !a.json {
		a.note("every erasure is complete")
	}
	return err
}
