package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

type undeleteCommand struct {
	*program
	asStored bool
}

func newUndelete(p *program) *cobra.Command {
	cmd := &undeleteCommand{program: p}
	c := &cobra.Command{
		Use:   "undelete [SESSION]...",
		Short: "Write sessions back that an agent has deleted",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.use(c.Context(), toRead, func(rec *openRecord) error {
				feed, err := newFeed(rec.engine, cmd.logger(rec.cfg))
				if err != nil {
					return err
				}
				lost, err := feed.Lost(c.Context())
				if err != nil {
					return err
				}
				if len(args) == 0 {
					return cmd.list(c.Context(), rec, hosts.Resumable(lost))
				}
				return cmd.undelete(c.Context(), rec, feed, lost, args)
			})
		},
	}
	c.Flags().BoolVar(&cmd.asStored, "as-stored", false, "also write what is not as it was: without what was private, or was erased")
	return cmd.jsonFlag(c)
}

// lostReport is a session in the list.
type lostReport struct {
	conversationReport
	Session   string `json:"session"`
	Supported bool   `json:"supported"`
}

func (cmd *undeleteCommand) list(ctx context.Context, rec *openRecord, lost []hosts.Lost) error {
	t := newTable(">#", "TITLE", "AGENT", "PROJECT", ">SIZE", "LAST ACTIVITY")
	reports := []lostReport{}
	for _, l := range lost {
		c := l.Conversation
		title, err := titleOf(ctx, rec.db, c)
		if err != nil {
			return err
		}
		reports = append(reports, lostReport{describeConversation(c), l.Session, slices.Contains(all.Names[hosts.Restoring](), l.Host)})
		t.add(prose.Number(int64(c.ID)), clip(title, 48), l.Host, clipLeft(safetext.Line(projectName(c.Project)), 24), prose.Size(c.Bytes), stamp(c.UpdatedAt))
	}
	cmd.printTable(t)
	if len(lost) == 0 {
		cmd.note("no agent on this machine has deleted a session that is stored")
	} else {
		cmd.note("`lcm undelete #` writes one back, in the directory of its project")
	}
	if slices.ContainsFunc(reports, func(r lostReport) bool { return !r.Supported }) {
		cmd.note("%s", notRestoring())
	}
	return cmd.emit(reports)
}

// notRestoring says what there is for the other agents.
func notRestoring() string {
	return "only sessions of " + strings.Join(all.Names[hosts.Restoring](), ", ") + " can be written back yet; `lcm db export --raw -c # FILE` writes the records of any"
}

// undeleted is a session that was written back.
type undeleted struct {
	Number  store.ConversationID `json:"conversation"`
	Session string               `json:"session"`
	Dir     string               `json:"directory"`
	hosts.Undeletion
}

func (cmd *undeleteCommand) undelete(ctx context.Context, rec *openRecord, feed *hosts.Feed, lost []hosts.Lost, args []string) error {
	here, err := currentProject()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as the agents do
	}
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	reports := []undeleted{}
	for _, arg := range args {
		l, err := cmd.chosen(ctx, rec, feed, lost, arg)
		if err != nil {
			return err
		}
		c := l.Conversation
		if !slices.Contains(all.Names[hosts.Restoring](), l.Host) {
			return failed(exitFailure, notRestoring(), "sessions of %s cannot be written back yet", l.Host)
		}
		same, err := rec.db.Conversations(ctx, store.ConversationQuery{Key: c.Key, Project: &here, Limit: 1})
		if err != nil {
			return err
		}
		if len(same) == 0 && c.Project != (store.Project{}) {
			return failed(exitFailure, "repeat it there, so that the agent finds the session where you resume it, and make the directory again if it is gone; nothing was written",
				"conversation %d is of the project %s, and this directory is not", c.ID, safetext.Line(projectName(c.Project)))
		}
		u, err := feed.Undelete(ctx, l, lost, dir)
		if err != nil {
			return err
		}
		if len(u.Changed) > 0 && !cmd.asStored {
			return failed(exitFailure, "--as-stored writes it as it is stored; nothing was written", "conversation %d is not as it was: %s", c.ID, strings.Join(u.Changed, ", "))
		}
		if err := writeBack(ctx, feed, u.Files); err != nil {
			return err
		}
		reports = append(reports, undeleted{c.ID, l.Session, dir, u})
		for _, what := range u.Changed {
			cmd.note("not as it was: %s", safetext.Line(what))
		}
		for _, path := range u.Left {
			cmd.note("%s is there already, and was left as it is", safetext.Line(path))
		}
		last := u.Files[len(u.Files)-1]
		cmd.printf("%s, %s\n", safetext.Line(last.Path), prose.Size(last.Bytes))
		if n := len(u.Files) - 1; n > 0 {
			cmd.printf("and %s beside it\n", prose.Count(n, "file", "files"))
		}
		if u.Resume != "" {
			cmd.printf("in %s: %s\n", safetext.Line(dir), u.Resume)
		}
	}
	return cmd.emit(reports)
}

// chosen returns the lost session that an argument names: by its number, its id or its key.
func (cmd *undeleteCommand) chosen(ctx context.Context, rec *openRecord, feed *hosts.Feed, lost []hosts.Lost, arg string) (hosts.Lost, error) {
	n, _ := strconv.ParseInt(arg, 10, 64)
	for _, l := range lost {
		if int64(l.Conversation.ID) == n || l.Session == arg || l.Key() == arg {
			return l, nil
		}
	}
	key := arg
	if n > 0 {
		c, err := rec.pick(ctx, choice{number: n})
		if err != nil {
			return hosts.Lost{}, advise(exitNotFound, "`lcm undelete` lists the sessions that agents have deleted", err)
		}
		key = c.Key
	}
	for _, h := range all.Hosts() {
		if t, err := feed.Locate(ctx, h.About().Name, "", strings.TrimPrefix(key, h.About().Name+":")); err == nil {
			advice := "it can be resumed as it is; nothing was written"
			if lag, err := feed.Lag(ctx, t); err == nil && lag.Truncated {
				advice = "it is shorter than when it was stored: move it away, and repeat this"
			}
			return hosts.Lost{}, failed(exitFailure, advice, "%s still has this session, in %s", h.About().Title, safetext.Line(t.Path))
		}
	}
	return hosts.Lost{}, failed(exitNotFound, "`lcm undelete` lists them; `lcm db export --raw -c # FILE` writes the records of any other conversation",
		"%s is not a session that an agent on this machine had and has deleted", safetext.Line(arg))
}

// writeBack writes files, each for its owner only and never over another one. They get their names
// when all of them are complete, the last one last.
func writeBack(ctx context.Context, feed *hosts.Feed, files []hosts.LostFile) error {
	if len(files) == 0 {
		return nil
	}
	file, rest := files[len(files)-1], files[:len(files)-1]
	move.Sweep(filepath.Dir(file.Path))
	err := writeNew(file.Path, dbfile.PartPattern, func(w io.Writer) error {
		return errors.Join(feed.Write(ctx, file, w), writeBack(ctx, feed, rest))
	})
	if errors.Is(err, fs.ErrExist) {
		return failed(exitFailure, "move it away if it is not wanted; nothing was overwritten", "%s exists", safetext.Line(file.Path))
	}
	return err
}
