package brief_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/recall/brief"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestFoldedAlready: the brief does not depend on whether the session was compacted. The
// last prompt stays in the view, however many messages after it are compacted.
func TestFoldedAlready(t *testing.T) {
	e := engine(t)
	tell(t, e, "long", llms.User("Make the importer idempotent."))
	for i := range 120 {
		id := fmt.Sprint(i)
		tell(t, e, "long", call(id, "Edit", fmt.Sprintf(`{"file_path":"/work/trackd/f%d.go","old_string":"a","new_string":"b"}`, i%9)),
			llms.Result(id, "Edit", fmt.Sprintf("file %d was edited, and this is what it says now: %[1]d", i), false))
	}
	before := of(t, e, brief.Options{}).Work
	r, err := e.Session("long").Compact(t.Context(), lcm.CompactOptions{Budget: 4000})
	if err != nil || r.Folds() == 0 {
		t.Fatalf("%v, %v", r, err)
	}
	after := of(t, e, brief.Options{}).Work
	if len(before.Files) == 0 {
		t.Fatalf("nothing to compare: %+v", after)
	}
	before.Conversation, after.Conversation = store.Conversation{}, store.Conversation{}
	if diff := cmp.Diff(before, after, cmpopts.IgnoreUnexported(brief.Work{})); diff != "" {
		t.Error(diff)
	}
}

// TestRewoundIsNotTold: rewound messages are not part of the work, also in a short
// session.
func TestRewoundIsNotTold(t *testing.T) {
	e := engine(t)
	tell(t, e, "s", llms.User("Make the importer idempotent."), llms.Assistant("I will look."),
		llms.User("Delete the importer."), llms.Assistant("Deleted."))
	if err := e.Session("s").Rewind(t.Context(), 2, "undo"); err != nil {
		t.Fatal(err)
	}
	for _, r := range of(t, e, brief.Options{}).Work.Requests {
		if r.Text == "Delete the importer." {
			t.Errorf("%+v", r)
		}
	}
}
