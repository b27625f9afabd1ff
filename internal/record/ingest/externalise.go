package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/explore"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// oversize reports whether content of a message must leave the conversation:
// text above the threshold, or inline bytes of an image or file.
func (in *Ingester) oversize(m llms.Message) bool {
	return slices.ContainsFunc(m.Parts, in.oversizePart)
}

func (in *Ingester) oversizePart(p llms.Part) bool {
	switch {
	case p.Ref != nil:
		return false
	case p.Blob != nil:
		return len(p.Blob.Data) > 0
	case p.Result != nil:
		return slices.ContainsFunc(p.Result.Output, in.oversizePart)
	case p.Call != nil:
		return in.oversizeText(p.Call.Arguments)
	}
	return in.oversizeText(p.Text)
}

// oversizeText counts only texts that could be too large: a token has at least
// one byte.
func (in *Ingester) oversizeText(s string) bool {
	return len(s) > in.threshold && in.counter.Count(s) > in.threshold
}

// pasted names long text that a user typed or pasted.
const pasted = "pasted text"

// externalised is a message whose large content was moved into payloads.
type externalised struct {
	body     llms.Message // with references in place of the content
	template []byte       // the record with the content cut out of it
	cuts     []store.Cut
	payloads []store.NewPayload
	ids      []store.PayloadID
}

// externalise moves the oversize content of a message into payloads, and cuts it
// out of the record, so that it is stored once. A whole record is not cut,
// because it holds secrets that the payloads do not.
func (in *Ingester) externalise(m llms.Message, calls map[string]origin, format llms.Format, record []byte, whole bool) externalised {
	x := &extraction{Ingester: in, calls: calls, known: map[[sha256.Size]byte]store.PayloadID{}}
	body := m
	body.Raw = llms.Raw{}
	var from origin
	if m.Role == llms.RoleUser {
		from.name = pasted
	}
	body.Parts = x.parts(m.Parts, from)
	ex := externalised{body: body, template: record}
	if whole {
		ex.payloads, ex.ids = x.payloads, x.ids
		return ex
	}
	if format == llms.FormatText {
		ex.template = nil
		ex.cuts = []store.Cut{{Style: store.Verbatim, Payload: x.ids[0]}}
	} else {
		ex.template, ex.cuts = x.carve(record)
	}
	ex.payloads, ex.ids = x.payloads, x.ids
	return ex
}

// extraction collects the payloads of one message.
type extraction struct {
	*Ingester
	calls    map[string]origin
	payloads []store.NewPayload
	ids      []store.PayloadID
	known    map[[sha256.Size]byte]store.PayloadID
	smallest int // bytes of the smallest payload
}

func (x *extraction) parts(parts []llms.Part, from origin) []llms.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if !x.oversizePart(p) {
			continue
		}
		switch {
		case p.Blob != nil:
			b := *p.Blob
			of := from
			if b.Name != "" || from.name == pasted {
				of = origin{name: b.Name}
			}
			out[i].Ref = x.put(b.Data, of, b.MIME)
			b.Data = nil
			out[i].Blob = &b
		case p.Result != nil:
			r := *p.Result
			from, ok := x.calls[r.CallID]
			if !ok {
				from.name = r.Name
			}
			r.Output = x.parts(r.Output, from)
			out[i].Result = &r
		case p.Call != nil:
			c := *p.Call
			c.Arguments = x.arguments(c.Arguments, c.Name)
			out[i].Call = &c
		default:
			out[i].Ref = x.put([]byte(p.Text), from, "")
			out[i].Text = ""
		}
	}
	return out
}

// arguments replaces long strings in a call's arguments with references, so that
// the call stays readable: the name of a written file stays, its content goes.
func (x *extraction) arguments(args, tool string) string {
	from := originOf(tool, args)
	template, cuts := wire.Carve([]byte(args), max(x.threshold/2, 1024))
	if len(cuts) == 0 {
		// Not JSON, or many small values: replace all of it.
		ref := x.put([]byte(args), origin{name: tool}, "application/json")
		whole, err := json.Marshal(map[string]string{"lcm": refLine(ref)})
		if err != nil { // impossible: it is one string
			return args
		}
		return string(whole)
	}
	for i := range cuts {
		ref := x.put(cuts[i].Content, from, "")
		cuts[i] = wire.Cut{At: cuts[i].At, Content: []byte(refLine(ref))}
	}
	joined, err := wire.Join(template, cuts, nil)
	if err != nil { // impossible: the cuts are Carve's own
		return args
	}
	return string(joined)
}

// put makes a payload of content and returns the reference to it.
func (x *extraction) put(data []byte, from origin, mime string) *llms.Ref {
	sum := sha256.Sum256(data)
	report := explore.Explore(from.name, mime, data)
	tokens := 0
	if utf8.Valid(data) {
		tokens = x.counter.Count(string(data))
	}
	id, ok := x.known[sum]
	if !ok {
		id = store.PayloadID("file_" + hex.EncodeToString(sum[:8]))
		x.known[sum] = id
		x.ids = append(x.ids, id)
		x.payloads = append(x.payloads, store.NewPayload{
			Data: data, Name: from.name, Path: from.path, MIME: report.MIME, Kind: report.Kind, Summary: report.Summary, Tokens: tokens,
		})
		if x.smallest == 0 || len(data) < x.smallest {
			x.smallest = len(data)
		}
	}
	return &llms.Ref{ID: string(id), Name: from.name, MIME: report.MIME, Bytes: int64(len(data)), Tokens: tokens, Note: report.Summary}
}

// refLine is the text shown in place of the content.
func refLine(ref *llms.Ref) string {
	return llms.Message{Parts: []llms.Part{{Kind: llms.PartText, Ref: ref}}}.Render()
}

// carve cuts strings out of the record that are payloads already, and others
// that are large enough to be worth compressing.
func (x *extraction) carve(record []byte) ([]byte, []store.Cut) {
	template, cuts := wire.Carve(record, min(x.smallest, x.threshold))
	var out []byte
	var kept []store.Cut
	at := 0
	for _, cut := range cuts {
		segment := template[at:cut.At]
		at = cut.At
		id, known := x.known[sha256.Sum256(cut.Content)]
		if !known && len(cut.Content) >= 4*x.threshold {
			id, known = store.PayloadID(x.put(cut.Content, origin{}, "").ID), true
		}
		if known {
			out = append(out, segment...)
			kept = append(kept, store.Cut{At: len(out), Style: cut.Style, Payload: id})
			continue
		}
		whole, err := wire.Join(segment, []wire.Cut{{At: len(segment), Style: cut.Style, Content: cut.Content}}, nil)
		if err != nil { // impossible: the cut is Carve's own
			return record, nil
		}
		out = append(out, whole...)
	}
	return append(out, template[at:]...), kept
}

// rename changes the id of a payload to the one that the store gave it because
// other content had the expected one: 16 digits of a hash can be made to collide.
func (p *prepared) rename(from, to store.PayloadID) {
	for i := range p.row.Cuts {
		if p.row.Cuts[i].Payload == from {
			p.row.Cuts[i].Payload = to
		}
	}
	for i := range p.row.Payloads {
		if p.row.Payloads[i] == from {
			p.row.Payloads[i] = to
		}
	}
	if p.row.Body != nil {
		renameRefs(p.row.Body.Parts, string(from), string(to))
	}
}

func renameRefs(parts []llms.Part, from, to string) {
	for i := range parts {
		if r := parts[i].Ref; r != nil && r.ID == from {
			r.ID = to
		}
		if parts[i].Result != nil {
			renameRefs(parts[i].Result.Output, from, to)
		}
	}
}
