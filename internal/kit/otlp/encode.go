package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// encode writes spans as an ExportTraceServiceRequest of OTLP. All spans of a provider
// have one resource. It leaves out events and links: this module's spans have none.
func encode(spans []trace.ReadOnlySpan) []byte {
	if len(spans) == 0 {
		return nil
	}
	var all message
	scope := message{}.text(1, spans[0].InstrumentationScope().Name)
	scoped := message{}.bytes(1, scope)
	for _, s := range spans {
		scoped = scoped.bytes(2, encodeSpan(s))
	}
	resource := message{}.attributes(1, spans[0].Resource().Attributes())
	return all.bytes(1, message{}.bytes(1, resource).bytes(2, scoped))
}

func encodeSpan(s trace.ReadOnlySpan) message {
	at := s.SpanContext()
	trace, span, flags := at.TraceID(), at.SpanID(), uint32(at.TraceFlags())
	m := message{}.bytes(1, trace[:]).bytes(2, span[:]).text(3, at.TraceState().String())
	if parent := s.Parent(); parent.HasSpanID() {
		id := parent.SpanID()
		m = m.bytes(4, id[:])
		flags |= 0x100 // it is known whether the parent is remote
		if parent.IsRemote() {
			flags |= 0x200
		}
	}
	m = m.text(5, s.Name()).number(6, uint64(s.SpanKind()))
	m = m.fixed(7, uint64(s.StartTime().UnixNano())).fixed(8, uint64(s.EndTime().UnixNano()))
	m = m.attributes(9, s.Attributes()).number(10, uint64(s.DroppedAttributes()))
	switch s.Status().Code {
	case codes.Ok:
		m = m.bytes(15, message{}.number(3, 1))
	case codes.Error:
		m = m.bytes(15, message{}.text(2, s.Status().Description).number(3, 2))
	}
	return protowire.AppendFixed32(protowire.AppendTag(m, 16, protowire.Fixed32Type), flags)
}

// message is an encoded message of protobuf. Its methods add a field.
type message []byte

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m message) text(field protowire.Number, s string) message {
	if s == "" {
		return m
	}
	return m.bytes(field, []byte(s))
}

func (m message) number(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) fixed(field protowire.Number, n uint64) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), n)
}

// attributes adds pairs of a key and a value. Values that are neither number, truth value
// nor a list of texts are written as text.
func (m message) attributes(field protowire.Number, all []attribute.KeyValue) message {
	for _, kv := range all {
		var value message
		switch kv.Value.Type() {
		case attribute.INT64:
			value = value.number(3, uint64(kv.Value.AsInt64()))
		case attribute.BOOL:
			value = value.number(2, protowire.EncodeBool(kv.Value.AsBool()))
		case attribute.STRINGSLICE:
			var list message
			for _, s := range kv.Value.AsStringSlice() {
				list = list.bytes(1, message{}.bytes(1, []byte(s)))
			}
			value = value.bytes(5, list)
		default:
			value = value.bytes(1, []byte(kv.Value.String()))
		}
		m = m.bytes(field, message{}.text(1, string(kv.Key)).bytes(2, value))
	}
	return m
}
