package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
)

type forgetCommand struct {
	*program
	match         string
	words         bool
	since, before string
	olderThan     string
	project       string
	conversation  int64
	list, finish  bool
	lift          int64
	dryRun, yes   bool
}

func newForget(p *program) *cobra.Command {
	cmd := &forgetCommand{program: p}
	c := &cobra.Command{
		Use:   "forget [CONVERSATION|MESSAGE]...",
		Short: "Erase conversations or messages for good",
		Args:  cmd.check,
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.use(c.Context(), toRead, func(rec *openRecord) error { return cmd.run(c, rec, args) })
		},
	}
	fl := c.Flags()
	fl.StringVarP(&cmd.match, "match", "m", "", "messages that match this regular expression, anywhere in their record")
	fl.BoolVarP(&cmd.words, "full-text", "F", false, "take --match as words, as in grep --full-text")
	fl.StringVar(&cmd.since, "since", "", "messages said not before this time")
	fl.StringVar(&cmd.before, "before", "", "messages said before this time")
	fl.Int64VarP(&cmd.conversation, "conversation", "c", 0, "with --match, --since and --before: only in this one (default: in all)")
	fl.StringVar(&cmd.olderThan, "older-than", "", "whole conversations whose last message is older than this, like 180d, 26w or 1y")
	fl.StringVar(&cmd.project, "project", "", "with --older-than: only conversations of the project of this directory")
	fl.BoolVar(&cmd.dryRun, "dry-run", false, "only show the extent")
	fl.BoolVarP(&cmd.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&cmd.list, "list", false, "list the tombstones")
	fl.Int64Var(&cmd.lift, "lift", 0, "take a tombstone away, by its number")
	fl.BoolVar(&cmd.finish, "finish", false, "complete an erasure that was cut off")
	return cmd.jsonFlag(c)
}

// check refuses flags and arguments that contradict each other.
func (cmd *forgetCommand) check(c *cobra.Command, args []string) error {
	narrowed := cmd.match != "" || cmd.since != "" || cmd.before != ""
	ways := count(len(args) > 0, narrowed, c.Flags().Changed("older-than"), cmd.list, cmd.finish, c.Flags().Changed("lift"))
	switch {
	case ways == 0:
		return wrongUsage(c, errors.New("say what to forget: a conversation, messages, --match, --since, --before or --older-than"))
	case ways > 1:
		return wrongUsage(c, errors.New("ids, --match or a time, --older-than, --list, --lift and --finish exclude each other"))
	case cmd.project != "" && cmd.olderThan == "":
		return wrongUsage(c, errors.New("--project is for --older-than"))
	case cmd.words && cmd.match == "":
		return wrongUsage(c, errors.New("--full-text is for --match"))
	case c.Flags().Changed("conversation") && !narrowed:
		return wrongUsage(c, errors.New("--conversation narrows --match, --since and --before; give a conversation's number as an argument to forget all of it"))
	}
	return nil
}

func (cmd *forgetCommand) run(c *cobra.Command, rec *openRecord, args []string) error {
	ctx := c.Context()
	switch {
	case cmd.list:
		return cmd.listForgotten(ctx, rec)
	case cmd.finish:
		return cmd.finishErasing(ctx, rec)
	case c.Flags().Changed("lift"):
		if err := rec.db.Lift(ctx, cmd.lift); err != nil {
			return err
		}
		cmd.note("tombstone %d is lifted: what it stood for is stored again when it is imported", cmd.lift)
		return nil
	}
	if c.Flags().Changed("older-than") {
		age, err := parseAge(cmd.olderThan)
		if err != nil {
			return wrongUsage(c, err)
		}
		return cmd.forgetOlder(ctx, rec, time.Now().Add(-age))
	}
	what, err := cmd.selection(c, rec, args)
	if err != nil {
		return err
	}
	bar := cmd.newBar("looking")
	bar.set(0, 0, "for the messages to erase")
	order, err := rec.engine.Order(ctx, what)
	bar.clear()
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		return advise(exitUsage, "it is a regular expression; words are looked for with --full-text", err)
	}
	if err != nil {
		return err
	}
	return cmd.erase(ctx, rec, order, nil)
}

// parseAge reads a number of days, weeks or years.
func parseAge(text string) (time.Duration, error) {
	days := map[string]int{"d": 1, "w": 7, "y": 365}[text[max(0, len(text)-1):]]
	n, err := strconv.Atoi(strings.TrimRight(text, "dwy"))
	if err != nil || days == 0 || n < 1 || n > 200*365/days {
		return 0, fmt.Errorf("--older-than %q is not an age: want a number with d, w or y, like 180d", text)
	}
	return time.Duration(n*days) * 24 * time.Hour, nil
}

// forgetOlder erases the conversations that nobody has added to since a time.
func (cmd *forgetCommand) forgetOlder(ctx context.Context, rec *openRecord, since time.Time) error {
	var in *store.Project
	if cmd.project != "" {
		p, err := project.Of(cmd.project)
		if err != nil {
			return err
		}
		in = &p
	}
	unused, err := idle(ctx, rec.db, since, in)
	if err != nil {
		return err
	}
	order := store.Erasure{Cause: "forget"}
	t := newTable(">", "last message", ">messages", "session")
	for _, c := range unused {
		order.Conversations = append(order.Conversations, c.ID)
		t.add(strconv.FormatInt(int64(c.ID), 10), c.UpdatedAt.Format(time.DateOnly), prose.Number(c.Messages), clip(safetext.Line(cmp.Or(c.Title, c.Key)), 80))
	}
	cmd.printTable(t)
	return cmd.erase(ctx, rec, order, func(order *store.Erasure) error {
		// Somebody may have gone on with one while the question stood.
		still, err := idle(ctx, rec.db, since, in)
		order.Conversations = slices.DeleteFunc(order.Conversations, func(id store.ConversationID) bool {
			return !slices.ContainsFunc(still, func(c store.Conversation) bool { return c.ID == id })
		})
		return err
	})
}

// idle lists the conversations of a project (nil: of all) that have no message since a
// time, oldest first. It leaves out a conversation from which one that is not idle was
// forked.
func idle(ctx context.Context, r store.Reader, since time.Time, in *store.Project) ([]store.Conversation, error) {
	all, err := r.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	used := map[store.ConversationID]bool{}
	byID := map[store.ConversationID]store.Conversation{}
	for _, c := range all {
		byID[c.ID] = c
	}
	for _, c := range all {
		if c.UpdatedAt.Before(since) {
			continue
		}
		for id := c.ID; id != 0 && !used[id]; id = byID[id].ForkedFrom {
			used[id] = true
		}
	}
	if all, err = r.Conversations(ctx, store.ConversationQuery{Project: in}); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c store.Conversation) bool { return used[c.ID] })
	slices.Reverse(all)
	return all, nil
}

// selection returns the selection that the flags and arguments make.
func (cmd *forgetCommand) selection(c *cobra.Command, rec *openRecord, args []string) (lcm.EraseQuery, error) {
	what := lcm.EraseQuery{Pattern: cmd.match, Cause: "forget"}
	if cmd.words {
		what.Mode = store.FullText
	}
	now := time.Now()
	since, before, err := timeSpan(cmd.since, cmd.before, now)
	if err != nil {
		return what, wrongUsage(c, err)
	}
	if what.Since, what.Before, err = lookup.Span(since, before, now); err != nil {
		return what, err
	}
	if cmd.conversation != 0 {
		args = append(args, strconv.FormatInt(cmd.conversation, 10))
	}
	for _, arg := range args {
		if n, err := strconv.ParseInt(arg, 10, 64); err == nil && n > 0 {
			conv, err := rec.pick(c.Context(), choice{number: n})
			if err != nil {
				return what, err
			}
			what.Conversations = append(what.Conversations, conv.ID)
			continue
		}
		id, err := store.ParseID(arg)
		if err != nil || id.Message == 0 {
			return what, wrongUsage(c, fmt.Errorf("%q is neither the number of a conversation nor the id of a message", arg))
		}
		what.Messages = append(what.Messages, id.Message)
	}
	if what.Messages != nil && what.Conversations != nil {
		return what, wrongUsage(c, errors.New("conversations and messages are forgotten one after the other"))
	}
	return what, nil
}

type eraseReport struct {
	DryRun bool `json:"dryRun"`
	store.Erased
}

// end reports an erasure as JSON, or with a note.
func (cmd *forgetCommand) end(got store.Erased, format string, args ...any) error {
	cmd.note(format, args...)
	return cmd.emit(eraseReport{cmd.dryRun, got})
}

// erase prints the extent of an erasure, asks, and carries it out. recheck updates the order
// after the user has agreed to it.
func (cmd *forgetCommand) erase(ctx context.Context, rec *openRecord, order store.Erasure, recheck func(*store.Erasure) error) error {
	weighed, err := rec.db.Weigh(ctx, order)
	if err != nil {
		return err
	}
	if weighed.Messages == 0 && weighed.Conversations == 0 {
		return cmd.end(weighed, "nothing matches: there is nothing to erase")
	}
	cmd.printErased(weighed)
	if cmd.dryRun {
		return cmd.end(weighed, "nothing was erased: this was a dry run")
	}
	question := fmt.Sprintf("Erase %s for good? This cannot be undone.", prose.Count(weighed.Messages, "message", "messages"))
	if err := cmd.confirm(ctx, cmd.yes, question, "add --yes to erase it, or --dry-run to only see what would go", "nothing was erased"); err != nil {
		return err
	}
	if recheck != nil {
		if err := recheck(&order); err != nil {
			return err
		}
	}
	detail := fmt.Sprintf("%s: %s in %s", order.Cause, prose.Count(weighed.Messages, "message", "messages"), prose.Count(len(weighed.Affected), "conversation", "conversations"))
	if err := rec.audit().Add(ctx, access.Entry{Who: localUser(), Action: "erase", Detail: detail}); err != nil {
		return err
	}
	bar := cmd.newBar("erasing")
	done, err := rec.engine.Erase(ctx, order, bar.stage)
	bar.clear()
	if err != nil {
		return err
	}
	return cmd.end(done, "erased; tombstone %d keeps it from coming back (`lcm forget --list`). Backups and the agents' own transcripts still have it", done.Tombstone)
}

func (cmd *forgetCommand) printErased(got store.Erased) {
	t := newTable("", ">", "")
	row := func(what string, n int64, detail string) {
		if n > 0 {
			t.add(what, prose.Number(n), detail)
		}
	}
	row("conversations", int64(got.Conversations), "whole")
	row("messages", got.Messages, prose.Size(got.Bytes))
	row("payloads", int64(got.Payloads), prose.Size(got.PayloadBytes)+", in no other message")
	row("summaries", int64(got.Unworded), "written anew without them")
	row("summaries", int64(got.Summaries), "of nothing else: erased")
	row("titles", int64(got.Titles), "that quote them: erased")
	row("notes", int64(got.Values), "that quote them: erased")
	cmd.printTable(t)
}

// listForgotten shows the tombstones.
func (cmd *forgetCommand) listForgotten(ctx context.Context, rec *openRecord) error {
	all, err := rec.db.Tombstones(ctx)
	if err != nil {
		return err
	}
	t := newTable("number", "when", "by", ">messages", "sessions")
	unfinished, damaged := false, 0
	for i, ts := range all {
		all[i].Sessions = list(ts.Sessions)
		if ts.Damaged {
			damaged++
			ts.Cause = "[damaged] " + ts.Cause
		}
		var keys []string
		for _, s := range ts.Sessions {
			keys = append(keys, safetext.Line(s.Key))
		}
		unfinished = unfinished || !ts.Finished
		t.add(strconv.FormatInt(ts.ID, 10), ts.Time.Format("2006-01-02 15:04"), safetext.Line(ts.Cause), prose.Number(ts.Messages), clip(strings.Join(keys, ", "), 100))
	}
	if len(all) == 0 {
		cmd.note("nothing was ever forgotten")
	}
	cmd.printTable(t)
	if unfinished {
		cmd.note("an erasure was cut off: `lcm forget --finish` completes it")
	}
	return errors.Join(cmd.emit(list(all)), damageShown(damaged))
}

func (cmd *forgetCommand) finishErasing(ctx context.Context, rec *openRecord) error {
	bar := cmd.newBar("erasing")
	err := rec.engine.FinishErasing(ctx, bar.stage)
	bar.clear()
	if err == nil {
		cmd.note("every erasure is complete")
	}
	return err
}
