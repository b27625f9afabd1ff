package lookup_test

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// sql changes the database behind everyone's back.
func (f *fixture) sql(text string) {
	f.t.Helper()
	c, err := sqlite3.Open(f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(text); err != nil {
		f.t.Fatal(err)
	}
}

// A record that changed since it arrived is marked in every answer that holds it, in the
// fields and in the text, and nothing else is.
func TestDamageIsMarked(t *testing.T) {
	everywhere := recall.Where{AllConversations: true}
	for _, c := range []struct{ name, sql, pattern, message string }{
		{"a record", "UPDATE messages SET record = replace(record, 'deployment', 'enjoyment') WHERE id = 1", "enjoyment", "msg_1"},
		{"a payload", "UPDATE chunks SET data = 'the marmelade is here', compressed = 0", "marmelade", "msg_4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t)
			before := s.grep(recall.GrepRequest{Pattern: ".", Where: everywhere, Limit: 100})
			for _, m := range before.Matches {
				if m.Damaged {
					t.Fatalf("%s is marked before anything was changed", m.ID)
				}
			}
			s.sql(c.sql)
			found := s.grep(recall.GrepRequest{Pattern: ".", Where: everywhere, Limit: 100})
			marked := 0
			for _, m := range found.Matches {
				if m.Damaged != (m.ID.String() == c.message) || m.Damaged != strings.Contains(m.Heading(nil), "DAMAGED") {
					t.Errorf("%s: damaged %t, %q", m.ID, m.Damaged, m.Heading(nil))
				}
				if m.Damaged {
					marked++
				}
			}
			if marked != 1 {
				t.Errorf("%d matches are marked", marked)
			}
			a, err := s.Describe(t.Context(), recall.DescribeRequest{ID: idOf(c.message), Where: everywhere})
			if err != nil || !a.Damaged || !strings.Contains(a.Text(), store.DamageNotice) || !strings.HasPrefix(a.Content, store.DamageNotice) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	s := newStory(t)
	s.sql("UPDATE messages SET record = replace(record, 'deployment', 'enjoyment') WHERE id = 1; UPDATE chunks SET data = 'the marmelade is here', compressed = 0")
	page, err := s.Expand(t.Context(), recall.ExpandRequest{SummaryIDs: []store.SummaryID{s.leaf.ID}, Where: everywhere})
	if err != nil || len(page.Pieces) != 2 || !page.Pieces[0].Damaged || page.Pieces[1].Damaged || !strings.Contains(page.Text(), "DAMAGED") {
		t.Errorf("%+v, %v", page, err)
	}
	file, err := s.Describe(t.Context(), recall.DescribeRequest{ID: idOf(s.file), Where: everywhere})
	if err != nil || !file.Damaged || !strings.Contains(file.Content, "marmelade") || !strings.Contains(file.Text(), store.DamageNotice) {
		t.Errorf("%+v, %v", file, err)
	}
	in := s.grep(recall.GrepRequest{Pattern: "marmelade", Where: everywhere})
	if len(in.Matches) != 1 || !in.Matches[0].Damaged {
		t.Errorf("%+v", in.Matches)
	}
}
