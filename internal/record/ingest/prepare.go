package ingest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// prepared is a message ready to be written: its row, and the payloads that must
// be written first.
type prepared struct {
	row      store.NewMessage
	payloads []store.NewPayload
	print    store.Fingerprint
}

// prepareAll does the work that needs no transaction: the only writer of a database should
// not wait for hashes and counts.
func (in *Ingester) prepareAll(ctx context.Context, id store.ConversationID, ms []input) (ready []prepared, err error) {
	calls, err := in.origins(ctx, id, ms)
	if err != nil {
		return nil, err
	}
	ready = make([]prepared, len(ms))
	for i := range ms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if ready[i], err = in.prepare(ms[i], calls); err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(ms), err)
		}
	}
	return ready, nil
}

// prepare hashes the record of a message and moves large content into payloads. calls has
// the origins of the outputs of calls.
func (in *Ingester) prepare(m input, calls map[string]origin) (prepared, error) {
	if err := m.Validate(); err != nil {
		return prepared{}, err
	}
	native, said := m.ID, m.Time
	format, record, derivable, err := recordOf(m.Message)
	if err != nil {
		return prepared{}, err
	}
	row := store.NewMessage{
		Native: native, Role: m.Role, Said: said, Flags: m.Flags | echo(m.Message),
		Format: format, Record: record, Size: int64(len(record)), SHA256: sha256.Sum256(record),
	}
	row.Calls, row.Results = store.Links(m.Message)
	p := prepared{row: row, print: store.Fingerprint{Native: native, Said: said, SHA256: row.SHA256, Content: func() ([sha256.Size]byte, bool) {
		return store.ContentSum(format, m.Role, record)
	}}}
	body := m.Message
	if in.oversize(body) {
		ex := in.externalise(body, calls, format, record, m.Flags&store.FlagMasked != 0)
		body, p.payloads = ex.body, ex.payloads
		p.row.Record, p.row.Cuts, p.row.Payloads = ex.template, ex.cuts, ex.ids
		derivable = false
	}
	if !derivable {
		p.row.Body = &body
	}
	p.row.Tokens = llms.CountMessage(in.counter, body)
	return p, nil
}

// recordOf returns the record of a message: the bytes it arrived as or, for a
// message made in Go, its shortest encoding. derivable says whether the message
// can be decoded from the record alone.
func recordOf(m llms.Message) (f llms.Format, record []byte, derivable bool, err error) {
	m.ID, m.Time = "", time.Time{}
	if m.Raw.Bytes != nil {
		again, err := wire.Decode(m.Raw.Format, m.Role, m.Raw.Bytes)
		again.ID, again.Time = "", time.Time{}
		return m.Raw.Format, m.Raw.Bytes, err == nil && wire.Equal(m, again), nil
	}
	if record, err := wire.Encode(llms.FormatText, m); err == nil {
		return llms.FormatText, record, true, nil
	}
	record, err = wire.Encode(llms.FormatLCM, m)
	if err != nil {
		return "", nil, false, fmt.Errorf("the message cannot be encoded: %w", err)
	}
	return llms.FormatLCM, record, true, nil
}
