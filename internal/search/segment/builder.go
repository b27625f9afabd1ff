package segment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// PassageWords is the length of a passage. Long documents are scored by their
// best passage, so that a long tool output does not drown a short answer.
const PassageWords = 128

// DefaultBlockBytes is how much text shares one entry of a trigram list.
// Measured over messages of 400 bytes in no order, the worst case for space:
// 2 KB takes 30 % of the text, 1 KB takes 39 %; of source code and prose cut
// into such messages, 16 to 19 % against 23 to 26 %. Larger blocks cost a few more
// texts that are read in vain.
const DefaultBlockBytes = 2048

// Options adjust how segments are built. The zero value is the default.
type Options struct {
	// BlockBytes is the text, in bytes, that shares one entry of a trigram
	// list. Smaller blocks find candidates more exactly and take more space.
	BlockBytes int
	// Docs is how many documents are expected, if known, to size memory by.
	Docs int
	// NoWords leaves the word index empty, to measure the cost of the trigrams.
	NoWords bool
}

// Builder gathers documents and seals them into one segment. It is not safe for
// concurrent use.
type Builder struct {
	rows    []DocRow
	lengths []uint8
	docOf   []uint32 // document of each passage
	text    int64

	terms     *table    // term → its number
	names     []nameRef // of each term
	wordTerms *table    // word as written → its term's number
	entries   []wordEntry
	tally     []uint8 // of each term, in the open passage
	touched   []uint32
	tokens    []analysis.Token
	scratch   []byte
	words     int // in the open passage
	noWords   bool

	grams gramBuilder
}

// nameRef is where the table of terms keeps a term.
type nameRef struct{ start, length uint32 }

func (b *Builder) name(term uint32) []byte {
	r := b.names[term]
	return b.terms.words[r.start : r.start+r.length]
}

type wordEntry struct {
	term, passage uint32
	count         uint8
}

// NewBuilder returns an empty builder.
func NewBuilder(opts Options) *Builder {
	if opts.BlockBytes <= 0 {
		opts.BlockBytes = DefaultBlockBytes
	}
	return &Builder{
		noWords:   opts.NoWords,
		terms:     newTable(8 * opts.Docs),
		wordTerms: newTable(8 * opts.Docs),
		entries:   make([]wordEntry, 0, 64*opts.Docs),
		grams:     gramBuilder{blockBytes: opts.BlockBytes, entries: make([]uint64, 0, 192*opts.Docs)},
	}
}

// Len is the number of documents added.
func (b *Builder) Len() int { return len(b.rows) }

// Add indexes a document. Ids must increase.
func (b *Builder) Add(d Doc) error {
	if n := len(b.rows); n > 0 {
		if last := b.rows[n-1].ID; d.ID <= last {
			return fmt.Errorf("index: document %d added after %d: ids must increase", d.ID, last)
		}
		if d.ID-b.rows[0].ID > int64(^uint32(0)) {
			return fmt.Errorf("index: documents %d and %d are too far apart for one segment", b.rows[0].ID, d.ID)
		}
	}
	doc := uint32(len(b.rows))
	b.rows = append(b.rows, DocRow{
		ID: d.ID, Conversation: d.Conversation, Time: d.Time, Role: d.Role, flags: d.Flags,
		Passage: uint32(len(b.lengths)),
	})
	b.text += int64(len(d.Text))
	if b.noWords {
		b.closePassage(doc)
	} else {
		b.addWords(doc, d.Text)
	}
	b.grams.add(doc, d.Text)
	return nil
}

func (b *Builder) addWords(doc uint32, text []byte) {
	runs := analysis.Spans{Text: text}
	for sp, ok := runs.Next(); ok; sp, ok = runs.Next() {
		b.tokens = analysis.Analyse(b.tokens[:0], text, sp)
		for _, t := range b.tokens {
			n, ok := b.termOf(t)
			if !ok {
				continue
			}
			if !t.Whole() {
				if b.words == PassageWords {
					b.closePassage(doc)
				}
				b.words++
			}
			if b.tally[n] == 0 {
				b.touched = append(b.touched, n)
			}
			if b.tally[n] < 255 {
				b.tally[n]++
			}
		}
	}
	b.closePassage(doc)
}

// termOf numbers a token's term. It remembers words as they were written, since
// folding and stemming are the costly part. It returns false for a word
// that folds to nothing.
func (b *Builder) termOf(t analysis.Token) (uint32, bool) {
	switch t.Kind {
	case analysis.WholeToken:
		b.scratch = append(b.scratch[:0], t.Term()...)
		return b.number(b.scratch), true
	case analysis.PlainToken:
		return b.number(t.Raw), true
	}
	if n, ok := b.wordTerms.get(t.Raw); ok {
		return n, true
	}
	b.scratch = analysis.WordTerm(b.scratch[:0], t.Raw)
	if len(b.scratch) == 0 {
		return 0, false
	}
	n := b.number(b.scratch)
	if len(t.Raw) <= analysis.MaxTermBytes {
		b.wordTerms.put(t.Raw, n)
	}
	return n, true
}

func (b *Builder) number(term []byte) uint32 {
	if n, ok := b.terms.get(term); ok {
		return n
	}
	n := uint32(len(b.names))
	start, length := b.terms.put(term, n)
	b.names = append(b.names, nameRef{start, length})
	b.tally = append(b.tally, 0)
	return n
}

// closePassage writes the open passage; every document has at least one, if
// only an empty one.
func (b *Builder) closePassage(doc uint32) {
	passage := uint32(len(b.lengths))
	for _, t := range b.touched {
		b.entries = append(b.entries, wordEntry{t, passage, b.tally[t]})
		b.tally[t] = 0
	}
	b.lengths = append(b.lengths, uint8(b.words))
	b.docOf = append(b.docOf, doc)
	b.touched, b.words = b.touched[:0], 0
}

// Build indexes documents, in order of ids, as one segment. It stops
// between two documents when ctx ends.
func Build(ctx context.Context, docs []Doc, opts Options) (Sealed, error) {
	opts.Docs = max(opts.Docs, len(docs))
	b := NewBuilder(opts)
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return Sealed{}, err
		}
		if err := b.Add(d); err != nil {
			return Sealed{}, err
		}
	}
	return b.Seal()
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
	lists := make([]Posting, len(b.entries))
	at := slices.Clone(starts)
	for _, e := range b.entries {
		lists[at[e.term]] = Posting{w.renumber[e.passage], e.count}
		at[e.term]++
	}
	for _, t := range b.alphabetical() {
		if list := lists[starts[t]:starts[t+1]]; len(list) > 0 {
			w.words.add(b.name(t), sortedPostings(list))
		}
	}
}

// alphabetical returns the terms in order. Most are told apart by their first
// eight bytes, which are compared as a number.
func (b *Builder) alphabetical() []uint32 {
	type keyed struct {
		key  uint64
		term uint32
	}
	list := make([]keyed, len(b.names))
	for i := range list {
		var first [8]byte
		copy(first[:], b.name(uint32(i)))
		list[i] = keyed{binary.BigEndian.Uint64(first[:]), uint32(i)}
	}
	slices.SortFunc(list, func(x, y keyed) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return bytes.Compare(b.name(x.term), b.name(y.term))
	})
	order := make([]uint32, len(list))
	for i, k := range list {
		order[i] = k.term
	}
	return order
}

// sortedPostings puts a list in order of passages, which it is already when the
// segment holds one conversation.
func sortedPostings(list []Posting) []Posting {
	if !slices.IsSortedFunc(list, comparePassages) {
		slices.SortFunc(list, comparePassages)
	}
	return list
}

func comparePassages(x, y Posting) int { return cmp.Compare(x.Passage, y.Passage) }

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
		w.grams.add(analysis.Trigram(v), blocks, w.blocks)
	}
}
