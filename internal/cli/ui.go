package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
)

type uiCommand struct {
	*program
	port   int
	noOpen bool
}

func newUI(p *program) *cobra.Command {
	cmd := &uiCommand{program: p}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Look at the record in a browser",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, args []string) error {
			if cmd.port < 0 || cmd.port > 65535 {
				return wrongUsage(c, errors.New("--port is from 0 to 65535"))
			}
			return cmd.runs(toRead, cmd.serve)(c, args)
		},
	}
	c.Flags().IntVar(&cmd.port, "port", 0, "port to serve on (default: any that is free)")
	c.Flags().BoolVar(&cmd.noOpen, "no-open", false, "only print the link")
	return c
}

// newUIServer returns a server of the pages of a database.
func (p *program) newUIServer(rec *openRecord) (*ui.Server, error) {
	home, _ := os.UserHomeDir() // without one, paths are shown whole
	config := ui.Config{
		Engine: rec.engine, Budget: rec.cfg.Context.TokenBudget, Home: home,
		Scratch: func(ctx context.Context) (*lcm.Engine, func() error, error) { return scratchEngine(ctx, rec) },
		Branches: func(ctx context.Context, id store.ConversationID) ([]stats.Branch, error) {
			return stats.Branches(ctx, rec.db.SQL(), id)
		},
	}
	if feed, err := newFeed(rec.engine, rec.log); err == nil { // without a home there are no agents
		config.Resume = feed.Resume
	}
	return ui.New(config)
}

// scratchEngine opens an engine on an empty database in memory, with the settings of
// rec except its models.
func scratchEngine(ctx context.Context, rec *openRecord) (*lcm.Engine, func() error, error) {
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{Log: rec.log})
	if err != nil {
		return nil, nil, err
	}
	options := append(fromconfig.Options(rec.cfg, db, rec.counter), lcm.WithSummariser(nil), lcm.WithLogger(rec.log), lcm.WithoutBackground())
	engine, err := lcm.New(db, options...)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return engine, func() error { return errors.Join(engine.Close(context.WithoutCancel(ctx)), db.Close()) }, nil
}

func (cmd *uiCommand) serve(ctx context.Context, rec *openRecord) error {
	s, err := cmd.newUIServer(rec)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(cmd.port)))
	if err != nil {
		return failed(exitFailure, "choose another port with --port, or leave it out", "listen on port %d: %w", cmd.port, err)
	}
	link := fmt.Sprintf("http://%s%s?token=%s", l.Addr(), ui.OpenPath, url.QueryEscape(s.Token()))
	cmd.printf("%s\n", link)
	cmd.note("the link works once; Ctrl-C ends the server")
	if !cmd.noOpen && cmd.terminal {
		openBrowser(ctx, link)
	}
	return s.Serve(ctx, l)
}

// openBrowser starts the user's browser. Without one, the printed link is left.
func openBrowser(ctx context.Context, link string) {
	var c *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		c = exec.CommandContext(ctx, "open", link)
	case "windows":
		c = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", link)
	default:
		c = exec.CommandContext(ctx, "xdg-open", link)
	}
	if c.Start() == nil {
		go func() { _ = c.Wait() }()
	}
}

// writePage writes a page that needs no server to a new file.
func (cmd *showCommand) writePage(rec *openRecord, path string, write func(*ui.Server, io.Writer) error) error {
	s, err := cmd.newUIServer(rec)
	if err != nil {
		return err
	}
	err = writeNew(path, ".lcm-page-*", func(w io.Writer) error {
		b := bufio.NewWriter(w)
		return errors.Join(write(s, b), b.Flush())
	})
	return cmd.noteWritten(path, err)
}

// noteWritten says that a file was written, or that one with its name exists.
func (cmd *showCommand) noteWritten(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return existing(path)
	}
	if err == nil {
		cmd.note("wrote %s", safetext.Line(path))
	}
	return err
}

// writePages writes the messages of a conversation to a new file, or to a new folder
// if they are more than one page holds.
func (cmd *showCommand) writePages(ctx context.Context, rec *openRecord, path string, c store.Conversation, sel ui.Selection) error {
	s, err := cmd.newUIServer(rec)
	if err != nil {
		return err
	}
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	for _, name := range []string{path, folder} {
		if _, err := os.Lstat(name); err == nil {
			return cmd.noteWritten(name, fs.ErrExist)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".lcm-pages-*") // mode 0700
	if errors.Is(err, fs.ErrNotExist) {
		return failed(exitNotFound, "make it, or name a file in another one", "there is no folder %s", filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var f *os.File
	pages, err := s.WriteSession(ctx, func(name string) (io.Writer, error) {
		failed := closeFile(f)
		f, err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return f, errors.Join(failed, err)
	}, c, sel)
	switch err = errors.Join(err, closeFile(f)); {
	case err != nil:
		return err
	case pages == 1:
		return cmd.noteWritten(path, nameFile(filepath.Join(dir, ui.Page(1)), path))
	}
	return cmd.noteWritten(filepath.Join(folder, "index.html"), os.Rename(dir, folder))
}

// closeFile syncs and closes a file, if there is one.
func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return errors.Join(f.Sync(), f.Close())
}
