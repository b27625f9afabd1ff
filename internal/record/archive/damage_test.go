package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// salvaged reads an archive to its end, past everything that is damaged.
func salvaged(data []byte) (rows []Row, payloads [][]byte, damage []error) {
	r, err := NewReader(bytes.NewReader(data), Limits{})
	if err != nil {
		return nil, nil, []error{err}
	}
	defer r.Close()
	for {
		item, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, payloads, damage
		case err != nil:
			damage = append(damage, err)
		case item.Content == nil:
			rows = append(rows, item.Row)
		default:
			b, err := io.ReadAll(item.Content)
			if err != nil {
				damage = append(damage, err)
			}
			payloads = append(payloads, b)
		}
	}
}

// An archive that was cut off, or in which a byte was changed, says so, unless nothing is
// missing.
func TestSmallDamage(t *testing.T) {
	whole := archive(t, []Row{{Table: "messages", Columns: []string{"id", "record"}, Values: []any{int64(1), []byte(strings.Repeat("hello ", 50))}}}, []byte("payload"))
	want, wantPayloads, damage := salvaged(whole)
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	same := func(rows []Row, payloads [][]byte) bool {
		return reflect.DeepEqual(want, rows) && reflect.DeepEqual(wantPayloads, payloads)
	}
	for n := range len(whole) {
		rows, payloads, damage := salvaged(whole[:n])
		if len(damage) == 0 && !same(rows, payloads) {
			t.Fatalf("an archive of %d bytes passes for one of %d", n, len(whole))
		}
	}
	for n := range whole {
		changed := bytes.Clone(whole)
		changed[n] ^= 0x40
		rows, payloads, damage := salvaged(changed)
		if len(damage) == 0 && !same(rows, payloads) {
			t.Errorf("byte %d: other content, and no damage is told", n)
		}
		if !Peek(bytes.NewReader(changed)) {
			t.Errorf("byte %d: it is not known for an archive any more", n)
		}
	}
}

// large is an archive of many frames.
func large(t *testing.T) ([]byte, []Row, [][]byte) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	noise := func(n int) []byte {
		b := make([]byte, n)
		if _, err := random.Read(b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	var rows []Row
	for i := range 3000 {
		record := fmt.Sprintf("message %d %x", i, noise(300))
		rows = append(rows, Row{Table: "messages", Columns: []string{"id", "record"}, Values: []any{int64(i), []byte(record)}})
	}
	payloads := [][]byte{noise(1 << 20), noise(10)}
	return archive(t, rows, payloads...), rows, payloads
}

// One flipped bit costs a frame, wherever it is: everything else is read.
func TestOneBit(t *testing.T) {
	whole, rows, payloads := large(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		at, bit := random.IntN(len(whole)), random.IntN(8)
		changed := bytes.Clone(whole)
		changed[at] ^= 1 << bit
		got, gotPayloads, damage := salvaged(changed)
		same := reflect.DeepEqual(rows, got) && reflect.DeepEqual(payloads, gotPayloads)
		if len(damage) == 0 && !same || len(rows)-len(got) > 250 || len(gotPayloads) == 0 {
			t.Errorf("bit %d of byte %d: %d of %d rows, %v", bit, at, len(got), len(rows), damage)
		}
	}
}

// Damage costs only the damaged frames: it is reported, and everything behind it is read.
func TestTwoFrames(t *testing.T) {
	whole, rows, payloads := large(t)
	changed := bytes.Clone(whole)
	clear(changed[len(changed)/4 : len(changed)/4+200<<10])
	got, gotPayloads, damage := salvaged(changed)
	if len(damage) == 0 || len(got) == len(rows) {
		t.Fatalf("%d of %d rows, and no damage is told: %v", len(got), len(rows), damage)
	}
	known := map[int64]Row{}
	for _, r := range rows {
		known[r.Values[0].(int64)] = r
	}
	for _, r := range got {
		if !reflect.DeepEqual(known[r.Values[0].(int64)], r) {
			t.Fatalf("row %v is not what was written", r.Values[0])
		}
	}
	if lost := len(rows) - len(got); lost > 900 {
		t.Errorf("%d of %d rows are lost to 200 KiB of %d", lost, len(rows), len(whole))
	}
	if got[0].Values[0] != int64(0) || got[len(got)-1].Values[0] != int64(len(rows)-1) || !reflect.DeepEqual(payloads, gotPayloads) {
		t.Error("what stands before and behind the damage is not there")
	}
}

// An archive is an ordinary .tar.zst to other programs.
func TestOrdinaryStream(t *testing.T) {
	whole, rows, _ := large(t)
	z, err := zstd.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(plain, []byte(`"record":`)); n != len(rows) {
		t.Errorf("%d rows in the stream, want %d", n, len(rows))
	}
}
