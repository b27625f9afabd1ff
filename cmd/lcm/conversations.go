package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/store"
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
}

func describeConversation(c store.Conversation) conversationReport {
	return conversationReport{
		Number: c.ID, Key: c.Key, Segment: c.Segment, Agent: c.Agent, Title: c.Title, Origin: c.Project.Origin, Root: c.Project.Root,
		Parent: c.Parent, ForkedFrom: c.ForkedFrom, Messages: c.Messages - c.Erased, Erased: c.Erased, Tokens: c.Tokens, Bytes: c.Bytes, Summaries: c.Summaries,
		ViewItems: c.ViewItems, ViewTokens: c.ViewTokens,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ArchivedAt: c.ArchivedAt, ArchiveCause: c.ArchiveCause,
	}
}

func newConversations(a *app) *cobra.Command {
	var all bool
	var limit int
	c := &cobra.Command{
		Use:     "conversations",
		Aliases: []string{"ls"},
		Short:   "List conversations, newest first",
		Long: `List the conversations of the project the shell stands in, newest activity
first. If it has none, all are listed.`,
		Example: "lcm conversations\nlcm conversations --all --limit 0\nlcm conversations --json | jq '.[].key'",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return wrongUsage(cmd, errors.New("--limit cannot be negative"))
			}
			ar, err := a.open(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			defer ar.close(cmd.Context())
			found, err := a.listConversations(cmd.Context(), ar, all, limit)
			if err != nil {
				return err
			}
			return a.printConversations(found)
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "those of every project")
	c.Flags().IntVarP(&limit, "limit", "n", 50, "at most this many, 0 for no limit")
	a.jsonFlag(c)
	return c
}

func (a *app) listConversations(ctx context.Context, ar *archive, all bool, limit int) ([]store.Conversation, error) {
	q := store.ConversationQuery{}
	if limit > 0 {
		q.Limit = limit + 1
	}
	var here store.Project
	if !all {
		var err error
		if here, err = currentProject(); err != nil {
			return nil, err
		}
		q.Project = &here
	}
	found, err := ar.db.Conversations(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && !all {
		q.Project = nil
		if found, err = ar.db.Conversations(ctx, q); err != nil {
			return nil, err
		}
		if len(found) > 0 {
			a.note("the project %s has no conversations; these are all", neutralLine(projectName(here)))
		}
	}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
		a.note("only the newest %s are listed; --limit 0 lists all", number(limit))
	}
	return found, nil
}

func (a *app) printConversations(found []store.Conversation) error {
	if a.json {
		reports := []conversationReport{}
		for _, c := range found {
			reports = append(reports, describeConversation(c))
		}
		return a.printJSON(reports)
	}
	if len(found) == 0 {
		a.note("there are no conversations yet; `lcm import FILE` adds one")
		return nil
	}
	t := newTable(">#", "KEY", "AGENT", "PROJECT", ">MESSAGES", ">TOKENS", ">SUMMARIES", ">VIEW", "LAST ACTIVITY")
	for _, c := range found {
		key := clipLeft(neutralLine(c.Key), 40)
		if !c.Active() {
			key += " (archived)"
		}
		t.add(number(int64(c.ID)), key, orDash(clip(neutralLine(c.Agent), 16)), clipLeft(neutralLine(projectName(c.Project)), 32),
			number(c.Messages-c.Erased), number(c.Tokens), number(c.Summaries), number(c.ViewTokens), stamp(c.UpdatedAt))
	}
	a.printTable(t)
	return nil
}

// clipLeft keeps the end of a text, which is what tells paths apart.
func clipLeft(text string, width int) string {
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	return "…" + string(r[len(r)-width+1:])
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// held counts messages, and says how many of them were erased: their places
// stay.
func held(messages, erased int64) string {
	text := counted(messages-erased, "message", "messages")
	if erased > 0 {
		text += " (" + number(erased) + " erased)"
	}
	return text
}

// upTo counts what is left of a conversation, of which some may be places of
// messages that were erased.
func upTo(left, erased int64) string {
	if erased > 0 {
		return "up to " + number(left) + " more"
	}
	return number(left) + " more"
}
