// Package lines reads transcripts that are files of lines, while they are being
// written and with any content.
//
// It yields a line once it is complete. Memory is bounded by the longest line, and a
// position of one file is not applied to another file of the same name. It does not
// interpret lines.
package lines

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
)

// MaxLine is the longest line that is read. A longer one is reported and skipped.
const MaxLine = 100 << 20

// hashed is how many bytes of the first line, and of the last one that was read, identify a file.
const hashed = 4096

// Line is one line of a file.
type Line struct {
	// Bytes is the line without its line feed; nil if it is too long.
	Bytes []byte
	// Start is where the line begins, End where the next one does.
	Start, End int64
	// Head identifies the file by its beginning and by this line.
	Head string
	// Anew says that the offset is from another file: reading began at the start.
	Anew bool
}

// Read yields the lines of a file, or of a .zst file, from an offset on. It skips empty
// lines, and a last line without a line feed that is no whole JSON object. Lines of UTF-16
// are decoded, and offsets count what is decoded.
func Read(ctx context.Context, path string, offset int64, head string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r := &reader{ctx: ctx, path: path, max: MaxLine}
		if err := r.open(offset, head); err != nil {
			yield(Line{}, err)
			return
		}
		defer r.close()
		for {
			line, err := r.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// reader reads one file.
type reader struct {
	ctx   context.Context
	path  string
	max   int
	file  *os.File
	plain io.Reader // the decompressed file
	done  func()
	in    *bufio.Reader
	at    int64
	head  string
	anew  bool
}

// open goes to the offset, if the offset was taken from this file.
func (r *reader) open(offset int64, head string) (err error) {
	if r.file, _, err = regularfile.Open(r.path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := r.start(); err != nil {
		return err
	}
	peeked, err := r.in.Peek(hashed)
	if err != nil && err != io.EOF {
		return r.wrap(err)
	}
	first, _, _ := bytes.Cut(peeked, []byte("\n"))
	r.head = hash(first)
	if offset == 0 {
		return nil
	}
	if head, last, _ := strings.Cut(head, " "); head == r.head {
		if ok, err := r.skip(offset, last); ok || err != nil {
			return err
		}
	}
	r.anew = true
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return r.start()
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// lastOf describes the end of a line: its length and its hash.
func lastOf(line []byte) string {
	line = line[max(0, len(line)-hashed):]
	return strconv.Itoa(len(line)) + " " + hash(line)
}

func (r *reader) start() error {
	if r.done != nil {
		r.done()
		r.done = nil
	}
	r.plain, r.at = r.file, 0
	if strings.HasSuffix(r.path, ".zst") {
		d, err := zstd.NewReader(r.file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return r.wrap(err)
		}
		r.plain, r.done = d, d.Close
	}
	r.in = bufio.NewReaderSize(r.plain, 1<<18)
	if decoder := wide(r.in); decoder != nil { // a shell of Windows wrote a copy so
		r.plain = transform.NewReader(r.in, decoder)
		r.in = bufio.NewReaderSize(r.plain, 1<<18)
	}
	return nil
}

// wide returns the decoder of a file of UTF-16, or nil.
func wide(in *bufio.Reader) transform.Transformer {
	head, _ := in.Peek(2) // an error comes again
	switch string(head) {
	case "\xff\xfe", "{\x00":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	case "\xfe\xff", "\x00{":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
	}
	return nil
}

// skip goes to an offset, and reports whether the line before it is the last one that was
// read, and whether a line may begin there.
func (r *reader) skip(offset int64, last string) (bool, error) {
	length, _, _ := strings.Cut(last, " ")
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 1 || n > min(offset, hashed) {
		n, last = 1, "" // the line was too long, or an earlier version read it
	}
	if r.plain == io.Reader(r.file) {
		info, err := r.file.Stat()
		if err != nil || info.Size() < offset {
			return false, err
		}
		if _, err := r.file.Seek(offset-n, io.SeekStart); err != nil {
			return false, err
		}
		r.in.Reset(r.file)
	} else if _, err := io.CopyN(io.Discard, r.in, offset-n); err != nil {
		if err == io.EOF {
			return false, nil
		}
		return false, r.wrap(err)
	}
	line := make([]byte, n)
	if _, err := io.ReadFull(r.in, line); err == io.EOF || err == io.ErrUnexpectedEOF {
		return false, nil
	} else if err != nil {
		return false, r.wrap(err)
	}
	r.at = offset
	if last != "" && lastOf(line) != last {
		return false, nil
	}
	if line[n-1] == '\n' {
		return true, nil
	}
	// A last line that had no line feed has one now, or is still the last.
	next, err := r.in.Peek(1)
	return err == io.EOF || err == nil && next[0] == '\n', nil
}

// next returns the next complete line, or io.EOF.
func (r *reader) next() (Line, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return Line{}, err
		}
		start := r.at
		content, whole, tooLong, err := r.line()
		if err != nil {
			return Line{}, err
		}
		if !whole && (tooLong || !complete(content)) {
			return Line{}, io.EOF
		}
		if !tooLong && len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		line := Line{Start: start, End: r.at, Head: r.head, Anew: r.anew}
		if !tooLong {
			line.Bytes = bytes.TrimSuffix(content, []byte("\n"))
			line.Head += " " + lastOf(content)
		}
		r.anew = false
		return line, nil
	}
}

// HasPrefix reports whether a text begins with one of the marks, after white space.
func HasPrefix(text string, marks ...string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(text, mark) })
}

// complete reports whether a line without its line feed is a whole JSON object.
func complete(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{' && json.Valid(line)
}

// line reads up to and with the next line feed, if there is one. It skips lines that are too long.
func (r *reader) line() (content []byte, whole, tooLong bool, err error) {
	for {
		piece, err := r.in.ReadSlice('\n')
		r.at += int64(len(piece))
		whole = err == nil
		if tooLong = tooLong || len(content)+len(piece) > r.max; tooLong {
			content = nil
		} else {
			content = append(content, piece...)
		}
		switch {
		case whole:
			return content, true, tooLong, nil
		case err == io.EOF && len(content) == 0 && !tooLong:
			return nil, false, false, io.EOF
		case err == io.EOF:
			return content, false, tooLong, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, false, r.wrap(err)
		}
	}
}

func (r *reader) wrap(err error) error { return fmt.Errorf("read %s: %w", r.path, err) }

func (r *reader) close() {
	if r.done != nil {
		r.done()
	}
	_ = r.file.Close() // it was only read
}
