package segment

import (
	"encoding/binary"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

func (h *header) encode() []byte {
	b := append([]byte(formatMagic), formatVersion)
	for _, v := range []int64{
		int64(h.info.Docs), h.info.FirstID, h.info.LastID, h.info.TextBytes, h.info.WordBytes, h.info.GramBytes,
		h.info.DocBytes, int64(h.passages), int64(h.blocks), int64(h.words), h.minTime, h.maxTime, int64(h.flags),
	} {
		b = binary.AppendVarint(b, v)
	}
	for _, s := range h.streams {
		b = binary.AppendVarint(b, s.section)
		b = binary.AppendVarint(b, s.size)
	}
	b = binary.AppendVarint(b, int64(len(h.terms)))
	var last dictBlock
	for _, t := range h.terms {
		shared := sharedPrefix(last.first, t.first)
		b = binary.AppendVarint(b, int64(shared))
		b = binary.AppendVarint(b, int64(len(t.first)-shared))
		b = append(b, t.first[shared:]...)
		b = binary.AppendVarint(b, t.offset-last.offset)
		b = binary.AppendVarint(b, t.postings-last.postings)
		b = binary.AppendVarint(b, t.positions-last.positions)
		last = t
	}
	b = binary.AppendVarint(b, int64(len(h.grams)))
	var lastGram gramBlock
	for _, g := range h.grams {
		b = binary.AppendVarint(b, int64(g.first)-int64(lastGram.first))
		b = binary.AppendVarint(b, g.offset-lastGram.offset)
		b = binary.AppendVarint(b, g.postings-lastGram.postings)
		lastGram = g
	}
	return b
}

func (h *header) decode(b []byte) error {
	if len(b) < 5 || string(b[:4]) != formatMagic {
		return corrupt("not a segment")
	}
	if b[4] != formatVersion {
		return corrupt("unknown format version")
	}
	v := &numbers{b: b[5:]}
	h.info.Docs = int(v.signed())
	for _, f := range []*int64{
		&h.info.FirstID, &h.info.LastID, &h.info.TextBytes, &h.info.WordBytes, &h.info.GramBytes, &h.info.DocBytes,
	} {
		*f = v.signed()
	}
	h.passages, h.blocks, h.words = uint32(v.signed()), uint32(v.signed()), uint64(v.signed())
	h.minTime, h.maxTime, h.flags = v.signed(), v.signed(), uint8(v.signed())
	for i := range h.streams {
		h.streams[i] = streamPlace{v.signed(), v.signed()}
	}
	h.decodeBlocks(v)
	if v.bad || len(v.b) > 0 {
		return corrupt("header")
	}
	return nil
}

func (h *header) decodeBlocks(v *numbers) {
	h.terms = make([]dictBlock, 0, v.count(uint64(v.signed())))
	var last dictBlock
	for range cap(h.terms) {
		shared := int(v.signed())
		suffix := v.bytes(uint64(v.signed()))
		if v.bad || shared < 0 || shared > len(last.first) {
			v.bad = true
			return
		}
		last = dictBlock{last.first[:shared] + string(suffix), last.offset + v.signed(), last.postings + v.signed(), last.positions + v.signed()}
		h.terms = append(h.terms, last)
	}
	h.grams = make([]gramBlock, 0, v.count(uint64(v.signed())))
	var lastGram gramBlock
	for range cap(h.grams) {
		lastGram = gramBlock{
			analysis.Trigram(int64(lastGram.first) + v.signed()), lastGram.offset + v.signed(), lastGram.postings + v.signed(),
		}
		h.grams = append(h.grams, lastGram)
	}
}
