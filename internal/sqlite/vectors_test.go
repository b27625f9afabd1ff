package sqlite_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// A vector is found by model and text, and is removed with its message: when that
// is erased, or masked.
func TestVectors(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.MessageID
	var rows []store.NewMessage
	for _, text := range []string{"one", "two", "three"} {
		rows = append(rows, store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 9})
	}
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		done, err := w.Append(t.Context(), rows...)
		for _, a := range done {
			ids = append(ids, a.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hash := func(n int) store.TextHash { return sha256.Sum256(rows[n].Record) }
	put := func(model string) {
		t.Helper()
		var all []store.MessageVector
		for i, id := range ids {
			all = append(all, store.MessageVector{Message: id, Text: hash(i), Vector: []byte{byte(i), 200}})
		}
		if err := db.PutVectors(t.Context(), model, all); err != nil {
			t.Fatal(err)
		}
	}
	has := func(model string, want ...int) {
		t.Helper()
		found, err := db.Vectors(t.Context(), model, []store.TextHash{hash(0), hash(1), hash(2), {}})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != len(want) {
			t.Errorf("%s has %d vectors, want %d", model, len(found), len(want))
		}
		for _, n := range want {
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
	if err := db.Mask(t.Context(), []store.Mask{{ID: ids[0], Row: rows[0]}}); err != nil {
		t.Fatal(err)
	}
	has("a", 1, 2)
	has("b", 1, 2)
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[1:2], Cause: "test"}); err != nil {
		t.Fatal(err)
	}
	has("a", 2)
	put("a") // one that was on its way when its message was erased
	has("a", 0, 2)
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{c.ID}, Cause: "test"}); err != nil {
		t.Fatal(err)
	}
	has("a")
	has("b")
	put("a")
	has("a")
	faults, err := db.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
}

// Blocks are compared by the cosine, in the conversations that are asked for, and go
// when one of their messages is erased or masked.
func TestVectorBlocks(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	var ids []store.MessageID
	var rows []store.NewMessage
	var talks []store.ConversationID
	for _, key := range []string{"a", "b"} {
		c, err := db.Open(t.Context(), store.NewConversation{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		talks = append(talks, c.ID)
		err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
			var some []store.NewMessage
			for i := range 800 { // two blocks
				text := fmt.Sprintf("%s %d", key, i)
				some = append(some, store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 9})
			}
			done, err := w.Append(t.Context(), some...)
			for _, a := range done {
				ids = append(ids, a.ID)
			}
			rows = append(rows, some...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pending := func(want ...int64) []store.VectorBlock {
		t.Helper()
		blocks, err := db.PendingBlocks(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, b := range blocks {
			got = append(got, b.Number, b.New)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pending blocks and their new messages: %v, want %v", got, want)
		}
		return blocks
	}
	put := func(b store.VectorBlock) {
		t.Helper()
		in, err := db.BlockMessages(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []store.MessageVector
		for _, id := range in { // the angle grows with the number; the lengths differ
			angle, length := float64(id)/1000, 60+float64(id%60)
			vectors = append(vectors, store.MessageVector{Message: id, Vector: []byte{byte(int8(length * math.Cos(angle))), byte(int8(length * math.Sin(angle)))}})
		}
		if err := db.PutBlock(t.Context(), "m", b, vectors); err != nil {
			t.Fatal(err)
		}
	}
	nearest := func(in ...store.ConversationID) (store.MessageID, store.Nearest) {
		t.Helper()
		got, err := db.Nearest(t.Context(), store.NearestQuery{Model: "m", Vector: []byte{100, 0}, Conversations: in, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) == 0 {
			return 0, got
		}
		return got.Messages[0], got
	}
	for _, b := range pending(1, 577, 0, 1023) {
		put(b)
	}
	pending()
	if st, err := db.VectorStatus(t.Context(), "m"); err != nil || st.Messages != 1600 || st.Bytes < 3200 {
		t.Errorf("%+v, %v", st, err)
	}
	if first, all := nearest(); first > 60 || all.Compared != 1600 || len(all.Messages) != 3 {
		t.Errorf("nearest of all: %d, %+v", first, all)
	}
	if first, _ := nearest(talks[1]); first <= ids[799] || first > ids[799]+60 {
		t.Errorf("nearest of the second conversation: %d", first)
	}
	if got, err := db.Nearest(t.Context(), store.NearestQuery{Model: "m", Vector: []byte{100, 0}, Limit: 3, Until: time.Now().Add(-time.Second)}); err != nil || got.Left != 1600 || len(got.Messages) > 0 {
		t.Errorf("after its time: %+v, %v", got, err)
	}
	if got, err := db.Nearest(t.Context(), store.NearestQuery{Model: "m", Vector: []byte{100, 0, 0}, Limit: 3}); err != nil || len(got.Messages) > 0 {
		t.Errorf("vectors of another length: %+v, %v", got, err)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[:100], Cause: "test"}); err != nil {
		t.Fatal(err)
	}
	if first, _ := nearest(); first < 1024 {
		t.Errorf("after an erasure message %d is found", first)
	}
	for _, b := range pending(0, 1023) {
		put(b)
	}
	if first, _ := nearest(); first <= ids[99] || first > ids[160] {
		t.Errorf("after an erasure message %d is found", first)
	}
	if err := db.Mask(t.Context(), []store.Mask{{ID: ids[1500], Row: rows[1500]}}); err != nil {
		t.Fatal(err)
	}
	pending(1, 577)
	faults, err := db.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
}
