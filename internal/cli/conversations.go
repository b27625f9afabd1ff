package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

type conversationReport struct {
	Number       store.ConversationID `json:"conversation"`
	Key          string               `json:"key"`
	Segment      int                  `json:"segment"`
	Agent        string               `json:"agent,omitempty"`
	Title        string               `json:"title,omitempty"`
	Origin       string               `json:"origin,omitempty"`
	Root         string               `json:"root,omitempty"`
	Parent       store.ConversationID `json:"parent,omitempty"`
	ForkedFrom   store.ConversationID `json:"forkedFrom,omitempty"`
	Messages     int64                `json:"messages"`
	Erased       int64                `json:"erased,omitempty"`
	Tokens       int64                `json:"tokens"`
	Bytes        int64                `json:"bytes"`
	Summaries    int64                `json:"summaries"`
	ViewItems    int                  `json:"viewItems"`
	ViewTokens   int                  `json:"viewTokens"`
	CreatedAt    time.Time            `json:"createdAt"`
	UpdatedAt    time.Time            `json:"updatedAt"`
	ArchivedAt   time.Time            `json:"archivedAt,omitzero"`
	ArchiveCause string               `json:"archiveCause,omitempty"`
	Damaged      bool                 `json:"damaged,omitempty"`
}

func describeConversation(c store.Conversation) conversationReport {
	return conversationReport{
		Number: c.ID, Key: c.Key, Segment: c.Segment, Agent: c.Agent, Title: c.Title, Origin: c.Project.Origin, Root: c.Project.Root,
		Parent: c.Parent, ForkedFrom: c.ForkedFrom, Messages: c.Messages - c.Erased, Erased: c.Erased, Tokens: c.Tokens, Bytes: c.Bytes, Summaries: c.Summaries,
		ViewItems: c.ViewItems, ViewTokens: c.ViewTokens,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ArchivedAt: c.ArchivedAt, ArchiveCause: c.ArchiveCause, Damaged: c.Damaged,
	}
}

type conversationsCommand struct {
	*program
	all   bool
	limit int
}

func newConversations(p *program) *cobra.Command {
	cmd := &conversationsCommand{program: p}
	c := &cobra.Command{
		Use:   "conversations",
		Short: "List conversations, newest first",
		Args:  cobra.MatchAll(usage(cobra.NoArgs), refuse(func() bool { return cmd.limit < 0 }, "--limit cannot be negative")),
		RunE:  cmd.runs(toRead, cmd.list),
	}
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "those of every project")
	c.Flags().IntVarP(&cmd.limit, "limit", "n", 50, "at most this many, 0 for no limit")
	return cmd.jsonFlag(c)
}

func (cmd *conversationsCommand) find(ctx context.Context, rec *openRecord) ([]store.Conversation, error) {
	q := store.ConversationQuery{}
	if cmd.limit > 0 {
		q.Limit = cmd.limit + 1
	}
	here, err := currentProject()
	if err != nil && !cmd.all {
		return nil, err
	}
	if !cmd.all {
		q.Project = &here
	}
	found, err := rec.db.Conversations(ctx, q)
	if err == nil && len(found) == 0 && !cmd.all {
		q.Project = nil
		if found, err = rec.db.Conversations(ctx, q); len(found) > 0 {
			cmd.note("the project %s has no conversations; these are all", safetext.Line(projectName(here)))
		}
	}
	if err != nil {
		return nil, err
	}
	if cmd.limit > 0 && len(found) > cmd.limit {
		found = found[:cmd.limit]
		cmd.note("only the newest %s are listed; --limit 0 lists all", prose.Number(cmd.limit))
	}
	return found, nil
}

func (cmd *conversationsCommand) list(ctx context.Context, rec *openRecord) error {
	found, err := cmd.find(ctx, rec)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		cmd.note("there are no conversations yet; %s", firstImport)
	}
	last := "LAST ACTIVITY (" + prose.Zone(time.Now()) + ")"
	t, room := newTable(">#", "TITLE", "AGENT", "PROJECT", ">MESSAGES", last), mostTitle
	if width := cmd.width(); width > 0 { // what the other columns leave
		room = min(max(width-len(last)-47, leastTitle), mostTitle)
	}
	reports, damaged := make([]conversationReport, len(found)), 0
	for i, c := range found {
		reports[i] = describeConversation(c)
		title, err := titleOf(ctx, rec.db, c)
		if err != nil {
			return err
		}
		if c.Damaged {
			damaged++
			title = "[damaged] " + title
		}
		t.add(prose.Number(int64(c.ID)), clip(title, room), orDash(clip(safetext.Line(c.Agent), 20)), clipLeft(safetext.Line(projectName(c.Project)), 16), prose.Number(c.Messages-c.Erased), stamp(c.UpdatedAt))
	}
	cmd.printTable(t)
	return errors.Join(cmd.emit(reports), damageShown(damaged))
}

// The bounds of a title's width.
const (
	leastTitle = 12
	mostTitle  = 72
)

// titleOf returns the title of a conversation, else its first question, else its key.
func titleOf(ctx context.Context, r store.Reader, c store.Conversation) (string, error) {
	title := safetext.Line(c.Title)
	if title == "" {
		for m, err := range r.Messages(ctx, store.MessageQuery{Conversation: c.ID, Limit: titleLooks, NoRaw: true}) {
			if err != nil && !errors.Is(err, store.ErrDamaged) {
				return "", err
			}
			if err == nil && m.Body.Role == llms.RoleUser && m.Flags&(store.FlagHidden|store.FlagSynthetic|store.FlagEcho) == 0 {
				title = excerpt(m.Body, mostTitle)
				break
			}
		}
	}
	if title == "" {
		title = clipLeft(safetext.Line(c.Key), mostTitle)
	}
	if !c.Active() {
		title = "(archived) " + title
	}
	return title, nil
}

// titleLooks is how many messages are searched for the first question.
const titleLooks = 20

func orDash(s string) string { return cmp.Or(s, "-") }

// held counts messages, and says how many were erased.
func held(messages, erased int64) string {
	text := prose.Count(messages-erased, "message", "messages")
	if erased > 0 {
		text += " (" + prose.Number(erased) + " erased)"
	}
	return text
}

// upTo counts the rest of a conversation: at most so many if messages were erased.
func upTo(left, erased int64) string {
	if erased > 0 {
		return "up to " + prose.Number(left) + " more"
	}
	return prose.Number(left) + " more"
}
