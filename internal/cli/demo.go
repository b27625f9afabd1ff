package cli

import (
	"bytes"
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
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

// demoBudget is small enough for the bundled session to overflow many times.
const demoBudget = 16_000

func newDemo(p *program) *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch it work on a bundled session",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), p, keep) },
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
	if d.openRecord, err = p.openWith(ctx, cfg, toWrite); err != nil {
		return err
	}
	d.session = d.engine.Session("demo", lcm.WithAgent("demo"), lcm.WithTitle("Parcel tracking"))
	for _, step := range []func(context.Context) error{d.replay, d.again, d.tree, d.view, d.expand, d.prove} {
		if err := step(ctx); err != nil {
			return errors.Join(err, d.close(ctx))
		}
		d.printf("\n")
	}
	if err := errors.Join(d.close(ctx), d.tamper(ctx)); err != nil {
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

// demo is a guided run. Each step fails if the program breaks a promise.
type demo struct {
	*program
	*openRecord
	session *lcm.Session
	dir     string
	kept    bool
	steps   int
}

func (d *demo) step(title string) {
	d.steps++
	d.printf("%s\n", d.paint(bold, fmt.Sprintf("%d. %s", d.steps, title)))
}

// say prints indented lines.
func (d *demo) say(format string, args ...any) {
	d.printf("   %s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n   "))
}

// replay appends the session, and asks for the context before each answer of the model.
func (d *demo) replay(ctx context.Context) error {
	messages := sample.Messages()
	d.printf("%s\n\n", d.paint(bold, "lcm: an agent's memory that forgets nothing and still fits its window"))
	d.step("A session outgrows its context window")
	d.say(`A bundled coding session, replayed message by message. The model may see
%s tokens. Whenever the view comes near that, older messages are folded
into summaries; the messages themselves are kept.`, prose.Number(demoBudget))
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
	d.say(`%s kept in %.1f s, each one safe on disk before the next.
The model was asked %s times and never saw more than %s tokens;
half of its contexts were ready within %.1f ms, summaries included.`, prose.Count(len(messages), "message", "messages"), elapsed.Seconds(),
		prose.Number(len(asked)), prose.Number(largest), float64(asked[len(asked)/2].Microseconds())/1000)
	return nil
}

// again imports the file of the same session.
func (d *demo) again(ctx context.Context) error {
	d.step("What is known is not stored twice")
	file := filepath.Join(d.dir, "session.jsonl")
	if err := os.WriteFile(file, sample.JSONL(), 0o600); err != nil {
		return err
	}
	in, err := d.readMessages(ctx, file)
	if err != nil {
		return err
	}
	r, err := d.storeMessages(ctx, d.session, in, d.newBar(""))
	if err != nil {
		return err
	}
	d.say("lcm import session.jsonl: %s read, %s new, %s known.", prose.Number(r.Read), prose.Number(r.New), prose.Number(r.Known))
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
	return nil
}

// prune removes the levels of a drawing below the given number.
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
	d.say(`lcm verify: every message matches the SHA-256 taken when it arrived, the hash
chain holds, and the view leads to each message exactly once.
%s, %s, %s bytes: %s
digest %s`, prose.Count(r.Messages, "message", "messages"), prose.Count(r.Summaries, "summary", "summaries"), prose.Number(r.Bytes), d.paint(green, "ok"), r.Digest)
	return nil
}

func (d *demo) farewell() {
	d.printf("%s\n", d.paint(bold, "Next"))
	if d.kept {
		db := "lcm --db " + d.db.Path()
		d.say("%s tree\n%s context --budget %d\n%s show 1 --newest --limit 5", db, db, demoBudget, db)
	}
	d.say(`lcm import FILE               keep a transcript of your own
lcm context --budget 32000    what a model would see of it
lcm --help                    everything else`)
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

// expand compares the messages below the deepest summary with the file they came from.
func (d *demo) expand(ctx context.Context) error {
	c, err := d.session.Conversation(ctx)
	if err != nil {
		return err
	}
	top, err := d.deepest(ctx, c.ID)
	if err != nil {
		return err
	}
	d.step("From a summary back to the exact words")
	d.say("%s covers %s (%s tokens in place of %s):", top.ID, prose.Count(top.Messages, "message", "messages"),
		prose.Number(top.Tokens), prose.Number(top.MessageTokens))
	for _, line := range quote(top.Body, 4, 72) {
		d.say("  %s", d.paint(dim, "│ "+line))
	}
	ids, err := d.descend(ctx, store.Node{Summary: top.ID}, nil)
	if err != nil {
		return err
	}
	lines := bytes.Split(sample.JSONL(), []byte("\n"))
	bytesRead := 0
	for _, id := range ids {
		record, err := d.db.Record(ctx, id)
		if err != nil {
			return err
		}
		// A message's number is its line: the conversation is the first one.
		if !bytes.Equal(record, lines[id-1]) {
			return fmt.Errorf("%s is not what was imported", id)
		}
		bytesRead += len(record)
	}
	d.say("Expanded, its first messages are:")
	shown := 0
	for m, err := range d.db.Messages(ctx, store.MessageQuery{IDs: ids[:min(3, len(ids))]}) {
		if err != nil {
			return err
		}
		shown++
		d.say("  %s", clip(fmt.Sprintf("%-7s %-9s %s", m.ID, m.Body.Role, excerpt(m.Body, 56)), 74))
	}
	if len(ids) > shown {
		d.say("  … and %s more", prose.Number(len(ids)-shown))
	}
	d.say("All %s records, %s bytes, equal the original file byte for byte: %s", prose.Number(len(ids)), prose.Number(bytesRead), d.paint(green, "ok"))
	return nil
}

func (d *demo) deepest(ctx context.Context, id store.ConversationID) (store.Summary, error) {
	view, err := d.db.View(ctx, id, store.Window{})
	if err != nil {
		return store.Summary{}, err
	}
	var best store.Item
	for _, it := range view.Items {
		if it.IsSummary() && (best.Summary == "" || it.Depth > best.Depth) {
			best = it
		}
	}
	if best.Summary == "" {
		return store.Summary{}, errors.New("nothing was folded")
	}
	return store.First(d.db.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{best.Summary}}))
}

// descend lists the messages beneath a node.
func (d *demo) descend(ctx context.Context, n store.Node, ids []store.MessageID) ([]store.MessageID, error) {
	if !n.IsSummary() {
		return append(ids, n.Message), nil
	}
	sources, err := d.db.Sources(ctx, n.Summary)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if ids, err = d.descend(ctx, s, ids); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// tamper changes one byte in a copy of the closed database, and verifies the copy.
func (d *demo) tamper(ctx context.Context) error {
	const said, forged = "11,842 requests", "11,843 requests"
	d.step("One byte changed behind its back")
	data, err := os.ReadFile(d.db.Path())
	if err != nil {
		return err
	}
	record := bytes.Split(sample.JSONL(), []byte("\n"))[1]
	at := bytes.Index(data, record)
	if at < 0 || !bytes.Contains(record, []byte(said)) {
		return errors.New("the second message is not in the database file as it was imported")
	}
	copy(data[at+bytes.Index(record, []byte(said)):], forged)
	path := filepath.Join(d.dir, "tampered.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	cfg, err := demoSettings(d.dir, path)
	if err != nil {
		return err
	}
	var r verifyReport
	err = d.useWith(ctx, cfg, toRead, func(rec *openRecord) (err error) {
		r, err = rec.verify(ctx, choice{}, true)
		return err
	})
	if err != nil {
		return err
	}
	if r.Sound {
		return errors.New("verification did not notice a changed byte")
	}
	d.say("In a copy of the file, %q became %q.", said, forged)
	for _, f := range r.Conversations[0].Faults {
		d.say("%s", d.paint(red, f.Node+": "+f.Detail))
	}
	d.printf("\n")
	return nil
}
