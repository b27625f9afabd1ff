package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func testConversations(t *testing.T, f *fixture) {
	a := f.conversation(t, "a")
	want(t, "number", a.ID, 1)
	want(t, "segment", a.Segment, 1)
	want(t, "active", a.Active(), true)
	want(t, "the same again", f.conversation(t, "a").ID, a.ID)
	f.now = f.now.Add(time.Hour)
	b := f.conversation(t, "b")
	f.now = f.now.Add(time.Hour)
	f.fill(t, a.ID, 2)
	all := must(f.Conversations(t.Context(), store.ConversationQuery{}))(t)
	want(t, "how many", len(all), 2)
	want(t, "newest activity first", all[0].ID, a.ID)
	want(t, "then the other", all[1].ID, b.ID)
	want(t, "messages", all[0].Messages, 2)
	want(t, "tokens", all[0].Tokens, 20)
	want(t, "view tokens", all[0].ViewTokens, 20)
	if _, err := f.Open(t.Context(), store.NewConversation{}); err == nil {
		t.Error("a conversation without a key was opened")
	}
}

func testOldTranscripts(t *testing.T, f *fixture) {
	live := f.conversation(t, "live")
	f.fill(t, live.ID, 2)
	f.now = f.now.Add(24 * time.Hour)
	imported := f.conversation(t, "imported")
	old := row(llms.RoleUser, "said long ago")
	old.Said = f.now.Add(-1000 * time.Hour)
	f.append(t, imported.ID, old)
	all := must(f.Conversations(t.Context(), store.ConversationQuery{}))(t)
	want(t, "an old transcript is not the newest conversation", all[0].ID, live.ID)
	want(t, "it was active when it was said", all[1].UpdatedAt, f.now.Add(-1000*time.Hour))
	want(t, "and began then", all[1].CreatedAt, f.now.Add(-1000*time.Hour))
}

func testSegments(t *testing.T, f *fixture) {
	first := f.conversation(t, "daily")
	f.fill(t, first.ID, 3)
	want(t, "archive", f.Archive(t.Context(), first.ID, "reset"), nil)
	want(t, "archive twice", f.Archive(t.Context(), first.ID, "second cause"), nil)
	archived := must(f.Conversation(t.Context(), first.ID))(t)
	want(t, "active", archived.Active(), false)
	want(t, "the first cause is kept", archived.ArchiveCause, "reset")
	err := f.Update(t.Context(), first.ID, func(w store.Writer) error { return second(w.Append(t.Context(), row(llms.RoleUser, "too late"))) })
	wantErr(t, "append to an archived conversation", err, store.ErrArchived)
	second := f.conversation(t, "daily")
	want(t, "segment", second.Segment, 2)
	want(t, "messages", second.Messages, 0)
	family := must(f.Conversations(t.Context(), store.ConversationQuery{Key: "daily"}))(t)
	want(t, "family", len(family), 2)
	live := must(f.Conversations(t.Context(), store.ConversationQuery{Key: "daily", ActiveOnly: true}))(t)
	want(t, "live ones", len(live), 1)
}

func testProjects(t *testing.T, f *fixture) {
	for key, p := range map[string]store.Project{
		"clone one": {Origin: "example.com/a", Root: "/one"},
		"clone two": {Origin: "example.com/a", Root: "/two"},
		"other":     {Origin: "example.com/b", Root: "/three"},
		"no git":    {Root: "/four"},
	} {
		must(f.Open(t.Context(), store.NewConversation{Key: key, Project: p}))(t)
	}
	for _, c := range []struct {
		project store.Project
		count   int
	}{
		{store.Project{Origin: "example.com/a", Root: "/elsewhere"}, 2},
		{store.Project{Root: "/four"}, 1},
		{store.Project{Root: "/five"}, 0},
	} {
		found := must(f.Conversations(t.Context(), store.ConversationQuery{Project: &c.project}))(t)
		want(t, "conversations of "+c.project.Origin+c.project.Root, len(found), c.count)
	}
}

func testFork(t *testing.T, f *fixture) {
	origin := f.conversation(t, "origin")
	ids := f.fill(t, origin.ID, 8)
	f.fold(t, origin.ID, 0, 5, "six messages")
	fork := must(f.Fork(t.Context(), origin.ID, ids[3], store.NewConversation{Key: "fork"}))(t)
	want(t, "forked from", fork.ForkedFrom, origin.ID)
	want(t, "forked at", fork.ForkedAt, ids[3])
	want(t, "the fork's view", show(f.view(t, fork.ID)), "msg_1 msg_2 msg_3 msg_4")
	want(t, "the original's view", f.view(t, origin.ID).Count, 3)
	more := f.fill(t, fork.ID, 2)
	f.fold(t, fork.ID, 0, 4, "inherited and own")
	want(t, "the fork goes its own way", f.view(t, fork.ID).Items[1].Message, more[1])
	f.sound(t, fork.ID)
	f.sound(t, origin.ID)
	whole := must(f.Fork(t.Context(), origin.ID, ids[7], store.NewConversation{Key: "whole"}))(t)
	want(t, "a fork of everything shares the summary", f.view(t, whole.ID).Items[0].Summary, f.view(t, origin.ID).Items[0].Summary)
}

func testRewind(t *testing.T, f *fixture) {
	c := f.conversation(t, "rewound")
	ids := f.fill(t, c.ID, 6)
	want(t, "items on the branch", f.rewind(t, c.ID, ids[3]).Items, 2)
	want(t, "view", show(f.view(t, c.ID)), "msg_1 msg_2 msg_3 msg_4")
	want(t, "newest user message", f.view(t, c.ID).LastUser, 3)
	f.fill(t, c.ID, 1)
	want(t, "view", show(f.view(t, c.ID)), "msg_1 msg_2 msg_3 msg_4 msg_7")
	want(t, "nothing is gone", len(f.messages(t, store.MessageQuery{Conversation: c.ID})), 7)
	f.sound(t, c.ID)
	other := f.conversation(t, "other")
	strange := f.fill(t, other.ID, 1)
	err := f.Update(t.Context(), c.ID, func(w store.Writer) error { return second(w.Rewind(t.Context(), strange[0], "somebody else's")) })
	wantErr(t, "rewind to a message of another conversation", err, store.ErrOffBranch)
	f.rewind(t, c.ID, 0)
	want(t, "an empty view", f.view(t, c.ID).Count, 0)
	want(t, "no user message", f.view(t, c.ID).LastUser, 0)
}

func testRestoreBranch(t *testing.T, f *fixture) {
	c := f.conversation(t, "branches")
	ids := f.fill(t, c.ID, 8)
	f.fold(t, c.ID, 4, 6, "five to seven")
	rewind := func(to store.MessageID) {
		f.rewind(t, c.ID, to)
		f.sound(t, c.ID)
	}
	active := func(id store.MessageID) (on bool) {
		f.update(t, c.ID, func(ctx context.Context, w store.Writer) (err error) {
			on, err = w.Active(ctx, id)
			return err
		})
		return on
	}
	rewind(ids[1])
	want(t, "after a rewind", show(f.view(t, c.ID)), "msg_1 msg_2")
	want(t, "a message that was left is active", active(ids[5]), false)
	edit := f.fill(t, c.ID, 2)
	rewind(ids[5]) // inside the summary on the kept branch
	want(t, "the old branch again, up to a message", show(f.view(t, c.ID)), "msg_1 msg_2 msg_3 msg_4 msg_5 msg_6")
	want(t, "it is active", active(ids[5]), true)
	want(t, "the edit is kept", active(edit[1]), false)
	rewind(edit[1])
	want(t, "the edit again", show(f.view(t, c.ID)), "msg_1 msg_2 msg_9 msg_10")
	rewind(ids[7])
	want(t, "all of the old branch", show(f.view(t, c.ID)), "msg_1 msg_2 msg_3 msg_4 msg_5 msg_6 msg_7 msg_8")
	want(t, "nothing is gone", len(f.messages(t, store.MessageQuery{Conversation: c.ID})), 10)
}

func testRewindIntoSummary(t *testing.T, f *fixture) {
	c := f.conversation(t, "deep")
	ids := f.fill(t, c.ID, 10)
	f.fold(t, c.ID, 0, 2, "one to three")
	f.fold(t, c.ID, 1, 3, "four to six")
	top := f.fold(t, c.ID, 0, 1, "one to six")
	want(t, "depth", top.Depth, 1)
	f.rewind(t, c.ID, ids[4])
	view := f.view(t, c.ID)
	want(t, "items", view.Count, 3)
	want(t, "the untouched summary stays", view.Items[0].IsSummary(), true)
	want(t, "the message is the newest", view.Items[2].Message, ids[4])
	for _, s := range f.summaries(t, store.SummaryQuery{IDs: []store.SummaryID{top.ID}}) {
		want(t, "the summary that was taken apart is retired", s.Retired, true)
	}
}
