package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/sample"
	"github.com/lossless-context/lcm/llms"
)

// demoBudget is small enough for the bundled session to overflow many times.
const demoBudget = 16_000

func newDemo(p *program) *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch it work on a bundled session",
		Long: `A guided run on the real parts: a bundled coding session of several days is
replayed message by message under a small budget, folded, drawn, expanded,
verified and tampered with. It takes a few seconds, needs no model and no network,
and keeps nothing unless --keep says where.`,
		Example: "lcm demo\nlcm demo --keep /tmp/demo.db",
		Args:    usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemo(c.Context(), p, keep)
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "keep the database at this path")
	return c
}

func runDemo(ctx context.Context, p *program, keep string) error {
	dir, err := os.MkdirTemp("", "lcm-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "demo.db")
	if keep != "" {
		if _, err := os.Stat(keep); err == nil {
			return failed(exitFailure, "choose another path", "%s exists already", keep)
		}
		path = keep
	}
	cfg, err := demoSettings(dir, path)
	if err != nil {
		return err
	}
	d := &demo{program: p, dir: dir, kept: keep != ""}
	if d.archive, err = p.openWith(ctx, cfg, toWrite); err != nil {
		return err
	}
	d.session = d.engine.Session("demo", lcm.ByAgent("demo"), lcm.Titled("Parcel tracking"))
	for _, step := range []func(context.Context) error{d.replay, d.again, d.tree, d.view, d.expand, d.prove} {
		if err := step(ctx); err != nil {
			return errors.Join(err, d.close(ctx))
		}
	}
	if err := d.close(ctx); err != nil {
		return err
	}
	if err := d.tamper(ctx); err != nil {
		return err
	}
	d.farewell()
	return nil
}

// demoSettings are the defaults, whatever this machine's settings are.
func demoSettings(home, path string) (*config.Config, error) {
	return config.Load(config.Options{
		Flags:    map[string]string{"storage.database_path": path},
		Getenv:   func(string) string { return "" },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		Home:     home,
	})
}

// demo is a guided run. Its steps print what they do and fail where the
// product does not keep a promise.
type demo struct {
	*program
	*archive
	session *lcm.Session
	dir     string
	kept    bool
	steps   int
}

func (d *demo) step(title string) {
	d.steps++
	d.printf("%s\n", d.paint(bold, fmt.Sprintf("%d. %s", d.steps, title)))
}

func (d *demo) say(format string, args ...any) { d.printf("   "+format+"\n", args...) }

// replay appends the session as an agent would, asking for the context before
// each answer of the model.
func (d *demo) replay(ctx context.Context) error {
	messages := sample.Messages()
	d.printf("%s\n", d.paint(bold, "lcm: an agent's memory that forgets nothing and still fits its window"))
	d.printf("\n")
	d.step("A session outgrows its context window")
	d.say("A bundled coding session, replayed message by message. The model may see")
	d.say("%s tokens. Whenever the view comes near that, older messages are folded", prose.Number(demoBudget))
	d.say("into summaries; the messages themselves are kept.")
	d.printf("\n")
	t := newTable("   AT MESSAGE", ">VIEW BEFORE", ">AFTER", ">LEAVES", ">CONDENSED")
	largest, asked := 0, []time.Duration{}
	begun := time.Now()
	for i, m := range messages {
		if m.Role == llms.RoleAssistant {
			at := time.Now()
			view, err := d.session.Context(ctx, demoBudget)
			if err != nil {
				return err
			}
			asked = append(asked, time.Since(at))
			largest = max(largest, view.Tokens)
			if r := view.Compaction; r != nil && r.Folds() > 0 {
				t.add("   "+prose.Number(i), prose.Number(r.TokensBefore), prose.Number(r.TokensAfter), prose.Number(r.Leaves), prose.Number(r.Condensed))
			}
		}
		if err := d.session.Append(ctx, m); err != nil {
			return err
		}
	}
	elapsed := time.Since(begun)
	d.printTable(t)
	d.printf("\n")
	slices.Sort(asked)
	d.say("%s kept in %.1f s, each one safe on disk before the next.", prose.Count(len(messages), "message", "messages"), elapsed.Seconds())
	d.say("The model was asked %s times and never saw more than %s tokens;", prose.Number(len(asked)), prose.Number(largest))
	d.say("half of its contexts were ready within %.1f ms, summaries included.", float64(asked[len(asked)/2].Microseconds())/1000)
	d.printf("\n")
	return nil
}

// again imports the file of the same session.
func (d *demo) again(ctx context.Context) error {
	d.step("What is known is not stored twice")
	file := filepath.Join(d.dir, "session.jsonl")
	if err := os.WriteFile(file, sample.JSONL(), 0o600); err != nil {
		return err
	}
	src, err := openSource(ctx, d.program, file)
	if err != nil {
		return err
	}
	defer src.close()
	plan, err := surveySource(ctx, src, d.newBar(""))
	if err != nil {
		return err
	}
	r, err := (&importCommand{program: d.program}).store(ctx, d.archive, src, plan, "demo")
	if err != nil {
		return err
	}
	d.say("lcm import session.jsonl: %s read, %s new, %s known.", prose.Number(r.Read), prose.Number(r.New), prose.Number(r.Known))
	d.printf("\n")
	return nil
}

func (d *demo) tree(ctx context.Context) error {
	c, err := d.session.Conversation(ctx)
	if err != nil {
		return err
	}
	d.step("The summaries form a DAG over the messages")
	drawing := treeDrawing{program: d.program, reader: d.db, narrow: true}
	roots, _, err := drawing.build(ctx, c.ID)
	if err != nil {
		return err
	}
	prune(roots, 2)
	drawing.draw(roots, "   ")
	d.printf("\n")
	return nil
}

// prune takes what is deeper than a few levels out of a drawing.
func prune(trees []*treeNode, levels int) {
	for _, t := range trees {
		if levels == 1 && len(t.Sources) > 0 && t.Sources[0].Summary != nil {
			t.Sources = []*treeNode{{drawn: prose.Count(len(t.Sources), "source", "sources") + " …"}}
		}
		prune(t.Sources, levels-1)
	}
}

func (d *demo) view(ctx context.Context) error {
	c, err := d.session.Conversation(ctx)
	if err != nil {
		return err
	}
	view, err := d.session.Context(ctx, demoBudget)
	if err != nil {
		return err
	}
	d.step("What the model sees now")
	shown := 0
	for _, it := range view.Items {
		if it.IsSummary() {
			shown += it.Tokens
		}
	}
	t := newTable("", ">", "")
	t.add("   the history", prose.Number(c.Tokens), fmt.Sprintf("tokens, %s messages", prose.Number(c.Messages)))
	t.add("   the context", prose.Number(view.Tokens), fmt.Sprintf("tokens, %s items", prose.Number(len(view.Items))))
	t.add("     summaries", prose.Number(shown), "tokens")
	t.add("     fresh messages", prose.Number(view.Tokens-shown), "tokens, word for word")
	d.printTable(t)
	if view.Tokens > demoBudget {
		return fmt.Errorf("the context has %d tokens, the budget is %d", view.Tokens, demoBudget)
	}
	d.printf("\n")
	return nil
}

func (d *demo) prove(ctx context.Context) error {
	d.step("Proof")
	r, err := d.verify(ctx, choice{}, true)
	if err != nil {
		return err
	}
	if !r.Sound {
		return errors.New("verification found faults")
	}
	d.say("lcm verify: every message matches the SHA-256 taken when it arrived, the hash")
	d.say("chain holds, and the view leads to each message exactly once.")
	d.say("%s, %s, %s bytes: %s", prose.Count(r.Messages, "message", "messages"), prose.Count(r.Summaries, "summary", "summaries"), prose.Number(r.Bytes), d.paint(green, "ok"))
	d.say("digest %s", r.Digest)
	d.printf("\n")
	return nil
}

func (d *demo) farewell() {
	d.printf("%s\n", d.paint(bold, "Next"))
	db := ""
	if d.kept {
		db = " --db " + d.db.Path()
		d.say("lcm%s tree", db)
		d.say("lcm%s context --budget %d", db, demoBudget)
		d.say("lcm%s show 1 --newest --limit 5", db)
	}
	d.say("lcm import FILE               keep a transcript of your own")
	d.say("lcm context --budget 32000    what a model would see of it")
	d.say("lcm bench retention           what summaries keep, beside truncation")
	d.say("lcm --help                    everything else")
}

// quote indents a text as a quotation of a few lines.
func quote(text string, lines, width int) []string {
	var out []string
	for line := range strings.Lines(text) {
		if len(out) == lines {
			out = append(out, "…")
			break
		}
		out = append(out, clip(safetext.Line(strings.TrimRight(line, "\r\n")), width))
	}
	return out
}
