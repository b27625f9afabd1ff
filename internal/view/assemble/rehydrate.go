package assemble

import (
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Wanted lists the payloads that Build would put back if it was given them:
// images and files that a model looks at rather than reads about. Long text stays
// a reference: it was taken out to save room, and the reference describes it.
func Wanted(in Input) []store.PayloadID {
	v := withPinned(in.View)
	var ids []store.PayloadID
	seen := map[store.PayloadID]bool{}
	for _, it := range v.Items[restoredFrom(in, v):] {
		for _, ref := range in.blobs(it) {
			if id := store.PayloadID(ref.ID); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// blobs returns the references of an item to images and files.
func (in Input) blobs(it store.Item) (refs []*llms.Ref) {
	if it.IsSummary() || it.Stub {
		return nil
	}
	var walk func(parts []llms.Part)
	walk = func(parts []llms.Part) {
		for _, p := range parts {
			if p.Result != nil {
				walk(p.Result.Output)
			}
			if p.Kind == llms.PartBlob && p.Ref != nil && p.Ref.Tokens <= in.Budget {
				refs = append(refs, p.Ref)
			}
		}
	}
	walk(in.Messages[it.Message].Body.Parts)
	return refs
}

// restoredFrom returns the index of the first item whose images are put back. It
// is the first item after the last summary, if all images after it fit the budget
// beside the view. Otherwise the oldest images stay references, an eighth of the
// budget at a time: an image that leaves the prompt changes all that follows it
// for the provider's cache, so they leave seldom and together.
func restoredFrom(in Input, v store.View) int {
	first := oldest(v)
	for i := first; i < len(v.Items); i++ {
		if v.Items[i].IsSummary() {
			first = i + 1
		}
	}
	tokens := make([]int, len(v.Items)+1) // of the images from an item on
	for i := len(v.Items) - 1; i >= first; i-- {
		tokens[i] = tokens[i+1]
		for _, ref := range in.blobs(v.Items[i]) {
			tokens[i] += ref.Tokens
		}
	}
	step := max(1, in.Budget/8)
	skip := (max(0, tokens[first]-max(0, in.Budget-v.Tokens)) + step - 1) / step * step
	from := first
	// The newest images stay as long as they fit at all, see rehydrate.
	for i := first; i < len(v.Items) && tokens[i+1] > 0 && tokens[first]-tokens[i+1] <= skip; i++ {
		from = i + 1
	}
	return from
}

// rehydrate puts images and files back into the messages from restoredFrom on,
// newest first, as far as they fit into the rest of the budget.
func (b *builder) rehydrate(left int) int {
	if len(b.Payloads) == 0 {
		return left
	}
	spare := left
	if b.partial {
		spare -= llms.CountMessage(b.Counter, llms.User(notice))
	}
	from := restoredFrom(b.Input, b.view)
	for n := len(b.groups) - 1; n >= 0; n-- {
		g := &b.groups[n]
		if g.to <= from {
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
	if p.Kind != llms.PartBlob {
		p.Text = string(data)
		return p
	}
	blob := llms.Blob{MIME: ref.MIME, Name: ref.Name}
	if p.Blob != nil {
		blob = *p.Blob
	}
	blob.Data, p.Blob = data, &blob
	return p
}
