package lookup

import (
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// What is near by meaning is found only where the search looks: its times, roles, messages and what it leaves out.
func TestNearestHitsAreThoseOfTheSearch(t *testing.T) {
	all := talk("u one", "a two", "h three", "e four", "u five") // a second apart, from the epoch on
	all[1].Body.Time, all[1].Stored = time.Time{}, time.Unix(1, 0)
	user := []llms.Role{llms.RoleUser}
	for name, c := range map[string]struct {
		q    store.Search
		want []store.MessageID
	}{
		"all":        {store.Search{}, []store.MessageID{1, 2, 5}},
		"everything": {store.Search{Everything: true}, []store.MessageID{1, 2, 3, 4, 5}},
		"a role":     {store.Search{Roles: user}, []store.MessageID{1, 5}},
		"since":      {store.Search{Since: time.Unix(1, 0)}, []store.MessageID{2, 5}},
		"before":     {store.Search{Before: time.Unix(1, 0)}, []store.MessageID{1}},
		"only":       {store.Search{Only: []store.MessageID{2, 3}}, []store.MessageID{2}},
		"only none":  {store.Search{Only: []store.MessageID{}}, nil},
		"except":     {store.Search{Except: []store.MessageID{1}}, []store.MessageID{2, 5}},
		"a page":     {store.Search{After: store.Cursor{Through: 2}}, []store.MessageID{1, 2}},
	} {
		hits, err := nearestHits(t.Context(), listed{messages: all}, c.q, nil)
		var got []store.MessageID
		for _, h := range hits {
			got = append(got, h.Message)
			if !h.Meaning || h.Time.IsZero() {
				t.Errorf("%s: %+v", name, h)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	var many []store.Message
	for i := range joinNearest + 1 {
		many = append(many, store.Message{ID: store.MessageID(i + 1), Seq: int64(i + 1), Body: llms.User("x")})
	}
	if hits, err := nearestHits(t.Context(), listed{messages: many}, store.Search{}, nil); err != nil || len(hits) != joinNearest {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}

// Messages that join a search come behind its first ones, each once.
func TestPutBehind(t *testing.T) {
	hits := func(ids ...store.MessageID) (out []store.Hit) {
		for _, id := range ids {
			out = append(out, store.Hit{ID: store.ID{Message: id}})
		}
		return out
	}
	found, joined := putBehind(store.Found{Hits: hits(1, 2, 3, 4), Matched: 4}, 2, hits(2, 4, 9))
	var got []store.MessageID
	for _, h := range found.Hits {
		got = append(got, h.Message)
		if !h.After.Joined {
			t.Errorf("the cursor of %d does not say that messages joined", h.Message)
		}
	}
	if want := []store.MessageID{1, 2, 4, 9, 3}; !slices.Equal(got, want) || joined != 2 || found.Matched != 5 {
		t.Errorf("%v, %d joined, %d matched; want %v", got, joined, found.Matched, want)
	}
	for given, want := range map[time.Duration]time.Duration{0: DefaultEmbedTimeout, -1: DefaultEmbedTimeout, 1: 1} {
		if got := NewReranker(nil, nil, given).timeout; got != want {
			t.Errorf("a timeout of %v is %v", given, got)
		}
	}
}
