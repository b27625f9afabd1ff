package assemble

import (
	"strings"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Wanted lists the payloads that Build would put back into the tail if it was
// given them: images and files that a model looks at rather than reads about.
// Long text stays a reference, because it was taken out to save room and the
// reference says what is in it.
func Wanted(in Input) []store.PayloadID {
	v := withPinned(in)
	var ids []store.PayloadID
	seen := map[store.PayloadID]bool{}
	var walk func(parts []llms.Part)
	walk = func(parts []llms.Part) {
		for _, p := range parts {
			if p.Result != nil {
				walk(p.Result.Output)
			}
			if p.Kind != llms.PartBlob || p.Ref == nil || p.Ref.Tokens > in.Budget {
				continue
			}
			if id := store.PayloadID(p.Ref.ID); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	for _, it := range v.Items[Tail(v, in.Policy, in.Budget):] {
		if !it.IsSummary() && !it.Stub {
			walk(in.Messages[it.Message].Body.Parts)
		}
	}
	return ids
}

// rehydrate puts externalised content back into the messages of the tail,
// newest first, as far as it fits into what is left of the budget.
func (b *builder) rehydrate(left int) int {
	if len(b.Payloads) == 0 {
		return left
	}
	spare := left
	if b.partial {
		spare -= llms.CountMessage(b.Counter, llms.User(notice))
	}
	for n := len(b.groups) - 1; n >= 0; n-- {
		g := &b.groups[n]
		if g.to <= b.tail {
			break
		}
		for k := len(g.entries) - 1; g.chosen && k >= 0; k-- {
			e := &g.entries[k]
			m, found := b.filled(e.msg)
			if !found {
				continue
			}
			if tokens := llms.CountMessage(b.Counter, m); tokens-e.tokens <= spare {
				spare -= tokens - e.tokens
				left -= tokens - e.tokens
				e.msg, e.tokens = m, tokens
			}
		}
	}
	return left
}

// filled returns the message with the payloads that are at hand in the places
// of their references.
func (b *builder) filled(m llms.Message) (llms.Message, bool) {
	parts, found := b.fill(m.Parts)
	if found {
		m.Parts = parts
		m.Raw = llms.Raw{Format: m.Raw.Format}
	}
	return m, found
}

func (b *builder) fill(parts []llms.Part) (filled []llms.Part, found bool) {
	filled = make([]llms.Part, len(parts))
	for i, p := range parts {
		if p.Result != nil {
			if output, any := b.fill(p.Result.Output); any {
				r := *p.Result
				r.Output, p.Result, found = output, &r, true
			}
		}
		if p.Ref != nil {
			if data, any := b.Payloads[store.PayloadID(p.Ref.ID)]; any {
				p, found = restored(p, data), true
			}
		}
		filled[i] = p
	}
	return filled, found
}

// restored returns the part that a reference stands for.
func restored(p llms.Part, data []byte) llms.Part {
	ref := p.Ref
	p.Ref = nil
	switch {
	case p.Kind == llms.PartBlob:
		blob := llms.Blob{MIME: ref.MIME, Name: ref.Name}
		if p.Blob != nil {
			blob = *p.Blob
		}
		blob.Data, p.Blob = data, &blob
	case p.Kind == llms.PartToolCall && p.Call != nil:
		c := *p.Call
		c.Arguments, p.Call = string(data), &c
	case p.Kind == llms.PartToolResult && p.Result != nil:
		r := *p.Result
		r.Output, p.Result = []llms.Part{{Kind: llms.PartText, Text: strings.ToValidUTF8(string(data), "\uFFFD")}}, &r
	default:
		p.Text = string(data)
	}
	return p
}
