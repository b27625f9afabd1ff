package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/jsonl"
	"github.com/lossless-context/lcm/internal/record/portable"
	"github.com/lossless-context/lcm/llms"
)

// source is an input that can be read twice.
type source struct {
	name  string
	path  string // absolute; empty for standard input
	file  *os.File
	size  int64
	piped bool   // it came through a pipe and is held in a temporary file
	left  string // the name of that file, where it could not be removed while it is open
}

// openSource opens a file. It copies an input that can be read only once.
func openSource(ctx context.Context, p *program, name string) (*source, error) {
	if name == "-" {
		return spool("standard input", p.typed(ctx))
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, failed(exitFailure, "check the path and that you may read it", "%w", err)
	case info.IsDir():
		return nil, failed(exitFailure, "name its files, or leave --session, --agent and --title out", "%s is a directory", name)
	}
	if err := isFile(name, info); err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, failed(exitFailure, "check the path and that you may read it", "%w", err)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &source{name: name, path: abs, file: file, size: info.Size()}, nil
}

// isFile refuses a pipe or a device: opening one may wait for ever.
func isFile(name string, info os.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return failed(exitFailure, "name a file, or pipe the messages into `lcm import -`", "%s is a pipe or a device; nothing was stored", name)
}

func spool(name string, r io.Reader) (*source, error) {
	file, err := os.CreateTemp("", "lcm-import-*")
	if err != nil {
		return nil, fmt.Errorf("keep the input while it is checked: %w", err)
	}
	s := &source{name: name, file: file, piped: true}
	// A file without a name is gone however the process ends.
	if os.Remove(file.Name()) != nil {
		s.left = file.Name()
	}
	if s.size, err = io.Copy(file, &bounded{r: r, piece: jsonl.MaxDocument, total: maxPiped}); err != nil {
		s.close()
		if hint, ok := pipeHints[err]; ok {
			return nil, failed(exitFailure, hint, "%s %w; nothing was stored", name, err)
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return s, nil
}

// maxPiped is the largest copy of an input that can be read only once, and may be endless.
const maxPiped = 1 << 30

var (
	errLongPiece = fmt.Errorf("has more than %d MiB in one piece", jsonl.MaxDocument>>20)
	errLongPipe  = fmt.Errorf("has more than %d MiB", maxPiped>>20)
)

var pipeHints = map[error]string{
	errLongPiece: "write its messages as one line each",
	errLongPipe:  "write it to a file and name the file",
}

// bounded ends an input that is not messages, and refuses one that is too long, so that
// an endless input does not fill the disk.
type bounded struct {
	r            io.Reader
	piece, total int64 // the most bytes in a line, and in all
	begun        bool  // something but white space was read
	line, all    int64 // bytes that were read
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	got := p[:n]
	if !b.begun {
		if first := bytes.TrimLeft(got, " \t\r\n\ufeff"); len(first) > 0 {
			b.begun = true
			if !bytes.ContainsRune([]byte("{[\x28"), rune(first[0])) { // an archive begins with 0x28
				return n, io.EOF // the parser reports the error
			}
		}
	}
	b.all += int64(n)
	if last := bytes.LastIndexByte(got, '\n'); last >= 0 {
		b.line = int64(n - last - 1)
	} else {
		b.line += int64(n)
	}
	switch {
	case b.line > b.piece:
		return 0, errLongPiece
	case b.all > b.total:
		return 0, errLongPipe
	}
	return n, err
}

func (s *source) close() {
	_ = s.file.Close() // it was only read
	if s.left != "" {
		_ = os.Remove(s.left)
	}
}

// isMessages refuses an archive: it is imported as a whole, by its name.
func (s *source) isMessages() error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !portable.Peek(s.file) {
		return nil
	}
	hint := "leave --session, --agent and --title out: what is in an archive has its own"
	if s.piped {
		hint = "name its file instead: `lcm import FILE`"
	}
	return failed(exitFailure, hint, "%s is an archive of `lcm db export`; nothing was stored", s.name)
}

// each reads the messages from the beginning.
func (s *source) each(t *jsonl.Reader, fn func(llms.Message) error) error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.Each(s.file, fn)
}

// key names the session of an input: by its path, or by its first messages.
func (s *source) key(begins [sha256.Size]byte) string {
	if s.path == "" {
		return "import:stdin:" + hex.EncodeToString(begins[:6])
	}
	return "import:" + filepath.ToSlash(s.path)
}
