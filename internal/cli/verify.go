package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
)

type verifyReport struct {
	Sound         bool                   `json:"sound"`
	Conversations []verifiedConversation `json:"conversations"`
	Faults        []store.Fault          `json:"faults,omitempty"` // of rows that belong to no conversation
	Messages      int64                  `json:"messages"`         // the erased ones too: their places are proved
	Erased        int64                  `json:"erased,omitempty"` // of them
	Summaries     int64                  `json:"summaries"`
	Bytes         int64                  `json:"bytes"`
	Digest        string                 `json:"digest,omitempty"` // none where there are faults
	unreadable    bool                   // a conversation could not be read at all
}

type verifiedConversation struct {
	Number    store.ConversationID `json:"conversation"`
	Key       string               `json:"key"`
	Messages  int64                `json:"messages"`
	Erased    int64                `json:"erased,omitempty"`
	Summaries int64                `json:"summaries"`
	Bytes     int64                `json:"bytes"`
	Digest    string               `json:"digest,omitempty"`
	Faults    []store.Fault        `json:"faults"`
}

type verifyCommand struct {
	*program
	choice
	all bool
}

func newVerify(p *program) *cobra.Command {
	cmd := &verifyCommand{program: p}
	c := &cobra.Command{
		Use:   "verify [N]",
		Short: "Prove that nothing is lost or changed",
		Args: cobra.MatchAll(cmd.argument, refuse(func() bool { return cmd.all && cmd.number != 0 },
			"--all and a conversation exclude each other")),
		RunE: cmd.runs(toRead, func(ctx context.Context, rec *openRecord) error {
			r, err := rec.verify(ctx, cmd.choice, cmd.all)
			switch {
			case damaged(err):
				return advise(exitDatabase, beyondReading, err)
			case err != nil:
				return err
			}
			return cmd.print(r)
		}),
	}
	cmd.flag(c)
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "every conversation")
	return cmd.jsonFlag(c)
}

func (rec *openRecord) verify(ctx context.Context, ch choice, all bool) (verifyReport, error) {
	if all {
		v, err := rec.engine.Verify(ctx)
		if err == nil {
			return rec.describeVerification(ctx, v)
		}
		list, unlisted := rec.db.Conversations(ctx, store.ConversationQuery{})
		if !damaged(err) || unlisted != nil {
			return verifyReport{}, err
		}
		return rec.salvage(ctx, list)
	}
	c, err := rec.pick(ctx, ch)
	if err != nil {
		return verifyReport{}, err
	}
	one, err := rec.db.Verify(ctx, c.ID)
	switch {
	case damaged(err):
		return rec.salvage(ctx, []store.Conversation{c})
	case err != nil:
		return verifyReport{}, err
	}
	orphans, err := rec.db.Orphans(ctx)
	if err != nil {
		return verifyReport{}, err
	}
	return rec.describeVerification(ctx, lcm.StoreVerification{
		Conversations: []store.Verification{one}, Messages: one.Messages, Summaries: one.Summaries, Bytes: one.Bytes, Digest: one.Digest, Faults: orphans,
	})
}

func (rec *openRecord) describeVerification(ctx context.Context, v lcm.StoreVerification) (verifyReport, error) {
	r := verifyReport{Sound: v.Sound(), Conversations: []verifiedConversation{}, Faults: v.Faults}
	if r.Sound {
		r.Digest = hex.EncodeToString(v.Digest[:])
	}
	for _, one := range v.Conversations {
		c, err := rec.db.Conversation(ctx, one.Conversation)
		if err != nil {
			return r, err
		}
		r.add(describeVerified(c, one))
	}
	return r, nil
}

func (r *verifyReport) add(c verifiedConversation) {
	r.Conversations = append(r.Conversations, c)
	r.Messages += c.Messages
	r.Erased += c.Erased
	r.Summaries += c.Summaries
	r.Bytes += c.Bytes
}

func describeVerified(c store.Conversation, one store.Verification) verifiedConversation {
	v := verifiedConversation{
		Number: c.ID, Key: c.Key, Messages: one.Messages, Erased: c.Erased, Summaries: one.Summaries, Bytes: one.Bytes,
		Faults: list(one.Faults),
	}
	// The digest is of the hashes taken on arrival, not of messages that changed.
	if len(one.Faults) == 0 {
		v.Digest = hex.EncodeToString(one.Digest[:])
	}
	return v
}

// salvage verifies the conversations of a damaged file one by one, and goes on after
// unreadable ones. The whole then has no digest.
func (rec *openRecord) salvage(ctx context.Context, list []store.Conversation) (verifyReport, error) {
	r := verifyReport{Conversations: []verifiedConversation{}, unreadable: true}
	for _, c := range list {
		one, err := rec.db.Verify(ctx, c.ID)
		v := describeVerified(c, one)
		if err != nil {
			v = verifiedConversation{Number: c.ID, Key: c.Key}
			why, _ := split(err)
			v.Messages, v.Bytes = rec.readable(ctx, c)
			v.Faults = []store.Fault{{Code: "unreadable", Node: fmt.Sprintf("conversation %d", c.ID), Detail: fmt.Sprintf(
				"%s; %s of %s can be read and match", plain(why), prose.Number(v.Messages), prose.Count(c.Messages-c.Erased, "message", "messages"))}}
		}
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.add(v)
	}
	return r, nil
}

// readable counts the messages whose records match their hashes, and their bytes.
func (rec *openRecord) readable(ctx context.Context, c store.Conversation) (n, size int64) {
	for after := int64(0); after < c.Messages && ctx.Err() == nil; {
		next := after + 1 // skip unreadable messages one by one
		for m, err := range rec.db.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: after, Before: after + 100}) {
			if err != nil {
				break
			}
			next = m.Seq
			record, err := rec.db.Record(ctx, m.ID)
			if err == nil && sha256.Sum256(record) == m.SHA256 {
				n, size = n+1, size+m.Size
			}
		}
		after = next
	}
	return n, size
}

func (cmd *verifyCommand) print(r verifyReport) error {
	faults := len(r.Faults)
	for _, c := range r.Conversations {
		faults += len(c.Faults)
	}
	for _, c := range r.Conversations {
		cmd.printVerified(c)
	}
	cmd.printFaults(r.Faults)
	digest := "digest " + r.Digest
	if r.Digest == "" {
		digest = "no digest: it would be of what arrived, not of what is here"
	}
	if err := cmd.result(r, "%s, %s, %s bytes\n%s\n", held(r.Messages, r.Erased), prose.Count(r.Summaries, "summary", "summaries"),
		prose.Number(r.Bytes), digest); err != nil {
		return err
	}
	hint := "restore these messages from a backup, or keep the database as it is for a closer look; nothing was changed"
	if len(r.Faults) > 0 {
		hint = "`lcm doctor` says what can be done about it; nothing was changed"
	}
	if r.unreadable {
		hint = beyondReading
	}
	if faults > 0 {
		return failed(exitFaults, hint, "verification found %s", prose.Count(faults, "fault", "faults"))
	}
	return nil
}

func (cmd *verifyCommand) printVerified(c verifiedConversation) {
	verdict := cmd.paint(green, "ok")
	if len(c.Faults) > 0 {
		verdict = cmd.paint(red, "DAMAGED")
	}
	cmd.printf("conversation %d (%s): %s, %s, %s\n", c.Number, clipLeft(safetext.Line(c.Key), 40), verdict,
		held(c.Messages, c.Erased), prose.Count(c.Summaries, "summary", "summaries"))
	cmd.printFaults(c.Faults)
}

func (cmd *verifyCommand) printFaults(faults []store.Fault) {
	for _, f := range faults {
		cmd.printf("  %s  %s: %s\n", cmd.paint(red, safetext.Line(f.Node)), f.Code, safetext.Line(f.Detail))
	}
}
