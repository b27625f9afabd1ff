package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/store"
)

// where is in which conversations a command looks.
type where struct {
	choice
	all bool
}

func (w *where) flags(c *cobra.Command) {
	w.choice.flag(c)
	c.Flags().BoolVarP(&w.all, "all-conversations", "a", false, "look in all conversations")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "conversation-id": // as the tools call it
			name = "conversation"
		case "all":
			name = "all-conversations"
		}
		return pflag.NormalizedName(name)
	})
}

// resolve fills in the current conversation where nothing else is said.
func (w *where) resolve(ctx context.Context, ar *archive) (recall.Where, error) {
	if w.number != 0 || w.all {
		return recall.Where{ConversationID: store.ConversationID(w.number), AllConversations: w.all}, nil
	}
	c, err := ar.pick(ctx, w.choice)
	var f *failure
	if errors.As(err, &f) && f.code == exitNotFound {
		f.hint = "--conversation N looks in one conversation, --all-conversations in all of them; `lcm conversations --all` lists them"
	}
	return recall.Where{Current: c.ID}, err
}

// asking opens the database and hands its recall to fn.
func (a *app) asking(ctx context.Context, w where, fn func(*archive, *recall.Service, recall.Where) error) error {
	ar, err := a.open(ctx, toRead)
	if err != nil {
		return err
	}
	defer ar.close(ctx)
	at, err := w.resolve(ctx, ar)
	if err != nil {
		return err
	}
	svc, err := recall.New(ar.db, recall.WithCounter(ar.counter))
	if err != nil {
		return err
	}
	return recallFailure(fn(ar, svc, at))
}

// recallWords puts what recall says about its parameters in the words of the
// command line.
var recallWords = strings.NewReplacer(
	"conversationId: ", "--conversation ", "conversationId", "--conversation", "allConversations: true", "--all-conversations",
	`mode "full_text"`, "--full-text", `mode "regex"`, "--mode regex", `set scope to "files"`, "add --scope files",
	"lcm_grep", "`lcm grep`", "lcm_describe", "`lcm describe`", "includeMessages: true", "--include-messages",
	"cursor set to nextCursor", "--cursor", "nextCursor", "--cursor", "startLine", "--start-line", "endLine", "--end-line",
	"tokenCap", "--token-cap", "fileIds", "--file-ids",
)

// recallFailure gives what recall refuses its exit code and its hint.
func recallFailure(err error) error {
	var e *recall.Error
	if !errors.As(err, &e) {
		return err
	}
	f := &failure{code: exitUsage, err: errors.New(recallWords.Replace(e.Err.Error())), hint: recallWords.Replace(e.Hint)}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, recall.ErrOutOfScope):
		f.code = exitNotFound
	case errors.Is(err, context.DeadlineExceeded):
		f.code = exitFailure
	}
	return f
}

// notes tells what recall has to say about an answer.
func (a *app) notes(all []string) {
	for _, n := range all {
		a.note("%s", neutralLine(recallWords.Replace(n)))
	}
}
