package segment

import "hash/maphash"

// table maps words to numbers. It keeps the words in one piece of memory: a
// builder sees thousands of new ones in a segment, and an allocation for each
// was the largest part of its work.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two of them
	used  int
	words []byte
}

// slot is empty when its length is zero; no word is.
type slot struct {
	hash   uint32
	start  uint32
	length uint32
	value  uint32
}

func newTable(words int) *table {
	size := 64
	for size < 2*words {
		size *= 2
	}
	return &table{seed: maphash.MakeSeed(), slots: make([]slot, size)}
}

// find returns the slot of a word: the one it has, or the one it may take.
func (t *table) find(word []byte) (*slot, uint32) {
	hash := uint32(maphash.Bytes(t.seed, word))
	for i := hash; ; i++ {
		s := &t.slots[i&uint32(len(t.slots)-1)]
		if s.length == 0 || s.hash == hash && string(t.word(s)) == string(word) {
			return s, hash
		}
	}
}

func (t *table) word(s *slot) []byte { return t.words[s.start : s.start+s.length] }

// get returns the number of a word.
func (t *table) get(word []byte) (uint32, bool) {
	s, _ := t.find(word)
	return s.value, s.length > 0
}

// put gives a new word its number and returns where it is kept.
func (t *table) put(word []byte, value uint32) (start, length uint32) {
	s, hash := t.find(word)
	*s = slot{hash, uint32(len(t.words)), uint32(len(word)), value}
	start, length = s.start, s.length
	t.words = append(t.words, word...)
	if t.used++; t.used > len(t.slots)*2/3 {
		t.grow()
	}
	return start, length
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.length == 0 {
			continue
		}
		i := s.hash
		for t.slots[i&uint32(len(t.slots)-1)].length > 0 {
			i++
		}
		t.slots[i&uint32(len(t.slots)-1)] = s
	}
}
