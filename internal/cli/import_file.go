package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts/jsonl"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/llms"
)

// importReport is the outcome of the import of a file of messages.
type importReport struct {
	Conversation store.ConversationID `json:"conversation"`
	Key          string               `json:"key"`
	Read         int                  `json:"read"`
	New          int                  `json:"new"`
	Known        int                  `json:"known"`
	Payloads     int64                `json:"payloads"`        // externalised
	Loose        int                  `json:"loose,omitempty"` // before the part that matches; stored outside the view
	Late         int                  `json:"late,omitempty"`  // before ones that were there; stored as they arrived
	Rewound      bool                 `json:"rewound,omitempty"`
	Torn         *jsonl.Torn          `json:"torn,omitempty"`
	Untimed      *jsonl.Untimed       `json:"untimed,omitempty"`
	Seconds      float64              `json:"seconds"`

	current bool // the conversation is the one that commands mean here
}

func (cmd *importCommand) importFile(ctx context.Context, name string) (r importReport, err error) {
	begun := time.Now()
	src, err := openSource(ctx, cmd.program, name)
	if err != nil {
		return r, err
	}
	defer src.close()
	if err := src.isMessages(); err != nil {
		return r, err
	}
	bar := cmd.newBar("reading ")
	plan, err := surveySource(ctx, src, bar)
	bar.clear()
	if err != nil {
		return r, err
	}
	cfg, err := cmd.settings()
	if err != nil {
		return r, err
	}
	project, err := currentProject()
	if err != nil {
		return r, err
	}
	key := cmp.Or(cmd.session, src.key(plan.begins))
	if err := ingest.CheckIgnored(engineconfig.Privacy(cfg), key, project); err != nil {
		return r, failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
	}
	err = cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) (err error) {
		r, err = cmd.store(ctx, rec, src, plan, key)
		return err
	})
	r.Seconds = time.Since(begun).Seconds()
	return r, err
}

// survey is the result of the first reading of the input.
type survey struct {
	messages int
	ids      bool // every message has one
	begins   [sha256.Size]byte
	torn     *jsonl.Torn
	untimed  *jsonl.Untimed
}

// opening messages identify standard input: many inputs begin with the same prompt.
const opening = 4

// surveySource reads the input once, so that a bad line leaves no half of it in the store.
func surveySource(ctx context.Context, src *source, b *bar) (survey, error) {
	s := survey{ids: true}
	t := jsonl.Reader{Name: src.name, Progress: func(n int64) { b.set(n, src.size, prose.Number(s.messages)+" messages") }}
	begins := sha256.New()
	err := src.each(&t, func(m llms.Message) error {
		if s.messages < opening {
			one := sha256.Sum256(m.Raw.Bytes)
			begins.Write(one[:])
		}
		s.messages++
		s.ids = s.ids && m.ID != ""
		return ctx.Err()
	})
	s.torn, s.untimed = t.Torn, t.Untimed
	begins.Sum(s.begins[:0])
	if errors.As(err, new(*jsonl.BadRecord)) {
		return s, advise(exitFailure, "nothing was stored; mend or remove that record and repeat the command", err)
	}
	if err == nil && s.messages == 0 {
		return s, failed(exitFailure, "a message looks like {\"role\": \"user\", \"content\": \"…\"}", "%s holds no complete message", src.name)
	}
	return s, err
}

// store writes the new messages of the input.
func (cmd *importCommand) store(ctx context.Context, rec *openRecord, src *source, plan survey, key string) (r importReport, err error) {
	project, err := currentProject()
	if err != nil {
		return r, err
	}
	session := rec.engine.Session(key, lcm.InProject(project), lcm.ByAgent(cmd.agent), lcm.Titled(cmd.title))
	conv, err := session.Conversation(ctx)
	if err != nil {
		return r, err
	}
	before, err := rec.db.Stats(ctx)
	if err != nil {
		return r, err
	}
	in, err := rec.newImporter(conv, cmd.newBar("importing"),
		importReport{Conversation: conv.ID, Key: key, Read: plan.messages, Torn: plan.torn, Untimed: plan.untimed})
	if err != nil {
		return r, err
	}
	defer in.bar.clear()
	if err := in.run(ctx, src, plan); err != nil {
		return in.report, in.explain(err)
	}
	after, err := rec.db.Stats(ctx)
	if err != nil {
		return in.report, err
	}
	in.report.Payloads = after.Payloads - before.Payloads
	current, err := rec.pick(ctx, choice{})
	in.report.current = err == nil && current.ID == conv.ID
	return in.report, nil
}

func (cmd *importCommand) printImport(name string, r importReport) error {
	cmd.printFindings(safetext.Line(name), r)
	if cmd.json {
		return cmd.printJSON(r)
	}
	cmd.printf("conversation %d (%s)\n", r.Conversation, safetext.Line(r.Key))
	t := newTable("", ">")
	t.add("  read", prose.Number(r.Read))
	t.add("  new", prose.Number(r.New))
	t.add("  known", prose.Number(r.Known))
	t.add("  externalised payloads", prose.Number(r.Payloads))
	cmd.printTable(t)
	if !r.current {
		cmd.note("it is not the current conversation here: use --conversation %d, as in `lcm show --conversation %d`", r.Conversation, r.Conversation)
	}
	return nil
}

// printFindings warns of irregularities of the input.
func (cmd *importCommand) printFindings(name string, r importReport) {
	switch t := r.Torn; {
	case t == nil:
	case t.Bytes == 0:
		cmd.warn("%s:%d: the input ends in the middle of a list; what is there of it is stored", name, t.Line)
	default:
		cmd.warn("%s:%d: the last record is cut off after %s; it was left out, the rest is stored", name, t.Line, prose.Count(t.Bytes, "byte", "bytes"))
	}
	if u := r.Untimed; u != nil {
		more := ""
		if u.Count > 1 {
			more = " (and so in " + prose.Count(u.Count-1, "more message", "more messages") + ")"
		}
		cmd.warn("%s:%d: the time %s cannot be read%s; the time of storing stands in for it. Write it like \"2026-01-02T03:04:05Z\"",
			name, u.Line, clip(safetext.Line(u.Value), 40), more)
	}
	if r.Rewound {
		cmd.note("the file leaves the stored history at an earlier message; what came after it is kept as a branch")
	}
	if r.Loose > 0 {
		cmd.note("%s before the part that is known: stored and searchable, but not in the view", prose.Count(r.Loose, "new message stands", "new messages stand"))
	}
	if r.Late > 0 {
		cmd.note("%s before some that were known: stored in the order of their arrival", prose.Count(r.Late, "new message stands", "new messages stand"))
	}
}
