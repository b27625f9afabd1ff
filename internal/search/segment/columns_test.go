package segment

import (
	"strings"
	"testing"
)

// Whether passages are of one document is told without a walk through the document:
// only the block of the passages is read. A phrase that stands across the ends of
// many passages of one long text took quadratic time.
func TestInOneDocument(t *testing.T) {
	const passages = 4 * startPassages
	long := strings.Repeat("word ", passages*PassageWords)
	sealed, err := Build(t.Context(), []Doc{{ID: 1, Text: []byte(long)}, {ID: 2, Text: []byte(long)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	seg, err := sealed.Segment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, last uint32
		want        bool
	}{
		{0, 0, true}, {0, 1, true}, {startPassages + 5, startPassages + 6, true}, {startPassages + 5, startPassages + 9, true},
		{passages - 1, passages - 1, true}, {passages - 1, passages, false}, {passages - 3, passages + 2, false},
		{passages, passages + 1, true}, {2*passages - 1, 2*passages - 1, true}, {2*passages - 1, 2 * passages, false},
	} {
		docs := seg.Reader(t.Context()).PassageDocs()
		if got, err := docs.InOneDocument(c.first, c.last); err != nil || got != c.want {
			t.Errorf("passages %d to %d: %v, want %v, %v", c.first, c.last, got, c.want, err)
		}
		if docs.known && (docs.first > c.last || docs.first+startPassages <= c.first) {
			t.Errorf("passages %d to %d: the block at %d was read", c.first, c.last, docs.first)
		}
	}
}
