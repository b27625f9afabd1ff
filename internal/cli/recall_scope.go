package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/lossless-context/lcm"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// where selects the conversations to search: by default those of the project, and all if
// it has few matches.
type where struct {
	choice
	all         bool
	currentOnly bool
	projectOnly bool
}

func (w *where) flags(c *cobra.Command) {
	c.Flags().Int64VarP(&w.number, "conversation", "c", 0, "this conversation only")
	c.Flags().BoolVarP(&w.all, "all", "a", false, "all conversations; =false: the newest of this project")
	c.Flags().BoolVar(&w.projectOnly, "project-only", false, "this project only, even where it has little")
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		w.currentOnly = cmd.Flags().Changed("all") && !w.all
		if w.projectOnly && (w.all || w.number != 0 || w.currentOnly) {
			return wrongUsage(cmd, errors.New("--project-only excludes --conversation and --all"))
		}
		return nil
	}
}

// currentSession returns the key of the session that a host names in the environment, or "".
func currentSession() string {
	for _, h := range all.Hosts() {
		if env := h.About().MCP.SessionEnv; len(env) > 0 && os.Getenv(env[0]) != "" {
			return h.About().Name + ":" + os.Getenv(env[0])
		}
	}
	return ""
}

// resolve returns the conversations to search.
func (w *where) resolve(ctx context.Context, rec *openRecord) (recall.Where, error) {
	at := recall.Where{ConversationID: store.ConversationID(w.number), AllConversations: w.all, CurrentOnly: w.currentOnly, Widen: !w.projectOnly}
	if w.number != 0 {
		_, err := rec.pick(ctx, w.choice)
		return at, err
	}
	if w.all {
		return at, nil
	}
	here, err := currentProject()
	if err != nil {
		return at, err
	}
	at.Projects = []store.Project{here}
	if key := currentSession(); key != "" {
		named, err := rec.db.Conversations(ctx, store.ConversationQuery{Key: key, Limit: 1})
		if err != nil {
			return at, err
		}
		if len(named) > 0 {
			at.Current, at.InTurn = named[0].ID, true
		}
	}
	if w.currentOnly && at.Current == 0 {
		c, err := rec.pick(ctx, w.choice)
		var f *failure
		if errors.As(err, &f) && f.code == exitNotFound {
			err = advise(exitNotFound, "--conversation N looks in one conversation, --all in all of them; `lcm conversations --all` lists them", err)
		}
		at.Current = c.ID
		return at, err
	}
	return at, nil
}

// runs returns the RunE of a command that recalls: complete makes the request, at is its
// selection of conversations, and fn answers it.
func (w *where) runs(p *program, at *recall.Where, complete func(*cobra.Command, []string) error,
	fn func(context.Context, *openRecord, *lcm.Engine) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := complete(c, args); err != nil {
			return err
		}
		return p.runs(toRead, func(ctx context.Context, rec *openRecord) (err error) {
			if err := rec.hasMessages(ctx); err != nil {
				return err
			}
			if *at, err = w.resolve(ctx, rec); err != nil {
				return err
			}
			return recallFailure(c, fn(ctx, rec, rec.engine))
		})(c, args)
	}
}

// hasMessages returns an error if nothing was ever stored.
func (rec *openRecord) hasMessages(ctx context.Context) error {
	some, err := rec.db.Conversations(ctx, store.ConversationQuery{Limit: 1})
	if err != nil || len(some) > 0 {
		return nil // what is damaged may still be searched
	}
	return failed(exitNotFound, firstImport+"; --db names another database", "nothing is stored in %s yet", rec.db.Path())
}

// recallWords translates messages of package recall into flags and commands.
var recallWords = strings.NewReplacer(
	"conversationId (in Go: Where.ConversationID)", "--conversation", "allConversations: true (Where.AllConversations)", "--all",
	"conversationId: ", "--conversation ", "conversationId", "--conversation", "allConversations: true", "--all",
	`mode "full_text"`, "--full-text", `mode "regex"`, "--mode regex",
	"lcm_grep", "`lcm grep`", "lcm_describe", "`lcm describe`", "includeMessages: true", "--include-messages",
	"cursor set to nextCursor", "--cursor", "nextCursor", "--cursor",
	"tokenCap", "--max-tokens", "everything: true", "--everything",
	"begin the pattern with (?i)", "add -i", "summaryIds", "--summary", "maxTokens", "--max-tokens", "prompt is empty", "the question is empty",
	"lcm_expand_query", "`lcm ask`", "Try other words for the query", "Try other words with --query",
)

// recallFailure gives a request that recall refused its exit code and its words.
func recallFailure(c *cobra.Command, err error) error {
	if !errors.Is(err, recall.ErrRefused) {
		return err
	}
	code := exitUsage
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, recall.ErrOutOfScope) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	message, advice := hint.Split(err)
	if advice == "" {
		advice = fmt.Sprintf("`%s --help` says what it may be", c.CommandPath())
	}
	return failed(code, recallWords.Replace(advice), "%s", recallWords.Replace(message))
}

// printNotes prints the notes of an answer, and how to get its next page.
func printNotes(p *program, all []string, cursor string) {
	for _, n := range all {
		p.note("%s", safetext.Line(recallWords.Replace(n)))
	}
	if cursor != "" {
		p.note("--cursor %s", cursor)
	}
}

// typedIDs returns the ids that were typed.
func typedIDs[T ~string](typed []string) []T {
	ids := make([]T, len(typed))
	for i, id := range typed {
		ids[i] = T(id)
	}
	return ids
}
