package index

import (
	"cmp"
	"fmt"
	"slices"
)

// passageWords is the length of a passage. Long documents are scored by their
// best passage, so that a long tool output does not drown a short answer.
const passageWords = 128

// DefaultBlockBytes is how much text shares one entry of a trigram list.
const DefaultBlockBytes = 2 << 10

// maxCachedRuns bounds the memory of analysed runs in a builder.
const maxCachedRuns = 1 << 18

// Options adjust how segments are built. The zero value is the default.
type Options struct {
	// BlockBytes is the text, in bytes, that shares one entry of a trigram
	// list. Smaller blocks find candidates more exactly and take more space.
	BlockBytes int
}

// Builder gathers documents and seals them into one segment. It is not safe for
// concurrent use.
type Builder struct {
	rows    []docRow
	lengths []uint8
	docOf   []uint32 // document of each passage
	text    int64

	terms   map[string]uint32
	names   []string
	runs    map[string][]runTerm
	entries []wordEntry
	tally   []tally // by term, for the open passage
	touched []uint32
	tokens  []token
	words   int // in the open passage

	grams gramBuilder
}

// runTerm is a token of a run with its term as a number.
type runTerm struct {
	term  uint32
	whole bool
}

type wordEntry struct {
	term, passage uint32
	count         uint8
}

type tally struct{ count uint8 }

// NewBuilder returns an empty builder.
func NewBuilder(opts Options) *Builder {
	if opts.BlockBytes <= 0 {
		opts.BlockBytes = DefaultBlockBytes
	}
	return &Builder{
		terms: make(map[string]uint32),
		runs:  make(map[string][]runTerm),
		grams: gramBuilder{blockBytes: opts.BlockBytes},
	}
}

// Len is the number of documents added.
func (b *Builder) Len() int { return len(b.rows) }

// Add indexes a document. Ids must increase.
func (b *Builder) Add(d Doc) error {
	if n := len(b.rows); n > 0 {
		if last := b.rows[n-1].id; d.ID <= last {
			return fmt.Errorf("index: document %d added after %d: ids must increase", d.ID, last)
		}
		if d.ID-b.rows[0].id > int64(^uint32(0)) {
			return fmt.Errorf("index: documents %d and %d are too far apart for one segment", b.rows[0].id, d.ID)
		}
	}
	doc := uint32(len(b.rows))
	b.rows = append(b.rows, docRow{
		id: d.ID, conversation: d.Conversation, time: d.Time, role: d.Role, flags: d.Flags,
		passage: uint32(len(b.lengths)),
	})
	b.text += int64(len(d.Text))
	b.addWords(doc, d.Text)
	b.grams.add(doc, d.Text)
	return nil
}

func (b *Builder) addWords(doc uint32, text []byte) {
	runs := spans{text: text}
	for sp, ok := runs.next(); ok; sp, ok = runs.next() {
		for _, t := range b.analyse(text, sp) {
			if !t.whole {
				if b.words == passageWords {
					b.closePassage(doc)
				}
				b.words++
			}
			if b.tally[t.term].count == 0 {
				b.touched = append(b.touched, t.term)
			}
			if b.tally[t.term].count < 255 {
				b.tally[t.term].count++
			}
		}
	}
	b.closePassage(doc)
}

// analyse returns the terms of a run, which it remembers: most runs of a text
// were seen before, and folding and stemming are the costly part.
func (b *Builder) analyse(text []byte, sp span) []runTerm {
	raw := text[sp.start:sp.end]
	if known, ok := b.runs[string(raw)]; ok {
		return known
	}
	b.tokens = analyse(b.tokens[:0], text, sp)
	out := make([]runTerm, len(b.tokens))
	for i, t := range b.tokens {
		out[i] = runTerm{b.term(t.term), t.whole}
	}
	if len(raw) <= 2*maxCompoundBytes {
		if len(b.runs) >= maxCachedRuns {
			clear(b.runs)
		}
		b.runs[string(raw)] = out
	}
	return out
}

func (b *Builder) term(name string) uint32 {
	if n, ok := b.terms[name]; ok {
		return n
	}
	n := uint32(len(b.names))
	b.terms[name] = n
	b.names = append(b.names, name)
	b.tally = append(b.tally, tally{})
	return n
}

// closePassage writes the open passage; every document has at least one, if
// only an empty one.
func (b *Builder) closePassage(doc uint32) {
	passage := uint32(len(b.lengths))
	for _, t := range b.touched {
		b.entries = append(b.entries, wordEntry{t, passage, b.tally[t].count})
		b.tally[t].count = 0
	}
	b.lengths = append(b.lengths, uint8(b.words))
	b.docOf = append(b.docOf, doc)
	b.touched, b.words = b.touched[:0], 0
}

// Seal finishes the segment. The builder must not be used afterwards.
func (b *Builder) Seal() (Sealed, error) {
	if len(b.rows) == 0 {
		return Sealed{}, fmt.Errorf("index: a segment needs at least one document")
	}
	w := newSegmentWriter(b.rows, b.lengths, b.docOf, b.text)
	b.writeWords(w)
	b.writeGrams(w)
	return w.finish(), nil
}

// writeWords sorts the entries by term and hands over one list for each.
func (b *Builder) writeWords(w *segmentWriter) {
	starts := make([]uint32, len(b.names)+1)
	for _, e := range b.entries {
		starts[e.term+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	lists := make([]posting, len(b.entries))
	at := slices.Clone(starts)
	for _, e := range b.entries {
		lists[at[e.term]] = posting{w.renumber[e.passage], e.count}
		at[e.term]++
	}
	order := make([]uint32, len(b.names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.names[x], b.names[y]) })
	for _, t := range order {
		if list := lists[starts[t]:starts[t+1]]; len(list) > 0 {
			w.words.add(b.names[t], sortedPostings(list))
		}
	}
}

// sortedPostings puts a list in order of passages, which it is already when the
// segment holds one conversation.
func sortedPostings(list []posting) []posting {
	byPassage := func(x, y posting) int { return cmp.Compare(x.passage, y.passage) }
	if !slices.IsSortedFunc(list, byPassage) {
		slices.SortFunc(list, byPassage)
	}
	return list
}

func (b *Builder) writeGrams(w *segmentWriter) {
	entries := b.grams.finish()
	w.setBlocks(b.grams.firsts)
	var blocks []uint32
	for i := 0; i < len(entries); {
		v := entries[i] >> 32
		blocks = blocks[:0]
		for ; i < len(entries) && entries[i]>>32 == v; i++ {
			blocks = append(blocks, uint32(entries[i]))
		}
		w.grams.add(gram(v), blocks, w.blocks)
	}
}
