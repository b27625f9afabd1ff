// Package scopetest tests that nothing leaves a scope. [Fill] writes a record of two
// projects in which every text of one project has a secret of its own: messages, tool
// calls, files and their names, summaries, titles, session keys, agents, directories,
// small values and forks across the border. [World.Leaks] finds those secrets in an
// answer. [World.Refused] lists requests for things of the other project, by kind, and
// [World.Random] makes requests at random.
package scopetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// World is a record of two projects.
type World struct {
	Store   store.Store
	Mine    store.Project // inside of the scope to test
	Foreign store.Project // outside
	// Key is a session of Mine.
	Key string
	// The things of Foreign.
	Conversations []store.ConversationID
	Messages      []store.MessageID
	Erased        []store.MessageID
	Summaries     []store.SummaryID
	Files         []store.PayloadID
	Keys          []string
	Cursors       map[string][]string // by tool
	// Mixed is a conversation of Mine that was forked from Foreign, Blend a summary
	// of it.
	Mixed store.ConversationID
	Blend store.SummaryID
	// Shared is a file that both projects have.
	Shared store.PayloadID

	secrets []string
	ids     []string // of both projects, as tools take them
	numbers []store.ConversationID
}

// secret returns a new word that only Foreign has.
func (w *World) secret(r *rand.Rand) string {
	s := fmt.Sprintf("s3c%012x", r.Uint64()&0xffffffffffff)
	w.secrets = append(w.secrets, s)
	return "qzforeign " + s
}

var secretPattern = regexp.MustCompile(`(?i)s3c[0-9a-f]{12}`)

// Leaks returns the secrets of Foreign that a text has.
func (w *World) Leaks(text string) (found []string) {
	for _, s := range secretPattern.FindAllString(text, -1) {
		if slices.Contains(w.secrets, strings.ToLower(s)) {
			found = append(found, s)
		}
	}
	return found
}

// Fill writes the record of both projects.
func Fill(t testing.TB, db store.Store) *World {
	t.Helper()
	ctx := t.Context()
	r := rand.New(rand.NewPCG(7, 20))
	w := &World{
		Store: db, Mine: store.Project{Origin: "git.example/mine", Root: "/src/mine"}, Key: "mine/1", Cursors: map[string][]string{},
	}
	w.Foreign = store.Project{Origin: "git.example/qzforeign-" + w.word(r), Root: "/src/" + w.word(r)}
	engine, err := lcm.New(db, lcm.WithoutBackground(), lcm.WithLargeContent(500))
	check(t, err)
	shared := strings.Repeat("both projects have this file\n", 300)
	for n := range 3 {
		mine := engine.Session(fmt.Sprintf("mine/%d", n+1), lcm.WithProject(w.Mine), lcm.WithAgent("claude"), lcm.WithTitle("our work"))
		w.fillSession(t, mine, func() string { return "ours" }, shared, "notes.txt")
		key := "theirs/" + w.word(r)
		w.Keys = append(w.Keys, key)
		theirs := engine.Session(key, lcm.WithProject(w.Foreign), lcm.WithAgent(w.word(r)), lcm.WithTitle(w.secret(r)))
		w.fillSession(t, theirs, func() string { return w.secret(r) }, shared, w.word(r)+".txt")
		c, err := theirs.Conversation(ctx)
		check(t, err)
		w.Conversations = append(w.Conversations, c.ID)
		_, err = engine.Compact(ctx, c.ID, lcm.CompactOptions{Budget: 4000, Full: true})
		check(t, err)
		m, err := mine.Conversation(ctx)
		check(t, err)
		_, err = engine.Compact(ctx, m.ID, lcm.CompactOptions{Budget: 4000, Full: true})
		check(t, err)
	}
	w.fork(t, engine, r)
	_, err = db.Put(ctx, "hooks.shown", "theirs", []byte(w.secret(r)), 0, time.Time{})
	check(t, err)
	w.erase(t, engine)
	w.collect(t, engine)
	return w
}

// word returns a secret without spaces, for keys, names and paths.
func (w *World) word(r *rand.Rand) string { return strings.ReplaceAll(w.secret(r), " ", "-") }

// fillSession appends messages of every kind whose words say gives.
func (w *World) fillSession(t testing.TB, s *lcm.Session, say func() string, shared, name string) {
	t.Helper()
	var ms []llms.Message
	for i := range 12 {
		id := fmt.Sprintf("%s-%d", say(), i)
		call := fmt.Sprintf("call %d", i)
		ms = append(ms,
			withID(llms.User("the needle number "+fmt.Sprint(i)+" is "+say()+" and the password is always kept in the drawer"), id),
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
				{Kind: llms.PartText, Text: "I look at the needle: " + say()},
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: call, Name: "cat", Arguments: fmt.Sprintf(`{"path":%q}`, say())}},
			}},
			llms.Result(call, "cat", strings.Repeat("a needle in a file: "+say()+"\n", 3), false),
			llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartText, Text: "Always use " + say() + ". The needle was found."}}},
		)
	}
	ms = append(ms,
		llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "text/plain", Name: name, Data: []byte(shared)}}}},
		llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "text/plain", Name: name, Data: []byte(strings.Repeat("a needle of "+say()+"\n", 400))}}}},
	)
	for i := range ms {
		ms[i].Time = time.Date(2026, 3, 1+i/9, 9, i%60, 0, 0, time.UTC)
	}
	check(t, s.Append(t.Context(), ms...))
}

// fork makes forks over the border in both directions, with summaries of inherited
// messages.
func (w *World) fork(t testing.TB, engine *lcm.Engine, r *rand.Rand) {
	t.Helper()
	ctx := t.Context()
	cross := func(from, key string, to store.Project) store.ConversationID {
		list, err := w.Store.Conversations(ctx, store.ConversationQuery{Key: from, Limit: 1})
		check(t, err)
		var at store.MessageID
		for m, err := range w.Store.Messages(ctx, store.MessageQuery{Conversation: list[0].ID}) {
			check(t, err)
			at = m.ID
		}
		c, err := w.Store.Fork(ctx, list[0].ID, at, store.NewConversation{Key: key, Agent: "claude", Project: to})
		check(t, err)
		return c.ID
	}
	w.Mixed = cross(w.Keys[0], "mine/fork", w.Mine)
	check(t, engine.Session("mine/fork", lcm.WithProject(w.Mine)).Append(ctx, llms.User("the needle after the fork is ours"), llms.User("and another one")))
	v, err := w.Store.View(ctx, w.Mixed, store.Window{})
	check(t, err)
	check(t, w.Store.Update(ctx, w.Mixed, func(wr store.Writer) error {
		s, err := wr.Fold(ctx, store.NewSummary{Over: v.Items[:len(v.Items)-1], Wording: store.Wording{Body: "A needle: " + w.secret(r), Tokens: 9, Level: "normal", Method: "test"}})
		w.Blend = s.ID
		return err
	}))
	away := cross(w.Key, "theirs/fork", w.Foreign)
	check(t, engine.Session("theirs/fork", lcm.WithProject(w.Foreign)).Append(ctx, llms.User("their needle is "+w.secret(r))))
	w.Conversations, w.Keys = append(w.Conversations, away), append(w.Keys, "theirs/fork")
}

// erase erases messages of Foreign.
func (w *World) erase(t testing.TB, engine *lcm.Engine) {
	t.Helper()
	for m, err := range w.Store.Messages(t.Context(), store.MessageQuery{Conversation: w.Conversations[1], Limit: 2}) {
		check(t, err)
		w.Erased = append(w.Erased, m.ID)
	}
	_, err := engine.Erase(t.Context(), store.Erasure{Messages: w.Erased, Cause: "forget"}, nil)
	check(t, err)
}

// collect lists the ids of both projects, and cursors into Foreign.
func (w *World) collect(t testing.TB, engine *lcm.Engine) {
	t.Helper()
	ctx := t.Context()
	list, err := w.Store.Conversations(ctx, store.ConversationQuery{})
	check(t, err)
	for _, c := range list {
		foreign := c.Project == w.Foreign
		w.numbers = append(w.numbers, c.ID)
		for m, err := range w.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			check(t, err)
			files, err := w.Store.Attached(ctx, m.ID)
			check(t, err)
			w.ids = append(w.ids, m.ID.String())
			for _, f := range files {
				w.ids = append(w.ids, string(f))
				holders, err := w.Store.Holders(ctx, f, nil, 100)
				check(t, err)
				if len(holders) > 3 {
					w.Shared = f
				} else if foreign {
					w.Files = append(w.Files, f)
				}
			}
			if foreign {
				w.Messages = append(w.Messages, m.ID)
			}
		}
		for s, err := range w.Store.Summaries(ctx, store.SummaryQuery{Conversation: c.ID}) {
			check(t, err)
			w.ids = append(w.ids, string(s.ID))
			if foreign {
				w.Summaries = append(w.Summaries, s.ID)
			}
		}
	}
	for _, id := range w.Erased {
		w.ids = append(w.ids, id.String())
	}
	if len(w.Files) < 3 || len(w.Summaries) < 3 || w.Shared == "" {
		t.Fatalf("the record is too small: %d files, %d summaries, shared %q", len(w.Files), len(w.Summaries), w.Shared)
	}
	w.collectCursors(t, engine)
}

func (w *World) collectCursors(t testing.TB, engine *lcm.Engine) {
	t.Helper()
	for _, mode := range []recall.Mode{recall.Regex, recall.FullText} {
		for _, where := range []recall.Where{{AllConversations: true}, {ConversationID: w.Conversations[0]}} {
			a, err := engine.Grep(t.Context(), recall.GrepRequest{Pattern: "needle", Mode: mode, Where: where, Limit: 3})
			check(t, err)
			w.Cursors[lcm.GrepName] = append(w.Cursors[lcm.GrepName], a.NextCursor)
		}
	}
	for _, id := range []store.ID{{Payload: w.Files[0]}, {Summary: w.Summaries[0]}, {Message: w.Messages[len(w.Messages)-1]}} {
		a, err := engine.Describe(t.Context(), recall.DescribeRequest{ID: id, Where: recall.Where{AllConversations: true}, MaxTokens: 20})
		check(t, err)
		if a.NextCursor != "" {
			w.Cursors[lcm.DescribeName] = append(w.Cursors[lcm.DescribeName], a.NextCursor)
		}
	}
	if len(w.Cursors[lcm.DescribeName]) == 0 || slices.Contains(w.Cursors[lcm.GrepName], "") {
		t.Fatalf("no cursors: %v", w.Cursors)
	}
}

func withID(m llms.Message, id string) llms.Message {
	m.ID = id
	return m
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns all that a store shows of a payload.
func Read(ctx context.Context, s store.Store, id store.PayloadID) (string, error) {
	p, err := s.Payload(ctx, id)
	if err != nil {
		return "", err
	}
	b := make([]byte, p.Size)
	if _, err := p.Content.ReadAt(b, 0); err != nil && len(b) == 0 {
		return "", err
	}
	p.Content = nil
	return fmt.Sprintf("%+v %s", p, b), nil
}
