package assemble_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
)

// tree is a store with summaries alone: those of depth 1 are made of two leaves.
type tree struct {
	store.Reader
	sources map[store.SummaryID][]store.ID
	rows    map[store.SummaryID]store.Summary
	fails   map[store.SummaryID]error // when the sources of a summary are read
}

func (s tree) Sources(_ context.Context, id store.SummaryID) ([]store.ID, error) {
	return s.sources[id], s.fails[id]
}

func (s tree) Summaries(_ context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for _, id := range q.IDs {
			row, ok := s.rows[id]
			if !ok {
				yield(row, store.Missing(string(id)))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

var errDisk = errors.New("the disk fails")

// TestFinest: the summaries are the finest that fit, the newest first, and messages after
// the newest summary change nothing.
func TestFinest(t *testing.T) {
	all := tree{sources: map[store.SummaryID][]store.ID{}, rows: map[store.SummaryID]store.Summary{}}
	for _, top := range []store.SummaryID{"a", "b"} {
		for _, leaf := range []store.SummaryID{top + "1", top + "2"} {
			all.rows[leaf] = store.Summary{ID: leaf, Tokens: 100}
			all.sources[top] = append(all.sources[top], store.ID{Summary: leaf})
		}
	}
	item := func(id store.SummaryID, depth, tokens int) store.Item {
		return store.Item{ID: store.ID{Summary: id}, Depth: depth, Tokens: tokens}
	}
	message := func(tokens int) store.Item { return store.Item{ID: store.ID{Message: 7}, Tokens: tokens} }
	for name, c := range map[string]struct {
		room   int
		change func(tree)
		view   func(*store.View)
		want   string
	}{
		"no room":      {room: 120, want: "[a b msg_7 c]"},
		"room for one": {room: 330, want: "[a b1 b2 msg_7 c]"},
		"room for all": {room: 500, want: "[a1 a2 b1 b2 msg_7 c]"},
		"a token less": {room: 499, want: "[a b1 b2 msg_7 c]"},
		"a message is beneath": {room: 900, want: "[a b msg_7 c]", change: func(s tree) {
			s.sources["b"] = []store.ID{{Summary: "b1"}, {Message: 3}}
		}},
		"a text was erased": {room: 900, want: "[a b msg_7 c]", change: func(s tree) {
			s.rows["b2"] = store.Summary{ID: "b2", Method: store.MethodErased}
		}},
		"one is missing": {room: 900, want: "[a b msg_7 c]", change: func(s tree) { delete(s.rows, "b1") }},
		"a text is damaged": {room: 900, want: "[a b msg_7 c]", change: func(s tree) {
			s.rows["b2"] = store.Summary{ID: "b2", Tokens: 100, Damaged: true}
		}},
		"a source is as deep": {room: 900, want: "[a b msg_7 c]", change: func(s tree) {
			s.rows["b2"] = store.Summary{ID: "b2", Tokens: 100, Depth: 1}
		}},
		"the sources are damaged": {room: 900, want: "[a b msg_7 c]", change: func(s tree) { s.fails["b"] = store.ErrDamaged }},
		"the disk fails":          {room: 900, want: "[a b msg_7 c]", change: func(s tree) { s.fails["b"] = errDisk }},
		"a summary is damaged":    {room: 900, want: "[a1 a2 b msg_7 c]", view: func(v *store.View) { v.Items[1].Damaged = true }},
		"the view is damaged":     {room: 900, want: "[a b msg_7 c]", view: func(v *store.View) { v.Damaged = true }},
		"the view has a gap":      {room: 900, want: "[a b msg_7 c]", view: func(v *store.View) { v.Skipped = 1 }},
		"one summary": {room: 900, want: "[a1 a2]", view: func(v *store.View) {
			v.Items, v.Tokens, v.Count = append(v.Items[:1:1], v.Items[4:]...), v.Tokens-130, v.Count-3
		}},
		"two levels": {room: 900, want: "[a1 a2 b1 x1 x2 msg_7 c]", view: func(v *store.View) { v.Items[1].Depth = 2 }, change: func(s tree) {
			s.rows["b2"] = store.Summary{ID: "b2", Tokens: 100, Depth: 1}
			for _, leaf := range []store.SummaryID{"x1", "x2"} {
				s.rows[leaf] = store.Summary{ID: leaf, Tokens: 100}
				s.sources["b2"] = append(s.sources["b2"], store.ID{Summary: leaf})
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			db := tree{sources: map[store.SummaryID][]store.ID{"a": all.sources["a"], "b": all.sources["b"]}, rows: map[store.SummaryID]store.Summary{}, fails: map[store.SummaryID]error{}}
			for id, row := range all.rows {
				db.rows[id] = row
			}
			if c.change != nil {
				c.change(db)
			}
			for _, tail := range []int{0, 3} {
				v := store.View{Items: []store.Item{item("a", 1, 30), item("b", 1, 30), message(60), item("c", 0, 40)}, Tokens: 160, Count: 4}
				for range tail {
					v.Items, v.Tokens, v.Count = append(v.Items, message(1000)), v.Tokens+1000, v.Count+1
				}
				if c.view != nil {
					c.view(&v)
				}
				got, err := assemble.Finest(t.Context(), db, v, c.room)
				if failed := db.fails["b"] == errDisk; failed != (err != nil) {
					t.Fatal(err)
				}
				shown := []string{}
				tokens := 0
				for _, it := range got.Items {
					shown, tokens = append(shown, it.ID.String()), tokens+it.Tokens
				}
				if old := fmt.Sprint(shown[:len(shown)-tail]); old != c.want || tokens != got.Tokens || len(shown) != got.Count {
					t.Errorf("%s, %d tokens of %d, %d items of %d; want %s", old, tokens, got.Tokens, len(shown), got.Count, c.want)
				}
			}
		})
	}
}
