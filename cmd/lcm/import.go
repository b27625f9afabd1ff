package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

type importReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Key          string               `json:"key"`
	Read         int                  `json:"read"`
	New          int                  `json:"new"`
	Known        int                  `json:"known"`
	Payloads     int64                `json:"payloads"` // externalised
	Loose        int                  `json:"loose,omitempty"`
	Rewound      bool                 `json:"rewound,omitempty"`
	Torn         *torn                `json:"torn,omitempty"`
	Seconds      float64              `json:"seconds"`
}

type importFlags struct{ session, agent, title string }

func newImport(a *app) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Keep the messages of a transcript",
		Long: `Keep the messages of a file, or of standard input. It may hold a message a line
(JSONL), one JSON array of messages, or an object with "messages", in the shape
of OpenAI's or Anthropic's API. A message may have an "id" and a "timestamp".

What is there already is not stored again: messages with ids are told apart by
those, others by their place in the history. The whole input is checked before
anything is stored. A last line that was cut off is reported with a warning, and
the rest is stored.`,
		Example: `lcm import session.jsonl
lcm import --session support/42 --agent support-bot messages.json
zcat old.jsonl.gz | lcm import - --session archive/2024 --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.importFile(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			return a.printImport(args[0], r)
		},
	}
	c.Flags().StringVar(&f.session, "session", "", "session key (default: import: and the file's path)")
	c.Flags().StringVar(&f.agent, "agent", "", "name of the agent or host that speaks in it")
	c.Flags().StringVar(&f.title, "title", "", "title of the conversation")
	a.jsonFlag(c)
	return c
}

func (a *app) importFile(ctx context.Context, name string, f importFlags) (importReport, error) {
	begun := time.Now()
	src, err := a.openSource(name)
	if err != nil {
		return importReport{}, err
	}
	defer src.close()
	bar := a.newBar("reading ")
	plan, err := surveySource(ctx, src, bar)
	bar.clear()
	if err != nil {
		return importReport{}, err
	}
	cfg, err := a.settings()
	if err != nil {
		return importReport{}, err
	}
	key := f.session
	if key == "" {
		key = src.key(plan.first)
	}
	for _, pattern := range cfg.Ingest.IgnoreSessionPatterns {
		if matchKey(pattern, key) {
			return importReport{}, failed(exitConfig, "choose another --session, or change ingest.ignore_session_patterns",
				"the settings say that the session %q is never stored (%q)", key, pattern)
		}
	}
	ar, err := a.openWith(ctx, cfg, toWrite)
	if err != nil {
		return importReport{}, err
	}
	r, err := a.store(ctx, ar, src, plan, key, f)
	r.Seconds = time.Since(begun).Seconds()
	return r, errors.Join(err, ar.close(ctx))
}

// survey is what a first reading of the input says about it.
type survey struct {
	messages int
	ids      bool // every message has one
	first    [sha256.Size]byte
	torn     *torn
}

// surveySource reads the input once without storing anything, so that a bad
// line in the middle of it leaves no half of it behind.
func surveySource(ctx context.Context, src *source, b *bar) (survey, error) {
	s := survey{ids: true}
	t := transcript{name: src.name, read: func(n int64) { b.set(n, src.size, number(s.messages)+" messages") }}
	err := src.each(&t, func(m llms.Message) error {
		if s.messages == 0 {
			s.first = sha256.Sum256(m.Raw.Bytes)
		}
		s.messages++
		s.ids = s.ids && m.ID != ""
		return ctx.Err()
	})
	s.torn = t.torn
	if errors.As(err, new(*badRecord)) {
		return s, &failure{code: exitFailure, err: err, hint: "nothing was stored; mend or remove that record and repeat the command"}
	}
	if err == nil && s.messages == 0 {
		return s, failed(exitFailure, "a message looks like {\"role\": \"user\", \"content\": \"…\"}", "%s holds no complete message", src.name)
	}
	return s, err
}

// store writes what is new of the input.
func (a *app) store(ctx context.Context, ar *archive, src *source, plan survey, key string, f importFlags) (importReport, error) {
	project, err := currentProject()
	if err != nil {
		return importReport{}, err
	}
	session := ar.engine.Session(key, lcm.InProject(project), lcm.ByAgent(f.agent), lcm.Titled(f.title))
	conv, err := session.Conversation(ctx)
	if err != nil {
		return importReport{}, err
	}
	before, err := ar.db.Stats(ctx)
	if err != nil {
		return importReport{}, err
	}
	in := &importer{
		archive: ar, session: session, conv: conv.ID, bar: a.newBar("importing"), total: plan.messages,
		report: importReport{Conversation: conv.ID, Key: key, Read: plan.messages, Torn: plan.torn},
	}
	defer in.bar.clear()
	if err := in.run(ctx, src, plan); err != nil {
		return in.report, in.explain(err)
	}
	after, err := ar.db.Stats(ctx)
	in.report.Payloads = after.Payloads - before.Payloads
	return in.report, err
}

func (a *app) printImport(name string, r importReport) error {
	if r.Torn != nil {
		a.warn("%s:%d: the last record is cut off after %s; it was left out, the rest is stored",
			neutralLine(name), r.Torn.Line, counted(r.Torn.Bytes, "byte", "bytes"))
	}
	if r.Rewound {
		a.note("the file leaves the stored history at an earlier message; what came after it is kept as a branch")
	}
	if a.json {
		return a.printJSON(r)
	}
	a.printf("conversation %d (%s)\n", r.Conversation, neutralLine(r.Key))
	t := newTable("", ">")
	t.add("  read", number(r.Read))
	t.add("  new", number(r.New))
	t.add("  known", number(r.Known))
	t.add("  externalised payloads", number(r.Payloads))
	a.printTable(t)
	return nil
}

// source is an input that can be read twice.
type source struct {
	name  string
	path  string // absolute; empty for standard input
	file  *os.File
	size  int64
	spool string // the temporary file that holds the input, if there is one
}

// openSource opens a file. Standard input and other things that can be read
// only once are written to a temporary file first.
func (a *app) openSource(name string) (*source, error) {
	if name == "-" {
		return spool("standard input", a.in)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, failed(exitFailure, "check the path and that you may read it", "%w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, file.Close())
	case info.IsDir():
		return nil, errors.Join(failed(exitFailure, "name one file; a shell loop imports many", "%s is a directory", name), file.Close())
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() {
		s, err := spool(name, file)
		if err == nil {
			s.path = abs
		}
		return s, errors.Join(err, file.Close())
	}
	return &source{name: name, path: abs, file: file, size: info.Size()}, nil
}

func spool(name string, r io.Reader) (*source, error) {
	file, err := os.CreateTemp("", "lcm-import-*")
	if err != nil {
		return nil, fmt.Errorf("keep the input while it is checked: %w", err)
	}
	s := &source{name: name, file: file, spool: file.Name()}
	if s.size, err = io.Copy(file, r); err != nil {
		s.close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}

func (s *source) close() {
	_ = s.file.Close() // it was only read
	if s.spool != "" {
		_ = os.Remove(s.spool)
	}
}

// each reads the messages from the beginning.
func (s *source) each(t *transcript, fn func(llms.Message) error) error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.each(s.file, fn)
}

// key names the session of an input that was given none: by its path, and for
// standard input by its first message, which is the same when more follows.
func (s *source) key(first [sha256.Size]byte) string {
	if s.path == "" {
		return "import:stdin:" + hex.EncodeToString(first[:6])
	}
	return "import:" + filepath.ToSlash(s.path)
}

// matchKey reports whether a session key matches a pattern in which * stands
// for any characters.
func matchKey(pattern, key string) bool {
	ok, err := path.Match(pattern, key)
	return err == nil && ok
}
