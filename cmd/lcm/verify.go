package main

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/store"
)

type verifyReport struct {
	Sound         bool                   `json:"sound"`
	Conversations []verifiedConversation `json:"conversations"`
	Messages      int64                  `json:"messages"`
	Summaries     int64                  `json:"summaries"`
	Bytes         int64                  `json:"bytes"`
	Digest        string                 `json:"digest"`
}

type verifiedConversation struct {
	Number    store.ConversationID `json:"number"`
	Key       string               `json:"key"`
	Messages  int64                `json:"messages"`
	Summaries int64                `json:"summaries"`
	Bytes     int64                `json:"bytes"`
	Digest    string               `json:"digest"`
	Faults    []faultReport        `json:"faults"`
}

type faultReport struct {
	Code   string `json:"code"`
	Node   string `json:"node"`
	Detail string `json:"detail"`
}

func newVerify(a *app) *cobra.Command {
	var ch choice
	var all bool
	c := &cobra.Command{
		Use:   "verify [N]",
		Short: "Prove that nothing is lost or changed",
		Long: `Prove a conversation: every message matches the SHA-256 taken when it arrived,
the hash chain over them holds, and the view leads to each message exactly once,
directly or through summaries (or a kept branch does). Everything that is wrong
is named, and the exit code is then 6.

The digest is the same for the same messages, whatever the database.`,
		Example: "lcm verify\nlcm verify 3\nlcm verify --all --json | jq .digest",
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ch.argument(cmd, args); err != nil {
				return err
			}
			if all && ch.number != 0 {
				return wrongUsage(cmd, errors.New("--all and a conversation exclude each other"))
			}
			ar, err := a.open(cmd.Context(), toRead)
			if err != nil {
				return err
			}
			defer ar.close(cmd.Context())
			r, err := ar.verify(cmd.Context(), ch, all)
			if err != nil {
				return err
			}
			return a.printVerification(r)
		},
	}
	ch.flag(c)
	c.Flags().BoolVarP(&all, "all", "a", false, "every conversation")
	a.jsonFlag(c)
	return c
}

func (ar *archive) verify(ctx context.Context, ch choice, all bool) (verifyReport, error) {
	var v lcm.Verification
	if all {
		var err error
		if v, err = ar.engine.Verify(ctx); err != nil {
			return verifyReport{}, err
		}
	} else {
		c, err := ar.pick(ctx, ch)
		if err != nil {
			return verifyReport{}, err
		}
		one, err := ar.db.Verify(ctx, c.ID)
		if err != nil {
			return verifyReport{}, err
		}
		v = lcm.Verification{
			Conversations: []store.Verification{one}, Messages: one.Messages, Summaries: one.Summaries, Bytes: one.Bytes, Digest: one.Digest,
		}
	}
	return ar.describeVerification(ctx, v)
}

func (ar *archive) describeVerification(ctx context.Context, v lcm.Verification) (verifyReport, error) {
	r := verifyReport{
		Sound: v.Sound(), Conversations: []verifiedConversation{}, Messages: v.Messages, Summaries: v.Summaries, Bytes: v.Bytes,
		Digest: hex.EncodeToString(v.Digest[:]),
	}
	for _, one := range v.Conversations {
		c, err := ar.db.Conversation(ctx, one.Conversation)
		if err != nil {
			return r, err
		}
		vc := verifiedConversation{
			Number: c.ID, Key: c.Key, Messages: one.Messages, Summaries: one.Summaries, Bytes: one.Bytes,
			Digest: hex.EncodeToString(one.Digest[:]), Faults: []faultReport{},
		}
		for _, f := range one.Faults {
			vc.Faults = append(vc.Faults, faultReport(f))
		}
		r.Conversations = append(r.Conversations, vc)
	}
	return r, nil
}

func (a *app) printVerification(r verifyReport) error {
	faults := 0
	for _, c := range r.Conversations {
		faults += len(c.Faults)
	}
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, c := range r.Conversations {
			a.printVerified(c)
		}
		a.printf("%s, %s, %s bytes\n", counted(r.Messages, "message", "messages"), counted(r.Summaries, "summary", "summaries"), number(r.Bytes))
		a.printf("digest %s\n", r.Digest)
	}
	if faults > 0 {
		return failed(exitFaults, "restore these messages from a backup, or keep the database as it is for a closer look; nothing was changed",
			"verification found %s", counted(faults, "fault", "faults"))
	}
	return nil
}

func (a *app) printVerified(c verifiedConversation) {
	verdict := a.paint(green, "ok")
	if len(c.Faults) > 0 {
		verdict = a.paint(red, "DAMAGED")
	}
	a.printf("conversation %d (%s): %s, %s, %s\n", c.Number, clipLeft(neutralLine(c.Key), 40), verdict,
		counted(c.Messages, "message", "messages"), counted(c.Summaries, "summary", "summaries"))
	for _, f := range c.Faults {
		a.printf("  %s  %s: %s\n", a.paint(red, neutralLine(f.Node)), f.Code, neutralLine(f.Detail))
	}
}
