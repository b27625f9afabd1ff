package cli

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// endless repeats a text without end, and counts the bytes that were read.
type endless struct {
	text []byte
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.read%len(e.text)]
		e.read++
	}
	return len(p), nil
}

// TestEndlessInput: an input without an end is given up after a bounded number
// of bytes.
func TestEndlessInput(t *testing.T) {
	const piece, total, buffer = 1 << 20, 4 << 20, 1 << 16
	for name, tt := range map[string]struct {
		text string
		most int
		want error
	}{
		"zeros":           {"\x00", buffer, nil},
		"text":            {"hello, world", buffer, nil},
		"one long line":   {"{", piece + buffer, errLongPiece},
		"messages":        {"{\"role\":\"user\",\"content\":\"x\"}\n", total + buffer, errLongPipe},
		"white space":     {" \n", total + buffer, errLongPipe},
		"a blank, once":   {" ", piece + buffer, errLongPiece},
		"like an archive": {"\x28\xb5\x2f\xfd", piece + buffer, errLongPiece},
	} {
		in := &endless{text: []byte(tt.text)}
		_, err := io.Copy(struct{ io.Writer }{io.Discard}, &bounded{r: in, piece: piece, total: total})
		if !errors.Is(err, tt.want) || in.read > tt.most {
			t.Errorf("%s: %v after %d bytes, want %v after at most %d", name, err, in.read, tt.want, tt.most)
		}
	}
	whole := []byte("\ufeff\n[{\"role\":\"user\",\"content\":\"x\"}]")
	if got, err := io.ReadAll(&bounded{r: bytes.NewReader(whole), piece: piece, total: total}); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%q, %v", got, err)
	}
}
