package storetest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// installed is what [Installed] describes of the fixtures that the version before wrote. It is never
// written anew: a database of a user has to read as it did.
//
//go:embed testdata/installed.txt
var installed string

// Installed checks that a store has all that is in the fixtures of the version before
// (sqlite/testdata, postgres/testdata): forks, branches, summaries and their sources, payloads,
// records, what was erased, the state and an unfinished map.
func Installed(t *testing.T, db store.Store) {
	t.Helper()
	got, err := describe(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	have, due := strings.Split(got, "\n"), strings.Split(installed, "\n")
	for i := range max(len(have), len(due)) {
		if i >= len(have) || i >= len(due) || have[i] != due[i] {
			t.Fatalf("line %d is not what was stored:\n%s\nwant:\n%s", i+1, strings.Join(have[min(i, len(have)):min(i+1, len(have))], ""), strings.Join(due[min(i, len(due)):min(i+1, len(due))], ""))
		}
	}
	outputs, err := ResumeMap(t.Context(), db, 1)
	want(t, "the map", fmt.Sprint(outputs, err), `map[0:"a" 1:"b" 2: 3:"new" 4:"new" 5:"new"] <nil>`)
	refused := must(db.Forgotten(t.Context(), "calls", store.Project{}, func(yield func(store.Fingerprint) bool) {
		yield(store.Fingerprint{Native: "call-14"})
	}))(t)
	want(t, "what was erased is refused", fmt.Sprint(refused), "[true]")
}

// describe writes down everything that readers give.
func describe(ctx context.Context, db store.Store) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	all, err := db.Conversations(ctx, store.ConversationQuery{Erased: true})
	if err != nil {
		return "", err
	}
	for _, c := range all {
		line("conversation %d %q/%d agent %q project %q %q title %q parent %d fork %d at %d", c.ID, c.Key, c.Segment, c.Agent, c.Project.Origin, c.Project.Root, c.Title, c.Parent, c.ForkedFrom, c.ForkedAt)
		line("  %v %v %v %q: %d messages, %d erased, %d summaries, %d tokens, %d bytes, damaged %t", c.CreatedAt.UnixMilli(), c.UpdatedAt.UnixMilli(), c.ArchivedAt.UnixMilli(), c.ArchiveCause, c.Messages, c.Erased, c.Summaries, c.Tokens, c.Bytes, c.Damaged)
		proof, err := db.Verify(ctx, c.ID)
		if err != nil {
			return "", err
		}
		line("  digest %x, faults %v", proof.Digest, proof.Faults)
		for m, err := range db.Messages(ctx, store.MessageQuery{Conversation: c.ID, Erased: true}) {
			if err != nil {
				return "", err
			}
			record := []byte(nil)
			if m.Flags&store.FlagErased == 0 {
				if record, err = db.Record(ctx, m.ID); err != nil {
					return "", err
				}
			}
			line("  %s %d %s flags %d said %d tokens %d native %q %x damaged %t", m.ID, m.Seq, m.Body.Role, m.Flags, m.Body.Time.UnixMilli(), m.Tokens, m.Native, sha256.Sum256(record), m.Damaged)
		}
		view, err := db.View(ctx, c.ID, store.Window{})
		if err != nil {
			return "", err
		}
		for _, it := range view.Items {
			line("  view %d %s %d %s depth %d calls %q results %q stub %t damaged %t", it.Pos, it.ID, it.Tokens, it.Role, it.Depth, it.Calls, it.Results, it.Stub, it.Damaged)
		}
		for s, err := range db.Summaries(ctx, store.SummaryQuery{Conversation: c.ID}) {
			if err != nil {
				return "", err
			}
			sources, err := db.Sources(ctx, s.ID)
			if err != nil {
				return "", err
			}
			line("  %s %q depth %d revision %d by %s %s of %v damaged %t", s.ID, s.Body, s.Depth, s.Revision, s.Method, s.Model, sources, s.Damaged)
		}
	}
	return b.String(), describeRest(ctx, db, line)
}

// describeRest writes down what belongs to no conversation.
func describeRest(ctx context.Context, db store.Store, line func(string, ...any)) error {
	found, err := db.Search(ctx, store.Search{Mode: store.Regex, Pattern: "berth [0-9]+", Limit: 50, CountTo: 50})
	if err != nil {
		return err
	}
	line("%d messages match", found.Matched)
	for _, sum := range [][]byte{[]byte("message 3 of conversation 1"), []byte("message 3 of conversation 4")} {
		p, err := db.Payload(ctx, store.PayloadID(fmt.Sprintf("file_%x", sha256.Sum256(sum))[:21]))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
		line("%s %q %q damaged %t %v", p.ID, p.Name, text, p.Damaged, err)
	}
	for _, space := range []string{store.CursorSpace, store.TokenSpace, store.SpendSpace} {
		values, err := db.List(ctx, space)
		if err != nil {
			return err
		}
		for _, v := range values {
			line("%s %q version %d %x", space, v.Key, v.Version, sha256.Sum256(v.Data))
		}
	}
	erasures, err := db.Tombstones(ctx)
	for _, e := range erasures {
		line("tombstone %d %q %d of %v finished %t damaged %t", e.ID, e.Cause, e.Messages, e.Sessions, e.Finished, e.Damaged)
	}
	if err != nil {
		return err
	}
	faults, err := db.Orphans(ctx)
	line("faults %v", faults)
	return err
}
