package store

import (
	"context"
	"crypto/sha256"
	"iter"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Maps keeps unfinished maps: one job over many items, on which several processes may work. A
// process claims items for the time of a lease and settles them. An item whose lease has run out
// may be claimed again, so that it may be asked twice; its result is stored once.
//
// What was changed behind the store's back is not used: StartMap, StepMap and MapItems fail with
// ErrDamaged.
//
// A map is not part of the record. Its caller stores what the map has made as a message and then
// ends it. Erasing anything of a conversation, or of one below it, ends its maps.
type Maps interface {
	// StartMap begins the map with a key in a conversation, or joins it, and returns its
	// number. It fails with ErrConflict if the map is one of another job.
	StartMap(ctx context.Context, id ConversationID, m NewMap) (int64, error)
	// StepMap settles items and claims others, in one transaction. It fails with
	// ErrNotFound if the map has ended.
	StepMap(ctx context.Context, id ConversationID, run int64, s MapStep) (MapState, error)
	// MapItems yields the items that are done or have failed, by number.
	MapItems(ctx context.Context, id ConversationID, run int64) iter.Seq2[MapItem, error]
	// EndMap removes a map with its items, if there is one.
	EndMap(ctx context.Context, id ConversationID, key string) error
}

// NewMap describes a map.
type NewMap struct {
	Key   string
	Job   [sha256.Size]byte // of what is asked
	Items int
	Done  []MapItem // that need not be asked about
}

// MapStatus says how far an item of a map is.
type MapStatus int

// The states of an item.
const (
	MapWaits MapStatus = iota
	MapRuns
	MapDone
	MapFailed
)

// MapItem is an item of a map. Settling it as MapWaits gives it back.
type MapItem struct {
	N        int // from 0
	Status   MapStatus
	Attempts int // model calls
	Output   string
	Error    string // why it failed
	Usage    llms.Usage
}

// MapStep is what one process does to a map. Of settled items of which it is not the owner any
// more, only attempts and usage are added.
type MapStep struct {
	Owner  string
	Settle []MapItem
	Hold   []int         // items whose lease begins anew
	Claim  int           // at most so many items
	Lease  time.Duration // of the held and claimed items
	// Budget is how many tokens a map may have used when items are claimed; 0: any.
	Budget int
	// Known is how far the map was a moment ago. A step with it adds what it settles, and counts
	// the items only if it has none left: counting takes as long as there are items.
	Known *MapState
}

// MapState is how far a map is, and the items that a step claimed, with the attempts of others
// that gave them back.
type MapState struct {
	Claimed             []MapItem
	Items, Done, Failed int
	Attempts            int
	Usage               llms.Usage // of all attempts, also of items that were given back
}

// Open is the number of items that are neither done nor failed.
func (s MapState) Open() int { return s.Items - s.Done - s.Failed }
