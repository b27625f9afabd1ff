package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/sample"
	"github.com/lossless-context/lcm/internal/store"
)

// expand climbs from the deepest summary of the view down to the messages, and
// compares them with the file they came from.
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
		// The demo's conversation is the first of its database, so a
		// message's number is its line.
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
	d.printf("\n")
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
	for s, err := range d.db.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{best.Summary}}) {
		return s, err
	}
	return store.Summary{}, store.Missing(string(best.Summary))
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

// tamper changes one byte in a copy of the closed database, and has it
// verified.
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
	ar, err := d.openWith(ctx, cfg, toRead)
	if err != nil {
		return err
	}
	r, err := ar.verify(ctx, choice{}, true)
	if err := errors.Join(err, ar.close(ctx)); err != nil {
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
