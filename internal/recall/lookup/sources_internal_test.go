package lookup

import (
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// An asking beside an earlier asking moves behind the source with it, unless it is beside
// another match as well.
func TestAnAskingBesideAnAskingMovesWithIt(t *testing.T) {
	hit := func(id store.MessageID, nextTo ...store.MessageID) store.Hit {
		return store.Hit{Node: store.Node{Message: id}, NextTo: nextTo}
	}
	asked := map[string]bool{"lunch": true}
	list := []sourced{{hit: hit(1, 3), asked: asked}, {hit: hit(2, 3, 4), asked: asked, place: 2}, {hit: hit(3), asked: asked, place: 9}, {hit: hit(4), place: 6}, {hit: hit(5, 3), place: 8}}
	for i, want := range []int{9, 2, 9, 6, 8} {
		if list[i].follow(list); list[i].place != want {
			t.Errorf("hit %d is at %d, want %d", i, list[i].place, want)
		}
	}
}
