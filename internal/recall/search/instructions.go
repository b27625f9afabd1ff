package search

import (
	"sync"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// A question that asks for work often shares no word with the instruction that
// the work must follow: "always use tabs" and "write a parser". The user's
// messages with the words of instructions are therefore read as well, and those
// that are instructions get a small prior.

const (
	instructionTexts = 64 // read for instructions
	instructionsKept = 5  // of those that the words of the query did not find
)

// instructionCues is made once; a search does not change it.
var instructionCues = sync.OnceValues(func() (*Query, error) { return parseQuery(analysis.InstructionCues, true) })

// instructions lists the user's messages that may be instructions, best first.
func (p *search) instructions(userRole uint8) ([]found, error) {
	cues, err := instructionCues()
	if err != nil {
		return nil, err
	}
	sub := &search{ctx: p.ctx, limits: p.limits, query: cues, filter: p.filter, stats: p.stats}
	if len(sub.filter.Roles) == 0 {
		sub.filter.Roles = []uint8{userRole}
	}
	for _, sh := range p.shares {
		part := *sh
		part.plain = false
		sub.shares = append(sub.shares, &part)
	}
	if err := sub.lookup(); err != nil {
		return nil, err
	}
	chosen := sub.choose()
	into := &best{n: instructionTexts}
	for n, budget := len(sub.shares)-1, p.limits.newest; n >= 0 && budget > 0; n-- {
		touched, err := sub.offer(n, chosen, sub.shares[n].end, into)
		if err != nil {
			return nil, err
		}
		budget -= touched
	}
	return into.sorted(), nil
}

// addInstructions marks the instructions among the texts that are ranked, and
// adds those that the words of the query did not find.
func (p *search) addInstructions(docs []scoredDoc, w Weights, fetch Fetch) ([]scoredDoc, error) {
	if !p.query.Task || w.Instruction == 0 || p.query.strict() {
		return docs, nil
	}
	list, err := p.instructions(w.UserRole)
	if err != nil {
		return nil, err
	}
	p.scorer.instructions = true
	for i := range list {
		list[i].scored = true
	}
	got, err := p.readWindow(list, fetch)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(docs))
	for i, d := range docs {
		at[d.id] = i
	}
	kept := 0
	for _, d := range got {
		i, found := at[d.id]
		switch {
		case !d.text.instruction:
		case found:
			docs[i].text.instruction = true
		case kept < instructionsKept:
			docs = append(docs, d.scoredDoc)
			kept++
		}
	}
	return docs, nil
}
