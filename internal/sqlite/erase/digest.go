package erase

import (
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// inheritedDigest digests the messages of other conversations that a fork
// leads to, as Verify does.
func inheritedDigest(c *dbfile.Conn, id store.ConversationID) ([]byte, error) {
	items, err := record.AllItems(c, id)
	if err != nil {
		return nil, err
	}
	kept, err := record.Kept(c, id, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range kept {
		items = append(items, record.ViewItem{Num: e.Num, Item: store.Item{Node: e.Node}})
	}
	var all []record.MessageRef
	err = record.WalkMessages(c, items, func(m record.MessageRef) error {
		if m.Conversation != id {
			all = append(all, m)
		}
		return nil
	})
	return record.InheritedDigest(all), err
}
