package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// topics are the words that the embedder of these tests knows, by meaning.
var topics = []string{"accident crash collision", "boat ship vessel", "bread loaf bakery", "weather rain storm"}

// topicEmbedder has one dimension for each topic. It keeps the texts that it gets.
type topicEmbedder struct {
	mu    sync.Mutex
	texts []string
	calls int
	fail  error
	hang  bool
}

func (e *topicEmbedder) Name() string { return "test/topics" }

func (e *topicEmbedder) Embed(ctx context.Context, texts []string) (llms.Embeddings, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	if e.hang {
		<-ctx.Done()
		return llms.Embeddings{}, ctx.Err()
	}
	if e.fail != nil {
		return llms.Embeddings{}, e.fail
	}
	e.texts = append(e.texts, texts...)
	out := llms.Embeddings{}
	for _, text := range texts {
		v := make([]float32, len(topics)+1)
		v[len(topics)] = 0.2
		for i, words := range topics {
			for word := range strings.FieldsSeq(words) {
				if strings.Contains(strings.ToLower(text), word) {
					v[i] = 1
				}
			}
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out, nil
}

// harbour has 70 messages about the harbour. Message 20 is about a crash.
func harbour(t *testing.T) (*fixture, store.ConversationID, []store.MessageID) {
	t.Helper()
	f := newFixture(t)
	c := f.open("harbour")
	var ms []llms.Message
	for i := range 70 {
		text := fmt.Sprintf("The harbour log of day %d: the harbour was quiet and the bread from the bakery came late.", i)
		switch {
		case i > 20:
			text += strings.Repeat(" The tide came in and went out, and the gulls sat on the posts.", 4)
		case i == 20:
			text = "The harbour log of day 20: a collision at the pier, nobody was hurt, and much was written about it in the papers of the town."
		}
		ms = append(ms, llms.User(text))
	}
	return f, c, f.say(c, ms...)
}

const aboutTheCrash = "harbour accident"

// with returns the fixture's record with a reranker.
func (f *fixture) with(e llms.Embedder, timeout time.Duration) *fixture {
	f.t.Helper()
	g := *f
	var err error
	if g.Service, err = lookup.New(f.db, lookup.WithReranker(lookup.NewReranker(e, f.db, timeout))); err != nil {
		f.t.Fatal(err)
	}
	return &g
}

func (f *fixture) ask(pattern string, c store.ConversationID, limit int, cursor string) (recall.GrepAnswer, []string) {
	f.t.Helper()
	a, err := f.Grep(f.t.Context(), recall.GrepRequest{
		Pattern: pattern, Mode: store.FullText, Kinds: recall.InMessages, Where: recall.Where{ConversationID: c}, Limit: limit, Cursor: cursor,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, m := range a.Matches {
		ids = append(ids, m.ID.String())
	}
	return a, ids
}

// A message that says it in other words moves up.
func TestMeaningOrdersTheFirstMatches(t *testing.T) {
	f, c, ids := harbour(t)
	crash := ids[20].String()
	_, words := f.ask(aboutTheCrash, c, 70, "")
	before := slices.Index(words, crash)
	a, meant := f.with(&topicEmbedder{}, time.Minute).ask(aboutTheCrash, c, 70, "")
	after := slices.Index(meant, crash)
	if before < 5 || after != 0 {
		t.Errorf("the crash was match %d by words, and is match %d by meaning", before, after)
	}
	if len(meant) != 70 || len(a.Notes) > 0 {
		t.Errorf("%d matches, notes %q", len(meant), a.Notes)
	}
	for i := 1; i < len(a.Matches); i++ {
		if a.Matches[i].Score > a.Matches[i-1].Score || a.Matches[i].Score < 0 {
			t.Errorf("match %d has the score %g after %g", i, a.Matches[i].Score, a.Matches[i-1].Score)
		}
	}
	slices.Sort(words)
	slices.Sort(meant)
	if !slices.Equal(words, meant) {
		t.Error("by meaning other messages were found than by words")
	}
}

// Pages of a question that was ordered by meaning have every match once.
func TestMeaningPages(t *testing.T) {
	f, c, _ := harbour(t)
	f = f.with(&topicEmbedder{}, time.Minute)
	_, whole := f.ask(aboutTheCrash, c, 70, "")
	var paged []string
	cursor := ""
	for range 20 {
		a, ids := f.ask(aboutTheCrash, c, 7, cursor)
		paged = append(paged, ids...)
		if cursor = a.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, whole) {
		t.Errorf("pages:\n%v\nat once:\n%v", paged, whole)
	}
}

// A cursor keeps the order of its first page, or is refused: the matches in
// between would be lost.
func TestMeaningDoesNotChangeBetweenPages(t *testing.T) {
	f, c, _ := harbour(t)
	e := &topicEmbedder{}
	first, _ := f.with(e, time.Minute).ask(aboutTheCrash, c, 7, "")
	e.fail = errors.New("the server is away")
	_, err := f.with(e, time.Minute).Grep(t.Context(), recall.GrepRequest{
		Pattern: aboutTheCrash, Mode: store.FullText, Kinds: recall.InMessages, Where: recall.Where{ConversationID: c}, Limit: 7, Cursor: first.NextCursor,
	})
	if !errors.Is(err, recall.ErrRefused) || !strings.Contains(err.Error(), "the server is away") {
		t.Errorf("a page after one by meaning: %v", err)
	}
	byWords, one := f.with(e, time.Minute).ask(aboutTheCrash, c, 7, "")
	e.fail = nil
	_, two := f.with(e, time.Minute).ask(aboutTheCrash, c, 7, byWords.NextCursor)
	_, whole := f.ask(aboutTheCrash, c, 14, "")
	if got := append(one, two...); !slices.Equal(got, whole) {
		t.Errorf("pages by words: %v, want %v", got, whole)
	}
}

// Questions for exact words keep the order of the words, and send nothing.
func TestMeaningLeavesExactQuestionsAlone(t *testing.T) {
	f, c, _ := harbour(t)
	e := &topicEmbedder{}
	g := f.with(e, time.Minute)
	for _, pattern := range []string{
		"harbour", "zeppelin quartz", "harbour invoice_rows_7", "harbour src/main.go", "harbour 3f9a1c7", "the subProcess of the harbour", `"harbour log"`, "+harbour accident", "harbour -bread", "harb* accident",
	} {
		_, want := f.ask(pattern, c, 70, "")
		if _, got := g.ask(pattern, c, 70, ""); !slices.Equal(got, want) {
			t.Errorf("%s: the order changed", pattern)
		}
	}
	for _, r := range []recall.GrepRequest{
		{Pattern: "harbour log", Mode: store.Regex},
		{Pattern: aboutTheCrash, Mode: store.FullText, Sort: store.ByRecency},
		{Pattern: aboutTheCrash, Mode: store.FullText, Kinds: recall.InSummaries},
	} {
		r.ConversationID = c
		if _, err := g.Grep(t.Context(), r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if e.calls != 0 {
		t.Errorf("the model was called %d times with %q", e.calls, e.texts)
	}
}

// Where the model is away or slow, the order of the words comes, with a note; and
// the next search does not wait again.
func TestWithoutTheModelTheWordsAnswer(t *testing.T) {
	f, c, _ := harbour(t)
	_, want := f.ask(aboutTheCrash, c, 70, "")
	for name, e := range map[string]*topicEmbedder{"away": {fail: errors.New("connection refused")}, "no answer within 2s": {hang: true}} {
		g := f.with(e, 2*time.Second)
		for range 2 {
			a, got := g.ask(aboutTheCrash, c, 70, "")
			if !slices.Equal(got, want) {
				t.Errorf("%s: the order is not that of the words", name)
			}
			i := slices.IndexFunc(a.Notes, func(n string) bool { return strings.HasPrefix(n, lookup.WordsOnly) })
			if i < 0 || e.hang && !strings.Contains(a.Notes[i], name) || !e.hang && !strings.Contains(a.Notes[i], "connection refused") {
				t.Errorf("%s: the notes are %q", name, a.Notes)
			}
		}
		if e.calls != 1 {
			t.Errorf("%s: the model was called %d times", name, e.calls)
		}
	}
}

// A text is sent once: its vector is stored. A question is remembered by the
// service.
func TestVectorsAreStored(t *testing.T) {
	f, c, _ := harbour(t)
	e := &topicEmbedder{}
	g := f.with(e, time.Minute)
	_, first := g.ask(aboutTheCrash, c, 70, "")
	sent := len(e.texts)
	if sent != 51 {
		t.Errorf("%d texts were sent for 50 matches and a question", sent)
	}
	if _, again := g.ask(aboutTheCrash, c, 70, ""); len(e.texts) != sent || !slices.Equal(again, first) {
		t.Errorf("the same search sent %d texts more", len(e.texts)-sent)
	}
	e.texts = nil
	if _, again := f.with(e, time.Minute).ask(aboutTheCrash, c, 70, ""); !slices.Equal(e.texts, []string{aboutTheCrash}) || !slices.Equal(again, first) {
		t.Errorf("another process sent %q", e.texts)
	}
}

// Secrets and private blocks are never sent, even if the record has them in the
// open.
func TestSecretsAreNotSent(t *testing.T) {
	f := newFixture(t)
	c := f.open("harbour")
	const token = "ghp_q7Rk2ZpX9vLt5WzB7cNd3YpF6gHjS4uE1oQx"
	f.say(c,
		llms.User("the harbour accident cost us the token "+token+" of the crane"),
		llms.User("the harbour accident <private>was the mayor's fault</private> and we say no more"),
		llms.User("the harbour accident again"))
	e := &topicEmbedder{}
	f.with(e, time.Minute).ask("harbour accident "+"report", c, 10, "")
	all := strings.Join(e.texts, "\n")
	if len(e.texts) != 4 || strings.Contains(all, token) || strings.Contains(all, "mayor") || !strings.Contains(all, "of the crane") {
		t.Errorf("sent:\n%s", all)
	}
}

// town has 190 messages. Most share the word "town" with the question. One is about
// a crash, and neither it nor the messages around it share a word.
func town(t *testing.T) (*fixture, store.ConversationID, store.MessageID) {
	t.Helper()
	f := newFixture(t)
	c := f.open("town")
	var ms []llms.Message
	for i := range 190 {
		text := fmt.Sprintf("Day %d: the bakery of the town sold bread, and in the evening it was quiet.", i)
		switch {
		case i == 40:
			text = "Two lorries had a collision at the bridge, and one driver broke an arm."
		case i > 30 && i < 50:
			text = fmt.Sprintf("Day %d: nothing to report.", i)
		}
		ms = append(ms, llms.User(text))
	}
	return f, c, f.say(c, ms...)[40]
}

const inOtherWords = "was anybody injured during some serious traffic accident near town yesterday morning"

func embedAll(t *testing.T, f *fixture, e llms.Embedder, limits recall.EmbedLimits) recall.EmbedReport {
	t.Helper()
	r, err := lookup.NewReranker(e, f.db, time.Minute).EmbedAll(t.Context(), f.db, limits)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// After all messages were embedded, a question finds one that shares no word with it.
func TestNearestMessagesJoinWeakMatches(t *testing.T) {
	f, c, crash := town(t)
	e := &topicEmbedder{}
	g := f.with(e, time.Minute)
	before, words := g.ask(inOtherWords, c, 190, "")
	if slices.Contains(words, crash.String()) {
		t.Fatal("words find the message")
	}
	r := embedAll(t, f, e, recall.EmbedLimits{})
	if r.Messages != 190 || r.Indexed != 190 || r.Waiting != 0 {
		t.Fatalf("%+v", r)
	}
	a, meant := g.ask(inOtherWords, c, 190, "")
	if meant[0] != crash.String() || !a.Matches[0].Meaning {
		t.Errorf("the crash is match %d of %d", slices.Index(meant, crash.String()), len(meant))
	}
	for _, id := range words {
		if !slices.Contains(meant, id) {
			t.Errorf("%s was found by words, and is lost", id)
		}
	}
	if once := slices.Compact(slices.Sorted(slices.Values(meant))); len(once) != len(meant) {
		t.Errorf("%d matches, %d different", len(meant), len(once))
	}
	joined := 0
	for _, m := range a.Matches {
		if m.Meaning {
			joined++
		}
	}
	if joined == 0 || a.Total != before.Total+joined {
		t.Errorf("%d joined %d, and now %d match", joined, before.Total, a.Total)
	}
	var paged []string
	cursor := ""
	for range 40 {
		page, ids := g.ask(inOtherWords, c, 13, cursor)
		paged = append(paged, ids...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, meant) {
		t.Errorf("pages:\n%v\nat once:\n%v", paged, meant)
	}
	// Words that find the message keep their order, and other conversations have no part.
	if _, strong := g.ask("bakery of the town sold bread", c, 190, ""); slices.Contains(strong, crash.String()) {
		t.Error("a question with the words of its answer finds others")
	}
	other := f.open("other")
	f.say(other, llms.User("Nothing ever happens in this town."))
	if _, ids := g.ask(inOtherWords, other, 10, ""); slices.Contains(ids, crash.String()) {
		t.Error("a question about one conversation finds another's message")
	}
}

// A question that no word answers is answered by meaning alone.
func TestNearestMessagesWithoutWords(t *testing.T) {
	f, c, crash := town(t)
	e := &topicEmbedder{}
	embedAll(t, f, e, recall.EmbedLimits{})
	if _, ids := f.with(e, time.Minute).ask("accident victims", c, 5, ""); len(ids) != 5 || ids[0] != crash.String() {
		t.Errorf("found %v", ids)
	}
	e.fail = errors.New("the server is away")
	a, _ := f.with(e, time.Minute).ask("accident victims", c, 5, "")
	if len(a.Notes) == 0 || !strings.Contains(strings.Join(a.Notes, "\n"), "the server is away") {
		t.Errorf("notes %q", a.Notes)
	}
}

// A run that ends early has stored its vectors; the next one sends only the others.
func TestEmbedAllGoesOn(t *testing.T) {
	f, c, _ := town(t)
	e := &topicEmbedder{}
	first := embedAll(t, f, e, recall.EmbedLimits{Messages: 100})
	if first.Indexed < 100 || first.Indexed > 200 || first.Waiting != 190-first.Indexed {
		t.Fatalf("%+v", first)
	}
	e.fail = errors.New("the server is away")
	if _, err := lookup.NewReranker(e, f.db, 0).EmbedAll(t.Context(), f.db, recall.EmbedLimits{}); !errors.Is(err, e.fail) {
		t.Errorf("a failing model: %v", err)
	}
	e.fail = nil
	second := embedAll(t, f, e, recall.EmbedLimits{})
	if second.Indexed != 190 || second.Waiting != 0 || len(e.texts) != 190 || first.Sent+second.Sent != 190 {
		t.Errorf("%+v then %+v, %d texts", first, second, len(e.texts))
	}
	f.say(c, llms.User("One more message about the rain."))
	if third := embedAll(t, f, e, recall.EmbedLimits{}); third.Messages != 1 || third.Sent != 1 || third.Indexed != 191 {
		t.Errorf("one new message: %+v", third)
	}
	if last := embedAll(t, f, e, recall.EmbedLimits{Until: time.Now().Add(-time.Second)}); last.Sent != 0 {
		t.Errorf("after its time: %+v", last)
	}
}

// Secrets and private blocks are not sent.
func TestEmbedAllSendsNoSecrets(t *testing.T) {
	f := newFixture(t)
	f.say(f.open("k"), llms.User("the key is sk-ant-api03-"+strings.Repeat("aB3dE5fG7h", 9)+"AA and <private>my salary</private> rests"))
	e := &topicEmbedder{}
	embedAll(t, f, e, recall.EmbedLimits{})
	if len(e.texts) != 1 || strings.Contains(e.texts[0], "aB3dE5") || strings.Contains(e.texts[0], "salary") {
		t.Errorf("sent: %q", e.texts)
	}
}

// refusingEmbedder refuses texts with a word.
type refusingEmbedder struct {
	topicEmbedder
	word string
}

func (e *refusingEmbedder) Embed(ctx context.Context, texts []string) (llms.Embeddings, error) {
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, e.word) }) {
		return llms.Embeddings{}, &llms.Error{Class: llms.ClassInvalid, Message: "too long"}
	}
	return e.topicEmbedder.Embed(ctx, texts)
}

// One text that the model refuses keeps no other out; a model that refuses all fails.
func TestEmbedAllPassesOverRefusedTexts(t *testing.T) {
	f, _, _ := town(t)
	if r := embedAll(t, f, &refusingEmbedder{word: "lorries"}, recall.EmbedLimits{}); r.Refused != 1 || r.Indexed != 189 || r.Waiting != 0 {
		t.Errorf("%+v", r)
	}
	g, _, _ := town(t)
	if _, err := lookup.NewReranker(&refusingEmbedder{word: "e"}, g.db, 0).EmbedAll(t.Context(), g.db, recall.EmbedLimits{}); err == nil {
		t.Error("a model that refuses every text is no failure")
	}
}
