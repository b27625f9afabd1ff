package cli

import (
	"context"
	"encoding/hex"

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
			v, err := cmd.verify(ctx, rec)
			switch {
			case damaged(err):
				return advise(exitFaults, beyondReading, err)
			case err != nil:
				return err
			}
			err = cmd.print(ctx, rec, v)
			if more, e := rec.db.Conversations(ctx, store.ConversationQuery{Limit: 2}); e == nil && !cmd.all && cmd.number == 0 && len(more) > 1 {
				cmd.note("this was the newest conversation of the project; `lcm verify --all` proves every one")
			}
			return err
		}),
	}
	cmd.flag(c)
	c.Flags().BoolVarP(&cmd.all, "all", "a", false, "every conversation")
	return cmd.jsonFlag(c)
}

func (cmd *verifyCommand) verify(ctx context.Context, rec *openRecord) (lcm.StoreVerification, error) {
	if cmd.all {
		return rec.engine.Verify(ctx)
	}
	c, err := rec.pick(ctx, cmd.choice)
	if err != nil {
		return lcm.StoreVerification{}, err
	}
	one, err := rec.db.Verify(ctx, c.ID)
	if err != nil {
		return lcm.StoreVerification{}, err
	}
	orphans, err := rec.db.Orphans(ctx)
	return lcm.StoreVerification{
		Conversations: []store.Verification{one}, Messages: one.Messages, Summaries: one.Summaries, Bytes: one.Bytes, Digest: one.Digest, Faults: orphans,
	}, err
}

func (cmd *verifyCommand) print(ctx context.Context, rec *openRecord, v lcm.StoreVerification) error {
	r := verifyReport{Sound: v.Sound(), Conversations: []verifiedConversation{}, Faults: v.Faults, Messages: v.Messages, Summaries: v.Summaries, Bytes: v.Bytes}
	faults := len(r.Faults)
	for _, one := range v.Conversations {
		c, err := rec.db.Conversation(ctx, one.Conversation)
		if err != nil {
			return err
		}
		verdict, digest := cmd.paint(red, "DAMAGED"), ""
		if len(one.Faults) == 0 { // the digest is of the hashes taken on arrival, not of messages that changed
			verdict, digest = cmd.paint(green, "ok"), hex.EncodeToString(one.Digest[:])
		}
		faults, r.Erased = faults+len(one.Faults), r.Erased+c.Erased
		r.Conversations = append(r.Conversations, verifiedConversation{
			Number: c.ID, Key: c.Key, Messages: one.Messages, Erased: c.Erased, Summaries: one.Summaries, Bytes: one.Bytes, Digest: digest, Faults: list(one.Faults),
		})
		cmd.printf("conversation %d (%s): %s, %s, %s\n", c.ID, clipLeft(safetext.Line(c.Key), 40), verdict,
			held(one.Messages, c.Erased), prose.Count(one.Summaries, "summary", "summaries"))
		cmd.printFaults(one.Faults)
	}
	cmd.printFaults(r.Faults)
	digest := noDigest
	if r.Sound {
		r.Digest = hex.EncodeToString(v.Digest[:])
		digest = "digest " + r.Digest
	}
	err := cmd.result(r, "%s, %s, %s bytes\n%s\n", held(r.Messages, r.Erased), prose.Count(r.Summaries, "summary", "summaries"), prose.Number(r.Bytes), digest)
	if err != nil || faults == 0 {
		return err
	}
	return failed(exitFaults, "`lcm doctor` says what can be done about it; nothing was changed", "verification found %s", prose.Count(faults, "fault", "faults"))
}

func (cmd *verifyCommand) printFaults(faults []store.Fault) {
	for _, f := range faults {
		cmd.printf("  %s  %s: %s\n", cmd.paint(red, safetext.Line(f.Node)), f.Code, safetext.Line(f.Detail))
	}
}

// noDigest stands for the digest of a database with damage.
const noDigest = "no digest: it would be of what arrived, not of what is here"
