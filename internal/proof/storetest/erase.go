package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// erase erases something; it must succeed.
func (f *fixture) erase(t *testing.T, order store.Erasure) store.Erased {
	t.Helper()
	before, done := must(f.Weigh(t.Context(), order))(t), must(f.Erase(t.Context(), order))(t)
	before.Tombstone = done.Tombstone
	want(t, "erased as weighed", fmt.Sprintf("%+v", done), fmt.Sprintf("%+v", before))
	want(t, "scrub", f.Scrub(t.Context()), nil)
	return done
}

// gone fails the test if a search finds a text.
func (f *fixture) gone(t *testing.T, pattern string) {
	t.Helper()
	for _, summaries := range []bool{false, true} {
		found := must(f.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: pattern, Summaries: summaries, Everything: true, Limit: 10}))(t)
		for _, h := range found.Hits {
			t.Errorf("%s still says %q", h.ID, pattern)
		}
	}
}

func testErase(t *testing.T, f *fixture) {
	c := f.conversation(t, "k")
	ids := f.fill(t, c.ID, 10)
	leaf := f.fold(t, c.ID, 0, 3, "says message 2")
	only := f.fold(t, c.ID, 1, 1, "says message 5 alone")
	top := f.fold(t, c.ID, 0, 1, "says what message 2 and 5 said")
	digest := f.sound(t, c.ID).Digest

	done := f.erase(t, store.Erasure{Messages: []store.MessageID{ids[1], ids[4]}, Cause: "forget"})
	want(t, "messages", done.Messages, 2)
	want(t, "bytes", done.Bytes, int64(2*len("message 2")))
	want(t, "unworded", done.Unworded, 2)
	want(t, "summaries gone", done.Summaries, 1)

	after := f.sound(t, c.ID)
	want(t, "messages with their places", after.Messages, 10)
	want(t, "digest", after.Digest, digest)
	f.gone(t, `message [25]\b`)
	want(t, "remaining messages", seqs(f.messages(t, store.MessageQuery{Conversation: c.ID})), "1 3 4 6 7 8 9 10")
	for _, id := range []store.MessageID{ids[1], ids[4]} {
		if _, err := f.Record(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("record of %s: %v", id, err)
		}
		all := f.messages(t, store.MessageQuery{IDs: []store.MessageID{id}, Erased: true})
		want(t, "the place of it", all[0].Flags, store.FlagErased)
	}
	sources, err := f.Sources(t.Context(), leaf.ID)
	if err != nil || len(sources) != 3 {
		t.Errorf("sources of the leaf: %v, %v", sources, err)
	}
	wantErr(t, "a summary of nothing is left", second(f.Sources(t.Context(), only.ID)), store.ErrNotFound)
	unworded, err := f.Unworded(t.Context())
	if err != nil || len(unworded) != 2 || unworded[0].ID != leaf.ID || unworded[1].ID != top.ID {
		t.Fatalf("unworded: %v, %v", unworded, err)
	}
	want(t, "messages under the top", unworded[1].Messages, 3)
	want(t, "depth of the top", unworded[1].Depth, 1)
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error {
		for _, s := range unworded {
			if _, err := w.Reword(ctx, s.ID, wording("anew")); err != nil {
				return err
			}
		}
		return nil
	})
	f.sound(t, c.ID)
	again := f.erase(t, store.Erasure{Messages: ids[1:2]})
	want(t, "a second time", again.Messages, 0)
}

func testEraseRefused(t *testing.T, f *fixture) {
	c := f.conversation(t, "k")
	named, timed, bare := row(llms.RoleUser, "named"), row(llms.RoleUser, "timed"), row(llms.RoleUser, "bare")
	named.Native, timed.Said = "n1", f.now
	ids := idsOf(f.append(t, c.ID, named, timed, bare, row(llms.RoleUser, "kept")))
	done := f.erase(t, store.Erasure{Messages: ids[:3], Cause: "forget"})
	edited := row(llms.RoleUser, "named, but edited")
	edited.Native = "n1"
	other := timed
	other.Said = f.now.Add(time.Second)
	var refused []string
	for i, a := range f.append(t, c.ID, named, edited, timed, other, row(llms.RoleUser, "new")) {
		if a.Forgotten {
			refused = append(refused, fmt.Sprint(i))
		}
	}
	want(t, "refused", strings.Join(refused, " "), "0 1 2")
	print := func(m store.NewMessage) store.Fingerprint {
		return store.Fingerprint{Native: m.Native, Said: m.Said, SHA256: m.SHA256}
	}
	known, err := f.Forgotten(t.Context(), "k", store.Project{}, slices.Values([]store.Fingerprint{
		print(named), print(timed), print(bare), print(row(llms.RoleUser, "kept")), print(bare), print(other),
	}))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "forgotten", fmt.Sprint(known), "[true true true false false false]")
	if known, err = f.Forgotten(t.Context(), "another", store.Project{}, slices.Values([]store.Fingerprint{print(named)})); err != nil || slices.Contains(known, true) {
		t.Errorf("another session: %v, %v", known, err)
	}
	all, err := f.Tombstones(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != done.Tombstone || all[0].Messages != 3 || !all[0].Finished || all[0].Sessions[0].Key != "k" {
		t.Fatalf("tombstones: %+v, %v", all, err)
	}
	want(t, "lift", f.Lift(t.Context(), done.Tombstone), nil)
	want(t, "a lifted tombstone refuses", f.append(t, c.ID, named)[0].Existed, false)
	wantErr(t, "lifting it twice", f.Lift(t.Context(), done.Tombstone), store.ErrNotFound)
}

// testEraseInProject erases the same message, by id, time and content, from a personal
// record and from one with tokens, and asks for it in sessions of three projects.
func testEraseInProject(t *testing.T, f *fixture) {
	long := strings.Repeat("a sentence that others may say too. ", 3)
	for _, c := range []struct {
		name  string
		token bool
		whole bool
		want  string
	}{
		{"personal", false, false, "true true true"},
		{"server", true, false, "true false false"},
		{"server-whole", true, true, "true false false"},
	} {
		if c.token {
			if _, err := f.Put(t.Context(), store.TokenSpace, c.name, []byte("{}"), 0, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		m := row(llms.RoleUser, c.name+": "+long)
		m.Native, m.Said = c.name, f.now
		at := must(f.Open(t.Context(), store.NewConversation{Key: c.name, Project: store.Project{Origin: "github.com/acme/app", Root: "/a"}}))(t)
		order := store.Erasure{Messages: idsOf(f.append(t, at.ID, m)), Cause: "forget"}
		if c.whole {
			order = store.Erasure{Conversations: []store.ConversationID{at.ID}, Cause: "forget"}
		}
		f.erase(t, order)
		f.sound(t, at.ID)
		byID := store.Fingerprint{Native: m.Native, Said: m.Said}
		byContent := store.Fingerprint{Content: func() ([32]byte, bool) { return store.ContentSum(m.Format, m.Role, m.Record) }}
		var byWriter, known, content []string
		for i, p := range []store.Project{{Origin: "github.com/ACME/app", Root: "/elsewhere"}, {Origin: "github.com/acme/other", Root: "/a"}, {}} {
			key := fmt.Sprint(c.name, " ", i)
			in := must(f.Open(t.Context(), store.NewConversation{Key: key, Project: p}))(t)
			byWriter = append(byWriter, fmt.Sprint(f.append(t, in.ID, m)[0].Forgotten))
			refused, err := f.Forgotten(t.Context(), key, p, slices.Values([]store.Fingerprint{byID, byContent}))
			if err != nil {
				t.Fatal(err)
			}
			known, content = append(known, fmt.Sprint(refused[0])), append(content, fmt.Sprint(refused[1]))
		}
		want(t, c.name+": refused by a write", strings.Join(byWriter, " "), c.want)
		want(t, c.name+": refused by id and time", strings.Join(known, " "), c.want)
		want(t, c.name+": refused by content", strings.Join(content, " "), c.want)
	}
}

func testEraseConversation(t *testing.T, f *fixture) {
	other := f.conversation(t, "other")
	f.fill(t, other.ID, 3)
	c := must(f.Open(t.Context(), store.NewConversation{Key: "k", Title: "About message 1", Project: store.Project{Root: "/secret/place"}}))(t)
	f.fill(t, c.ID, 6)
	f.fold(t, c.ID, 0, 3, "the beginning")
	f.now = f.now.Add(time.Hour)
	done := f.erase(t, store.Erasure{Conversations: []store.ConversationID{c.ID}, Cause: "forget"})
	want(t, "conversations", done.Conversations, 1)
	want(t, "messages", done.Messages, 6)
	listed, err := f.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil || len(listed) != 1 || listed[0].ID != other.ID {
		t.Fatalf("listed: %v, %v", listed, err)
	}
	f.sound(t, c.ID)
	f.sound(t, other.ID)
	left, err := f.Conversation(t.Context(), c.ID)
	if err != nil || left.ErasedAt.IsZero() || left.Active() || left.Title != "" || left.Project.Root != "" {
		t.Errorf("the row of an erased conversation is %+v, %v", left, err)
	}
	again := f.conversation(t, "k")
	want(t, "the session's next conversation", again.Segment, 2)
	old, fresh := row(llms.RoleUser, "message 1"), row(llms.RoleUser, "message 7")
	old.Said, fresh.Said = f.now.Add(-time.Hour), f.now.Add(time.Minute)
	got := f.append(t, again.ID, old, fresh)
	want(t, "refuses a message from before and not one from after", fmt.Sprint(got[0].Forgotten, got[1].Forgotten), "true false")
}

func testEraseBranches(t *testing.T, f *fixture) {
	c := f.conversation(t, "k")
	ids := f.fill(t, c.ID, 6)
	f.fold(t, c.ID, 0, 1, "the beginning")
	fork := must(f.Fork(t.Context(), c.ID, ids[3], store.NewConversation{Key: "fork"}))(t)
	f.fill(t, fork.ID, 2)
	f.rewind(t, c.ID, ids[3])
	f.sound(t, c.ID)
	f.sound(t, fork.ID)
	done := f.erase(t, store.Erasure{Messages: []store.MessageID{ids[1], ids[3], ids[4]}, Cause: "forget"})
	want(t, "affected", fmt.Sprint(done.Affected), fmt.Sprint([]store.ConversationID{c.ID, fork.ID}))
	f.sound(t, c.ID)
	f.sound(t, fork.ID)
	f.gone(t, `message [45]$`)
	// The kept branch can be made active again.
	f.rewind(t, c.ID, ids[5])
	f.sound(t, c.ID)
	// Inherited messages do not count as the fork's own.
	known, err := f.Forgotten(t.Context(), "fork", store.Project{}, slices.Values([]store.Fingerprint{
		{Said: f.now.Add(3 * time.Minute), SHA256: row(llms.RoleUser, "message 4").SHA256},
	}))
	if err != nil || len(known) != 1 || !known[0] {
		t.Errorf("the fork does not refuse a message erased from its origin: %v, %v", known, err)
	}
}

func testErasePayloads(t *testing.T, f *fixture) {
	c := f.conversation(t, "k")
	payloads := []store.PayloadID{f.payload(t, c.ID, "shared content"), f.payload(t, c.ID, "content of one")}
	one, two := row(llms.RoleUser, "one"), row(llms.RoleUser, "two")
	one.Native, one.Payloads, two.Payloads = "one", payloads, payloads[:1]
	ids := idsOf(f.append(t, c.ID, one, two))
	done := f.erase(t, store.Erasure{Messages: ids[:1]})
	want(t, "payloads", done.Payloads, 1)
	want(t, "their bytes", done.PayloadBytes, int64(len("content of one")))
	if _, err := f.Payload(t.Context(), payloads[0]); err != nil {
		t.Errorf("the shared payload: %v", err)
	}
	wantErr(t, "the payload of one", second(f.Payload(t.Context(), payloads[1])), store.ErrNotFound)
	// A refused message leaves no payload.
	one.Payloads = []store.PayloadID{f.payload(t, c.ID, "content of one")}
	f.append(t, c.ID, one)
	wantErr(t, "the payload of a refused message", second(f.Payload(t.Context(), payloads[1])), store.ErrNotFound)
}

func testEraseTraces(t *testing.T, f *fixture) {
	c := must(f.Open(t.Context(), store.NewConversation{Key: "k", Title: "The Password is hunter2…"}))(t)
	kept := must(f.Open(t.Context(), store.NewConversation{Key: "kept", Title: "Something else"}))(t)
	f.fill(t, kept.ID, 1)
	partly := must(f.Open(t.Context(), store.NewConversation{Key: "partly", Title: "Task: the gateway  Listens on…"}))(t)
	other := f.append(t, partly.ID, row(llms.RoleUser, "the gateway\nlistens on a port that must stay secret"))[0].ID
	id := f.append(t, c.ID, row(llms.RoleUser, "the password is hunter2 and nobody may know it"))[0].ID
	for key, data := range map[string]string{"quotes": `{"shown":["and nobody may know it"]}`, "matches": "hunter2", "neither": `{"count":3,"path":"/a/b/c/d/e/f"}`} {
		must(f.Put(t.Context(), store.HookShownSpace, key, []byte(data), 0, time.Time{}))(t)
	}
	done := f.erase(t, store.Erasure{Messages: []store.MessageID{id, other}, Quotes: func(text string) bool { return strings.Contains(text, "hunter2") }})
	want(t, "values", done.Values, 2)
	want(t, "titles", done.Titles, 2)
	left, err := f.List(t.Context(), store.HookShownSpace)
	if err != nil || len(left) != 1 || left[0].Key != "neither" {
		t.Errorf("left: %v, %v", left, err)
	}
	if c, err = f.Conversation(t.Context(), c.ID); err != nil || c.Title != "" {
		t.Errorf("title %q, %v", c.Title, err)
	}
	if c, err = f.Conversation(t.Context(), partly.ID); err != nil || c.Title != "" {
		t.Errorf("a title that quotes a part: %q, %v", c.Title, err)
	}
	if c, err = f.Conversation(t.Context(), kept.ID); err != nil || c.Title == "" {
		t.Errorf("title of another conversation %q, %v", c.Title, err)
	}
}

// An erasure by a pattern that every value matches removes values of the spaces with
// text, in every scope, and no other: without its value of the day, a cap on spending
// would begin anew.
func testEraseSpaces(t *testing.T, f *fixture) {
	c := must(f.Open(t.Context(), store.NewConversation{Key: "k"}))(t)
	id := f.append(t, c.ID, row(llms.RoleUser, "the used tokens"))[0].ID
	removed := 0
	for name, space := range store.Spaces {
		if space.Text {
			removed += 2
		}
		for _, name := range []string{name, store.ScopePrefix + "/a/project/" + name} {
			must(f.Put(t.Context(), name, "key", []byte(`{"used":5}`), 0, time.Time{}))(t)
		}
	}
	done := f.erase(t, store.Erasure{Messages: []store.MessageID{id}, Quotes: func(text string) bool { return strings.Contains(text, "used") }})
	want(t, "values", done.Values, removed)
	for name, space := range store.Spaces {
		for _, name := range []string{name, store.ScopePrefix + "/a/project/" + name} {
			if left := must(f.List(t.Context(), name))(t); (len(left) == 1) == space.Text {
				t.Errorf("%s has %d values", name, len(left))
			}
		}
	}
}
