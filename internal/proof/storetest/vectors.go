package storetest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A vector is found by model and text, and is removed with its message: when that
// is erased, or masked.
func testVectors(t *testing.T, f *fixture) {
	c := f.conversation(t, "k")
	rows := []store.NewMessage{row(llms.RoleUser, "one"), row(llms.RoleUser, "two"), row(llms.RoleUser, "three")}
	ids := idsOf(f.append(t, c.ID, rows...))
	hash := func(n int) store.TextHash { return sha256.Sum256(rows[n].Record) }
	var masked store.Flag // of the first message when the vectors were made
	put := func(model string) {
		t.Helper()
		var all []store.MessageVector
		for i, id := range ids {
			all = append(all, store.MessageVector{Message: id, Text: hash(i), Vector: []byte{byte(i), 200}})
		}
		all[0].Flags = masked
		if err := f.PutVectors(t.Context(), model, all); err != nil {
			t.Fatal(err)
		}
	}
	has := func(model string, wanted ...int) {
		t.Helper()
		found := must(f.Vectors(t.Context(), model, []store.TextHash{hash(0), hash(1), hash(2), {}}))(t)
		want(t, "vectors of "+model, len(found), len(wanted))
		for _, n := range wanted {
			if v := found[hash(n)]; len(v) != 2 || v[0] != byte(n) || v[1] != 200 {
				t.Errorf("%s: message %d has the vector %v", model, n, v)
			}
		}
	}
	has("a")
	put("a")
	put("a") // again: nothing changes
	has("a", 0, 1, 2)
	has("b")
	put("b")
	if err := f.Mask(t.Context(), []store.Mask{{ID: ids[0], Row: rows[0]}}); err != nil {
		t.Fatal(err)
	}
	has("a", 1, 2)
	has("b", 1, 2)
	f.erase(t, store.Erasure{Messages: ids[1:2]})
	has("a", 2)
	put("a") // vectors that were made before one message was masked and one erased
	has("a", 2)
	masked = store.FlagMasked
	put("a")
	has("a", 0, 2)
	f.erase(t, store.Erasure{Conversations: []store.ConversationID{c.ID}})
	has("a")
	has("b")
	put("a")
	has("a")
}

// Blocks are compared by the cosine, in the conversations that are asked for, and go
// when one of their messages is erased or masked.
func testVectorBlocks(t *testing.T, f *fixture) {
	var ids []store.MessageID
	var rows []store.NewMessage
	var talks []store.ConversationID
	for _, key := range []string{"a", "b"} {
		c := f.conversation(t, key)
		talks = append(talks, c.ID)
		var some []store.NewMessage
		for i := range 800 { // two blocks
			some = append(some, row(llms.RoleUser, fmt.Sprintf("%s %d", key, i)))
		}
		ids, rows = append(ids, idsOf(f.append(t, c.ID, some...))...), append(rows, some...)
	}
	pending := func(wanted ...int64) []store.VectorBlock {
		t.Helper()
		blocks := must(f.PendingBlocks(t.Context(), "m"))(t)
		var got []int64
		for _, b := range blocks {
			got = append(got, b.Number, b.New)
		}
		if !slices.Equal(got, wanted) {
			t.Fatalf("pending blocks and their new messages: %v, want %v", got, wanted)
		}
		return blocks
	}
	flags := map[store.MessageID]store.Flag{}
	opposite := []byte{0x9c, 0} // -100, 0
	put := func(b store.VectorBlock) {
		t.Helper()
		var vectors []store.MessageVector
		for _, id := range must(f.BlockMessages(t.Context(), b))(t) { // the angle grows with the number; the lengths differ
			angle, length := float64(id)/1000, 60+float64(id%60)
			vectors = append(vectors, store.MessageVector{Message: id, Flags: flags[id], Vector: []byte{byte(int8(length * math.Cos(angle))), byte(int8(length * math.Sin(angle)))}})
			if id == ids[1500] {
				vectors[len(vectors)-1].Vector = opposite
			}
		}
		if err := f.PutBlock(t.Context(), "m", b, vectors); err != nil {
			t.Fatal(err)
		}
	}
	near := func(q store.NearestQuery) store.Nearest {
		t.Helper()
		q.Model, q.Limit = "m", 3
		return must(f.Nearest(t.Context(), q))(t)
	}
	first := func(in ...store.ConversationID) store.MessageID {
		t.Helper()
		all := near(store.NearestQuery{Vector: []byte{100, 0}, Conversations: in})
		if len(all.Messages) == 0 {
			return 0
		}
		return all.Messages[0]
	}
	want(t, "vectors before", must(f.HasVectors(t.Context(), "m"))(t), false)
	for _, b := range pending(1, 577, 0, 1023) {
		put(b)
	}
	pending()
	want(t, "vectors", must(f.HasVectors(t.Context(), "m"))(t), true)
	want(t, "vectors of another model", must(f.HasVectors(t.Context(), "other"))(t), false)
	if st := must(f.VectorStatus(t.Context(), "m"))(t); st.Messages != 1600 || st.Bytes < 3200 {
		t.Errorf("%+v", st)
	}
	if all := near(store.NearestQuery{Vector: []byte{100, 0}}); first() > 60 || all.Compared != 1600 || len(all.Messages) != 3 {
		t.Errorf("nearest of all: %d, %+v", first(), all)
	}
	if at := first(talks[1]); at <= ids[799] || at > ids[799]+60 {
		t.Errorf("nearest of the second conversation: %d", at)
	}
	if got := near(store.NearestQuery{Vector: []byte{100, 0}, Until: time.Now().Add(-time.Second)}); got.Left != 1600 || len(got.Messages) > 0 {
		t.Errorf("after its time: %+v", got)
	}
	if got := near(store.NearestQuery{Vector: []byte{100, 0, 0}}); len(got.Messages) > 0 {
		t.Errorf("vectors of another length: %+v", got)
	}
	f.erase(t, store.Erasure{Messages: ids[:100]})
	if at := first(); at < 1024 {
		t.Errorf("after an erasure message %d is found", at)
	}
	for _, b := range pending(0, 1023) {
		put(b)
	}
	if at := first(); at <= ids[99] || at > ids[160] {
		t.Errorf("after an erasure message %d is found", at)
	}
	if err := f.Mask(t.Context(), []store.Mask{{ID: ids[1500], Row: rows[1500]}}); err != nil {
		t.Fatal(err)
	}
	put(pending(1, 577)[0]) // with a vector of the text before it was masked
	masked := ids[1500]
	left := int64(ids[1599] - masked + 1)
	again := pending(1, left)
	if got := near(store.NearestQuery{Vector: opposite}); slices.Contains(got.Messages, masked) {
		t.Errorf("the vector of the text before it was masked is stored: %v", got.Messages)
	}
	flags[masked] = store.FlagMasked
	put(again[0])
	pending()
	if got := near(store.NearestQuery{Vector: opposite}); got.Messages[0] != masked {
		t.Errorf("the masked message is not found: %v", got.Messages)
	}
}
