// Package storetest is the test suite that every store must pass. It states the
// contract of package store as behaviour: the results of reads after writes, and the
// calls that the store must refuse.
//
// A backend's test calls Run with a function that opens a fresh store.
package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Open opens an empty store with the given clock, which is closed when the test ends.
type Open func(t *testing.T, clock func() time.Time) store.Store

// Run runs the whole suite. Each test ends with a verification of every
// conversation.
func Run(t *testing.T, open Open) { RunExcept(t, open) }

// RunExcept runs the suite without the named tests, for a store that refuses more than
// the contract does.
func RunExcept(t *testing.T, open Open, except ...string) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"conversations", testConversations},
		{"old transcripts", testOldTranscripts},
		{"archived segments", testSegments},
		{"projects", testProjects},
		{"hostile records", testHostileRecords},
		{"native ids", testNativeIDs},
		{"all or nothing", testAtomic},
		{"hidden messages", testHidden},
		{"windows of a view", testWindows},
		{"the newest user message", testLastUser},
		{"fold", testFold},
		{"folds in one transaction", testFolds},
		{"fold to depth three", testFoldDeep},
		{"stale folds", testStale},
		{"reword", testReword},
		{"stub", testStub},
		{"rewind", testRewind},
		{"rewind into a summary", testRewindIntoSummary},
		{"a branch restored", testRestoreBranch},
		{"fork", testFork},
		{"payloads", testPayloads},
		{"carved records", testCarved},
		{"state", testState},
		{"expiry", testExpiry},
		{"concurrent writers", testConcurrent},
		{"iteration can stop", testStop},
		{"many messages at once", testMany},
		{"search", testSearch},
		{"search finds everything at every moment", testSearchComplete},
		{"search by page", testSearchPages},
		{"search of reworded summaries", testSearchReworded},
		{"erase messages", testErase},
		{"erased messages are refused", testEraseRefused},
		{"an erasure on a team server holds in its project", testEraseInProject},
		{"erase a conversation", testEraseConversation},
		{"erase from branches and forks", testEraseBranches},
		{"erase payloads", testErasePayloads},
		{"erase quotes", testEraseTraces},
		{"erase quotes in every space", testEraseSpaces},
		{"vectors", testVectors},
		{"blocks of vectors", testVectorBlocks},
		{"maps", testMaps},
		{"maps of several processes", testMapsConcurrent},
		{"maps end with an erasure", testEraseMaps},
		{"random operations agree with a model", testModel},
		{"unknown things", testUnknown},
		{"cancellation", testCancel},
	} {
		if slices.Contains(except, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			f := &fixture{now: time.Date(2026, 2, 18, 9, 0, 0, 0, time.UTC)}
			f.Store = open(t, func() time.Time { return f.now })
			test.run(t, f)
			for _, c := range must(f.Conversations(t.Context(), store.ConversationQuery{Erased: true}))(t) {
				f.sound(t, c.ID)
			}
		})
	}
}

// fixture is a store with a clock that the test sets.
type fixture struct {
	store.Store
	now time.Time
}

// conversation opens a conversation under a key.
func (f *fixture) conversation(t *testing.T, key string) store.Conversation {
	t.Helper()
	return must(f.Open(t.Context(), store.NewConversation{Key: key, Agent: "test"}))(t)
}

// update runs fn in a transaction that must succeed.
func (f *fixture) update(t *testing.T, id store.ConversationID, fn func(ctx context.Context, w store.Writer) error) {
	t.Helper()
	if err := f.Update(t.Context(), id, func(w store.Writer) error { return fn(t.Context(), w) }); err != nil {
		t.Fatalf("update of conversation %d: %v", id, err)
	}
}

// append appends messages.
func (f *fixture) append(t *testing.T, id store.ConversationID, ms ...store.NewMessage) (done []store.Appended) {
	t.Helper()
	f.update(t, id, func(ctx context.Context, w store.Writer) (err error) {
		done, err = w.Append(ctx, ms...)
		return err
	})
	return done
}

// payload stores the content of a payload.
func (f *fixture) payload(t *testing.T, id store.ConversationID, data string) (p store.PayloadID) {
	t.Helper()
	f.update(t, id, func(ctx context.Context, w store.Writer) (err error) {
		p, err = w.PutPayload(ctx, store.NewPayload{Data: []byte(data), Kind: "text"})
		return err
	})
	return p
}

// rewind rewinds the view to a message.
func (f *fixture) rewind(t *testing.T, id store.ConversationID, to store.MessageID) (b store.Branch) {
	t.Helper()
	f.update(t, id, func(ctx context.Context, w store.Writer) (err error) {
		b, err = w.Rewind(ctx, to, "test")
		return err
	})
	return b
}

// row makes a text message of ten tokens.
func row(role llms.Role, text string) store.NewMessage {
	return store.NewMessage{
		Role: role, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)),
		SHA256: sha256.Sum256([]byte(text)), Tokens: 10,
	}
}

// fill appends n messages, alternating user and assistant.
func (f *fixture) fill(t *testing.T, id store.ConversationID, n int) []store.MessageID {
	t.Helper()
	var ms []store.NewMessage
	for i := range n {
		m := row([]llms.Role{llms.RoleUser, llms.RoleAssistant}[i%2], fmt.Sprintf("message %d", i+1))
		m.Said = f.now.Add(time.Duration(i) * time.Minute)
		ms = append(ms, m)
	}
	return idsOf(f.append(t, id, ms...))
}

func idsOf(done []store.Appended) (ids []store.MessageID) {
	for _, d := range done {
		ids = append(ids, d.ID)
	}
	return ids
}

// fold folds the view items from and to, both included, counted from 0.
func (f *fixture) fold(t *testing.T, id store.ConversationID, from, to int, body string) store.Summary {
	t.Helper()
	view := f.view(t, id)
	var s store.Summary
	f.update(t, id, func(ctx context.Context, w store.Writer) (err error) {
		s, err = w.Fold(ctx, store.NewSummary{Over: view.Items[from : to+1], Wording: wording(body)})
		return err
	})
	return s
}

func wording(body string) store.Wording {
	return store.Wording{Body: body, Tokens: 3, Level: summary.Normal, Method: "extractive"}
}

func (f *fixture) view(t *testing.T, id store.ConversationID) store.View {
	t.Helper()
	return must(f.View(t.Context(), id, store.Window{}))(t)
}

// show renders a view as the ids of its items.
func show(v store.View) string {
	var ids []string
	for _, it := range v.Items {
		ids = append(ids, it.ID.String())
	}
	return strings.Join(ids, " ")
}

// sound fails the test unless the conversation verifies.
func (f *fixture) sound(t *testing.T, id store.ConversationID) store.Verification {
	t.Helper()
	v := must(f.Verify(t.Context(), id))(t)
	for _, fault := range v.Faults {
		t.Errorf("verify: %s: %s: %s", fault.Code, fault.Node, fault.Detail)
	}
	return v
}

// messages collects a query.
func (f *fixture) messages(t *testing.T, q store.MessageQuery) []store.Message {
	t.Helper()
	return collect(t, f.Messages(t.Context(), q))
}

func (f *fixture) summaries(t *testing.T, q store.SummaryQuery) []store.Summary {
	t.Helper()
	return collect(t, f.Summaries(t.Context(), q))
}

// collect reads a sequence to its end, without errors.
func collect[T any](t *testing.T, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func seqs(ms []store.Message) string {
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprint(m.Seq))
	}
	return strings.Join(all, " ")
}

// must returns a value, and fails the test if there is an error.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// wantErr fails the test unless an error is another one.
func wantErr(t *testing.T, what string, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: got the error %v, want %v", what, err, wanted)
	}
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
