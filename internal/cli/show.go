package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
	"github.com/lossless-context/lcm/llms"
)

type messageReport struct {
	ID       string      `json:"id"`
	Seq      int64       `json:"seq"`
	Native   string      `json:"nativeId,omitempty"`
	Role     llms.Role   `json:"role"`
	Time     time.Time   `json:"createdAt"`
	Stored   time.Time   `json:"storedAt"`
	Flags    []string    `json:"flags,omitempty"`
	Tokens   int         `json:"tokens"`
	Bytes    int64       `json:"bytes"`
	SHA256   string      `json:"sha256"`
	Format   llms.Format `json:"format"`
	Encoding string      `json:"encoding"` // of Record: utf-8 or base64
	Record   string      `json:"record"`
	Masked   bool        `json:"masked,omitempty"`  // Record is without the secrets that arrived
	Damaged  string      `json:"damaged,omitempty"` // why Record is the rendered message instead of its record
}

type showCommand struct {
	*program
	choice
	from   int64
	limit  int
	newest bool
	raw    bool
	full   bool
	all    bool
	html   string
	tree   bool
	depth  int

	damaged int // marked parts of the tree
}

func newShow(p *program) *cobra.Command {
	cmd := &showCommand{program: p}
	c := &cobra.Command{
		Use:   "show [N]",
		Short: "Print a conversation; --tree: draw its summaries",
		Args:  cobra.MatchAll(cmd.check, cmd.argument, exclude("raw", "json"), exclude("tree", "raw"), exclude("html", "json")),
		RunE: cmd.runs(toRead, func(ctx context.Context, rec *openRecord) error {
			if cmd.tree {
				return cmd.showTree(ctx, rec)
			}
			if cmd.html != "" {
				return cmd.showHTML(ctx, rec)
			}
			return cmd.showConversation(ctx, rec)
		}),
	}
	cmd.flag(c)
	c.Flags().Int64Var(&cmd.from, "from", 1, "begin at this place in the conversation")
	c.Flags().IntVarP(&cmd.limit, "limit", "n", 50, "at most this many messages, 0 for no limit (piped --raw and --json have none)")
	c.Flags().BoolVar(&cmd.newest, "newest", false, "the newest messages instead of the oldest")
	c.Flags().BoolVar(&cmd.raw, "raw", false, "the records exactly as they arrived")
	c.Flags().BoolVar(&cmd.full, "full", false, "with externalised content in its place")
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "with the bookkeeping records of the agent's program")
	c.Flags().BoolVar(&cmd.tree, "tree", false, "draw the summaries and what they were made from")
	c.Flags().IntVarP(&cmd.depth, "depth", "d", 0, "with --tree: draw this many levels, 0 for all")
	c.Flags().StringVar(&cmd.html, "html", "", "write a page to this file, or pages to a folder of that name")
	return cmd.jsonFlag(c)
}

// showHTML writes the messages of a conversation as a page.
func (cmd *showCommand) showHTML(ctx context.Context, rec *openRecord) error {
	conv, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return err
	}
	return cmd.writePages(ctx, rec, cmd.html, conv, ui.Selection{From: cmd.from, Limit: cmd.limit, All: cmd.all})
}

func (cmd *showCommand) check(c *cobra.Command, _ []string) error {
	switch {
	case cmd.html != "" && (cmd.raw || cmd.full || cmd.newest):
		return wrongUsage(c, errors.New("--html excludes --raw, --full and --newest"))
	case cmd.depth < 0:
		return wrongUsage(c, errors.New("--depth cannot be negative"))
	case cmd.from < 1:
		return wrongUsage(c, errors.New("--from begins at 1"))
	case cmd.limit < 0:
		return wrongUsage(c, errors.New("--limit cannot be negative"))
	}
	if cmd.html != "" && !c.Flags().Changed("limit") {
		cmd.limit = 0
	}
	// Another program would take a first page of records for all of them.
	if (cmd.raw || cmd.json) && !cmd.terminal && !cmd.newest && !c.Flags().Changed("limit") {
		cmd.limit = 0
	}
	return nil
}

func (cmd *showCommand) showConversation(ctx context.Context, rec *openRecord) error {
	c, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return err
	}
	q := store.MessageQuery{Conversation: c.ID, After: cmd.from - 1}
	if cmd.newest && cmd.limit > 0 {
		if q.After, err = cmd.beforeNewest(ctx, rec, q); err != nil {
			return err
		}
	}
	if !cmd.raw {
		cmd.note("conversation %d (%s), %s; times are %s", c.ID, safetext.Line(c.Key), held(c.Messages, c.Erased), prose.Zone(time.Now()))
	}
	last, damaged, shown := q.After, 0, 0
	var hidden []store.MessageID
	for m, err := range rec.db.Messages(ctx, q) {
		if err != nil {
			return err
		}
		if cmd.leavesOut(m) {
			hidden, last = append(hidden, m.ID), m.Seq
			continue
		}
		if cmd.limit > 0 && shown == cmd.limit {
			break
		}
		cmd.printLeftOut(hidden)
		hidden, shown, last = nil, shown+1, m.Seq
		err := cmd.showMessage(ctx, rec, m)
		if errors.Is(err, store.ErrDamaged) {
			damaged++
			text, _ := split(err)
			cmd.warn("%s", safetext.Line(plain(text)))
		} else if err != nil {
			return err
		}
	}
	cmd.printLeftOut(hidden)
	if shown == 0 && len(hidden) == 0 && cmd.from > 1 {
		cmd.note("nothing is at %d: the last message is at %d", cmd.from, c.Messages)
	}
	for range rec.db.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: last, Limit: 1}) {
		cmd.note("%s; go on with: lcm show %d --from %d", upTo(c.Messages-last, c.Erased), c.ID, last+1)
	}
	return damageShown(damaged)
}

// leavesOut reports whether a message is not shown. Those do not count, so that a page is as long
// as was asked for. Nothing but lines of the transcript are its records.
func (cmd *showCommand) leavesOut(m store.Message) bool {
	if cmd.raw {
		return hosts.IsAside(m.Native)
	}
	return m.Flags&store.FlagHidden != 0 && !cmd.all && !cmd.json
}

// beforeNewest returns the place after which the newest messages of a page stand.
func (cmd *showCommand) beforeNewest(ctx context.Context, rec *openRecord, q store.MessageQuery) (after int64, err error) {
	after, q.Newest = q.After, true
	found := 0
	for m, err := range rec.db.Messages(ctx, q) {
		if err != nil {
			return after, err
		}
		if after = m.Seq - 1; cmd.leavesOut(m) {
			continue
		}
		if found++; found == cmd.limit {
			break
		}
	}
	return after, nil
}

// printLeftOut prints a line for the messages left out between two others.
func (cmd *showCommand) printLeftOut(ids []store.MessageID) {
	if len(ids) == 0 || cmd.raw {
		return
	}
	which := ids[0].String()
	if len(ids) > 1 {
		which += " … " + ids[len(ids)-1].String()
	}
	cmd.printf("%s\n\n", cmd.paint(dim, fmt.Sprintf("── %s · %s of bookkeeping (--all)", which, prose.Count(len(ids), "record", "records"))))
}

// showMessage prints a message, or the readable part of it and returns the error.
func (cmd *showCommand) showMessage(ctx context.Context, rec *openRecord, m store.Message) error {
	switch {
	case cmd.json:
		return cmd.showJSON(ctx, rec, m)
	case cmd.raw:
		record, damage := rec.db.Record(ctx, m.ID)
		if record == nil {
			return damage
		}
		return errors.Join(cmd.writeBytes(append(record, '\n')), damage)
	}
	said := m.Body.Render()
	var damage error
	switch {
	case cmd.full:
		if said, damage = lookup.Original(ctx, rec.db, m); damage != nil && !errors.Is(damage, store.ErrDamaged) {
			return damage
		}
	case m.Damaged:
		damage = fmt.Errorf("%s is %w: it is not what arrived", m.ID, store.ErrDamaged)
	}
	head := fmt.Sprintf("%s · %d · %s · %s · %s", m.ID, m.Seq, m.Body.Role, m.Body.Time.Local().Format(time.DateTime),
		prose.Count(m.Tokens, "token", "tokens"))
	if flags := flagNames(m.Flags); len(flags) > 0 {
		head += " · " + strings.Join(flags, ", ")
	}
	if damage != nil {
		head += " · DAMAGED"
	}
	if strings.TrimSpace(said) == "" {
		said = cmd.paint(dim, "(no text; --raw shows the record)")
	} else {
		said = cmd.shown(said)
	}
	cmd.printf("%s\n%s\n\n", cmd.paint(roleStyle(m.Body.Role), "── "+head), said)
	return damage
}

func (cmd *showCommand) showJSON(ctx context.Context, rec *openRecord, m store.Message) error {
	r := messageReport{
		ID: m.ID.String(), Seq: m.Seq, Native: m.Native, Role: m.Body.Role, Time: m.Body.Time, Stored: m.Stored, Flags: flagNames(m.Flags),
		Tokens: m.Tokens, Bytes: m.Size, SHA256: hex.EncodeToString(m.SHA256[:]), Format: m.Format,
	}
	record, err := rec.db.Record(ctx, m.ID)
	if err == nil && m.Damaged {
		err = fmt.Errorf("the body of %s is %w", m.ID, store.ErrDamaged)
	}
	if errors.Is(err, store.ErrDamaged) {
		text, _ := split(err)
		r.Damaged = plain(text)
		r.Record, r.Encoding = encoded([]byte(m.Body.Render()))
		return errors.Join(cmd.encoder().Encode(r), err)
	}
	if err != nil {
		return err
	}
	record, r.Masked = rec.masked(m, record)
	r.Record, r.Encoding = encoded(record)
	return cmd.encoder().Encode(r)
}

var flagWords = []struct {
	flag store.Flag
	word string
}{
	{store.FlagEcho, "echo"}, {store.FlagHostSummary, "host summary"}, {store.FlagSynthetic, "synthetic"},
	{store.FlagDuplicate, "possible duplicate"}, {store.FlagUnknown, "unknown type"}, {store.FlagRedacted, "redacted"}, {store.FlagMasked, "masked"}, {store.FlagHidden, "not in the view"},
}

func flagNames(f store.Flag) []string {
	var names []string
	for _, w := range flagWords {
		if f&w.flag != 0 {
			names = append(names, w.word)
		}
	}
	return names
}
