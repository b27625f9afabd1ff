// Package hosttest checks the properties that every host's reader must have, for any
// transcript.
package hosttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// maxResumed is how many positions a reading is resumed from.
const maxResumed = 40

// Read reads a transcript and checks every record: its id, its bytes, its flags, and that
// reading from its position misses no later record.
func Read(t testing.TB, h hosts.Host, tr hosts.Transcript) []hosts.Record {
	t.Helper()
	records, err := readAll(t.Context(), h, tr, hosts.Position{})
	if err != nil {
		t.Fatalf("%s: %v", tr.Path, err)
	}
	seen := map[string][]byte{}
	for i, rec := range records {
		if rec.TooLong > 0 {
			continue
		}
		switch before, ok := seen[rec.ID]; {
		case rec.ID == "":
			t.Errorf("record %d has no id: %.200q", i, rec.Raw.Bytes)
		case ok && bytes.Equal(before, rec.Raw.Bytes) && rec.ID[:min(7, len(rec.ID))] == "sha256:":
			t.Errorf("record %d has the id of one before it: %.200q", i, rec.Raw.Bytes)
		}
		seen[rec.ID] = rec.Raw.Bytes
		check(t, i, rec)
	}
	for i := 0; i < len(records); i += max(1, len(records)/maxResumed) {
		resume(t, h, tr, records, i)
	}
	return records
}

func readAll(ctx context.Context, h hosts.Host, tr hosts.Transcript, from hosts.Position) (records []hosts.Record, err error) {
	for rec, err := range h.Read(ctx, tr, from) {
		if err != nil {
			return records, err
		}
		records = append(records, rec)
	}
	return records, nil
}

func check(t testing.TB, i int, rec hosts.Record) {
	t.Helper()
	if err := rec.Validate(); err != nil {
		t.Errorf("record %d: %v", i, err)
	}
	if unknown := rec.Flags&store.FlagUnknown != 0; unknown == rec.Known || unknown && rec.Flags&store.FlagHidden == 0 {
		t.Errorf("record %d: type %q, known %v, flags %b", i, rec.Type, rec.Known, rec.Flags)
	}
	again, err := wire.Decode(rec.Raw.Format, rec.Role, rec.Raw.Bytes)
	if err != nil {
		t.Errorf("record %d: %v", i, err)
		return
	}
	again.ID, again.Time = rec.ID, rec.Time
	if !wire.Equal(again, rec.Message) {
		t.Errorf("record %d is not what its bytes say: %.200q", i, rec.Raw.Bytes)
	}
}

// resume reads from the end of a record.
func resume(t testing.TB, h hosts.Host, tr hosts.Transcript, records []hosts.Record, i int) {
	t.Helper()
	rest, err := readAll(t.Context(), h, tr, records[i].End)
	if err != nil {
		t.Fatalf("from record %d: %v", i, err)
	}
	at := 0
	for _, want := range records[i+1:] {
		n := slices.IndexFunc(rest[at:], func(r hosts.Record) bool {
			return r.ID == want.ID && bytes.Equal(r.Raw.Bytes, want.Raw.Bytes) && r.Flags == want.Flags && r.Branch == want.Branch && r.After == want.After
		})
		if n < 0 {
			t.Errorf("a reading from record %d misses %q", i, want.ID)
			return
		}
		at += n + 1
	}
}

// Lines checks that the records of a transcript are its lines.
func Lines(t testing.TB, records []hosts.Record, content []byte) {
	t.Helper()
	var got [][]byte
	for _, rec := range records {
		if !hosts.IsAside(rec.ID) {
			got = append(got, rec.Raw.Bytes)
		}
	}
	var want [][]byte
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if len(bytes.TrimSpace(line)) > 0 {
			want = append(want, line)
		}
	}
	if len(got) < len(want) && !bytes.HasSuffix(content, []byte("\n")) {
		want = want[:len(want)-1] // an incomplete last line
	}
	if !slices.EqualFunc(want, got, bytes.Equal) {
		t.Errorf("%d records of %d lines, or not the same bytes", len(got), len(want))
	}
}

// ReadLines reads a file of lines and checks it with Read and Lines.
func ReadLines(t testing.TB, h hosts.Host, content string) []hosts.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	records := Read(t, h, hosts.Transcript{Host: h.About().Name, Path: path, Session: "s"})
	Lines(t, records, []byte(content))
	return records
}

// Shape is what becomes of the bytes of a record. It is an alias, so that vet lets tables leave out
// the names of its fields.
type Shape = struct {
	Raw   string
	Role  llms.Role
	Shows string // the text, or the bytes of a record that is not known
	Flags store.Flag
	Type  string
}

// Shapes checks what read makes of records.
func Shapes(t *testing.T, read func(raw string) hosts.Record, shapes map[string]Shape) {
	t.Helper()
	for name, want := range shapes {
		rec := read(want.Raw)
		got := Shape{string(rec.Raw.Bytes), rec.Role, rec.Render(), rec.Flags, rec.Type}
		if len(rec.Parts) == 1 && rec.Parts[0].Kind == llms.PartOther {
			got.Shows = string(rec.Parts[0].Extra)
		}
		if got != want || rec.ID == "" {
			t.Errorf("%s: id %q, %+v, want %+v", name, rec.ID, got, want)
		}
	}
}
