package segment

import (
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

	terms   map[string]uint32 // term → its number
	known   []builtTerm
	written map[string]uint32 // word as written → the number of its form
	plain   map[string]uint32 // folded word → the number of its form
	forms   []builtForm
	entries []wordEntry
	codes   []byte       // of the positions, of each entry
	open    []occurrence // of the open passage
	places  []uint32     // codes of the open passage, by terms
	touched []uint32
	tokens  []analysis.Token
	scratch []byte
	words   int // in the open passage
	opts    Options

	grams gramBuilder
}

// builtTerm is a term of the segment.
type builtTerm struct {
	name     string
	tally    uint8  // occurrences in the open passage
	first    uint32 // of the open passage's codes, the next of this term
	forms    uint32 // that stand in the texts
	nameForm uint32 // the number of the form of identifiers, plus one
}

// builtForm is a folded word, which is a form of a term.
type builtForm struct {
	name   string
	term   uint32
	number uint32 // among the forms of the term, plus one; zero: no text has it as a word yet
}

// occurrence is a token of the open passage.
type occurrence struct{ term, code uint32 }

type wordEntry struct {
	term, passage uint32
	codes         uint32 // where its codes begin
	count         uint8
}

// NewBuilder returns an empty builder.
func NewBuilder(opts Options) *Builder {
	if opts.BlockBytes <= 0 {
		opts.BlockBytes = DefaultBlockBytes
	}
	return &Builder{
		opts:    opts,
		terms:   make(map[string]uint32, 8*opts.Docs),
		written: make(map[string]uint32, 8*opts.Docs),
		plain:   make(map[string]uint32, 8*opts.Docs),
		entries: make([]wordEntry, 0, 64*opts.Docs),
		codes:   make([]byte, 0, 96*opts.Docs),
		grams:   gramBuilder{blockBytes: opts.BlockBytes, entries: make([]uint64, 0, 192*opts.Docs)},
	}
}

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
	if b.opts.NoWords {
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
			b.addToken(doc, t)
		}
	}
	b.closePassage(doc)
}

func (b *Builder) addToken(doc uint32, t analysis.Token) {
	var term, code uint32
	switch t.Kind {
	case analysis.WholeToken:
		b.scratch = append(b.scratch[:0], t.Term()...)
		term = b.termOf(b.scratch)
	case analysis.NameToken:
		f, ok := b.formOf(t)
		if !ok {
			return
		}
		term = b.forms[f].term
		code = b.nameNumber(term) * PassageWords
	default:
		f, ok := b.formOf(t)
		if !ok {
			return
		}
		if b.words == PassageWords {
			b.closePassage(doc)
		}
		term = b.forms[f].term
		code = b.wordNumber(f)*PassageWords + uint32(b.words)
		b.words++
	}
	switch tally := &b.known[term].tally; *tally {
	case 255:
		return
	case 0:
		b.touched = append(b.touched, term)
		fallthrough
	default:
		*tally++
		b.open = append(b.open, occurrence{term, code})
	}
}

// formOf numbers the form of a word. It remembers words as they were written,
// since folding and stemming are the costly part. It returns false for a word that
// folds to nothing.
func (b *Builder) formOf(t analysis.Token) (uint32, bool) {
	if n, ok := b.written[string(t.Raw)]; ok {
		return n, true
	}
	if t.Kind == analysis.PlainToken {
		b.scratch = append(b.scratch[:0], t.Raw...)
	} else {
		b.scratch = analysis.PlainWord(b.scratch[:0], t.Raw)
	}
	if len(b.scratch) == 0 {
		return 0, false
	}
	n, ok := b.plain[string(b.scratch)]
	if !ok {
		n = uint32(len(b.forms))
		name := string(b.scratch)
		b.plain[name] = n
		if t.Kind != analysis.PlainToken {
			b.scratch = analysis.PlainTerm(b.scratch)
		}
		b.forms = append(b.forms, builtForm{name: name, term: b.termOf(b.scratch)})
	}
	if len(t.Raw) <= analysis.MaxTermBytes {
		b.written[string(t.Raw)] = n
	}
	return n, true
}

// wordNumber is the number of a form among those of its term.
func (b *Builder) wordNumber(form uint32) uint32 {
	f := &b.forms[form]
	if f.number == 0 {
		t := &b.known[f.term]
		t.forms++
		f.number = t.forms
	}
	return f.number - 1
}

// nameNumber is the number of the form of identifiers among the forms of a term.
func (b *Builder) nameNumber(term uint32) uint32 {
	t := &b.known[term]
	if t.nameForm == 0 {
		t.forms++
		t.nameForm = t.forms
	}
	return t.nameForm - 1
}

// termOf numbers a term.
func (b *Builder) termOf(term []byte) uint32 {
	if n, ok := b.terms[string(term)]; ok {
		return n
	}
	n := uint32(len(b.known))
	name := string(term)
	b.terms[name] = n
	b.known = append(b.known, builtTerm{name: name})
	return n
}

// closePassage writes the open passage; every document has at least one, if
// only an empty one.
func (b *Builder) closePassage(doc uint32) {
	passage := uint32(len(b.lengths))
	b.places = slices.Grow(b.places[:0], len(b.open))[:len(b.open)]
	at := uint32(0)
	for _, n := range b.touched {
		t := &b.known[n]
		t.first, at = at, at+uint32(t.tally)
	}
	for _, o := range b.open {
		t := &b.known[o.term]
		b.places[t.first] = o.code
		t.first++
	}
	at = 0
	for _, n := range b.touched {
		t := &b.known[n]
		b.entries = append(b.entries, wordEntry{n, passage, uint32(len(b.codes)), t.tally})
		for _, code := range b.places[at:t.first] {
			b.codes = binary.AppendUvarint(b.codes, uint64(code))
		}
		at, t.tally = t.first, 0
	}
	b.lengths = append(b.lengths, uint8(b.words))
	b.docOf = append(b.docOf, doc)
	b.open, b.touched, b.words = b.open[:0], b.touched[:0], 0
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
	starts := make([]uint32, len(b.known)+1)
	for _, e := range b.entries {
		starts[e.term+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	lists := make([]listed, len(b.entries))
	at := slices.Clone(starts)
	for _, e := range b.entries {
		lists[at[e.term]] = listed{Posting{w.renumber[e.passage], e.count}, e.codes}
		at[e.term]++
	}
	forms := b.formsByTerm()
	for _, t := range b.alphabetical() {
		if list := lists[starts[t]:starts[t+1]]; len(list) > 0 {
			w.words.add([]byte(b.known[t].name), sortedPostings(list), b.formNames(t, forms), b.codes)
		}
	}
}

// formsByTerm lists the forms that texts have as words, in order of their terms.
func (b *Builder) formsByTerm() []uint32 {
	list := make([]uint32, 0, len(b.forms))
	for n, f := range b.forms {
		if f.number > 0 {
			list = append(list, uint32(n))
		}
	}
	slices.SortFunc(list, func(x, y uint32) int { return cmp.Compare(b.forms[x].term, b.forms[y].term) })
	return list
}

// formNames are the forms of a term by their numbers, none if the term is no word
// of a text.
func (b *Builder) formNames(term uint32, byTerm []uint32) []string {
	at, ok := slices.BinarySearchFunc(byTerm, term, func(f, term uint32) int { return cmp.Compare(b.forms[f].term, term) })
	if !ok {
		return nil
	}
	names := make([]string, b.known[term].forms) // nameForm where it is not set
	for ; at < len(byTerm) && b.forms[byTerm[at]].term == term; at++ {
		f := b.forms[byTerm[at]]
		names[f.number-1] = f.name
	}
	return names
}

// alphabetical returns the terms in order. Most are told apart by their first
// eight bytes, which are compared as a number.
func (b *Builder) alphabetical() []uint32 {
	type keyed struct {
		key  uint64
		term uint32
	}
	list := make([]keyed, len(b.known))
	for i := range list {
		var first [8]byte
		copy(first[:], b.known[i].name)
		list[i] = keyed{binary.BigEndian.Uint64(first[:]), uint32(i)}
	}
	slices.SortFunc(list, func(x, y keyed) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return cmp.Compare(b.known[x.term].name, b.known[y.term].name)
	})
	order := make([]uint32, len(list))
	for i, k := range list {
		order[i] = k.term
	}
	return order
}

// sortedPostings puts a list in order of passages, which it is already when the
// segment holds one conversation.
func sortedPostings(list []listed) []listed {
	if !slices.IsSortedFunc(list, comparePassages) {
		slices.SortFunc(list, comparePassages)
	}
	return list
}

func comparePassages(x, y listed) int { return cmp.Compare(x.Passage, y.Passage) }

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
