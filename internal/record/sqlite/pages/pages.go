package pages

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"

	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// pageFile reads the pages of a database file that SQLite may not open. Missing
// pages are zeros. Pages in the log come first.
type pageFile struct {
	file, log *os.File
	logged    map[uint32]int64 // where the log has a page
	pageSize  int64
	count     uint32 // of pages
}

func openPages(path string) (p *pageFile, err error) {
	p = &pageFile{pageSize: dbfile.PageBytes} // whatever the header says
	defer func() {
		if err != nil {
			_ = p.Close() // the first error matters
		}
	}()
	if p.file, err = os.Open(path); err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	head, err := dbfile.ReadHeader(path)
	if err != nil {
		return nil, err
	}
	if string(head[:16]) != dbfile.Magic && !dbfile.PlausibleHeader(head) { // an unknown header is not trusted
		clear(head)
	}
	p.count = uint32((info.Size() + p.pageSize - 1) / p.pageSize)
	// The header has the number of pages, if it is plausible.
	if says := binary.BigEndian.Uint32(head[28:]); says > p.count && int64(says) < 2*int64(p.count)+1024 {
		p.count = says
	}
	if log, err := os.Open(path + "-wal"); err == nil {
		p.log = log
		if pages, size := dbfile.ReadWAL(bufio.NewReaderSize(log, 1<<20)); size > 0 {
			p.logged, p.count = pages, max(size, p.count)
		}
	}
	return p, nil
}

// Close closes the files.
func (p *pageFile) Close() error {
	var errs []error
	for _, f := range []*os.File{p.file, p.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Size is that of a file without anything missing.
func (p *pageFile) Size() (int64, error) { return int64(p.count) * p.pageSize, nil }

// ReadAt implements [io.ReaderAt].
func (p *pageFile) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		n := (off + int64(done)) / p.pageSize
		if n >= int64(p.count) {
			return done, io.EOF
		}
		done += copy(b[done:], p.page(uint32(n + 1))[(off+int64(done))%p.pageSize:])
	}
	return done, nil
}

// page reads a page, numbered from 1. A page that the disk cannot read is zeros:
// the next may be readable.
func (p *pageFile) page(n uint32) []byte {
	b := make([]byte, p.pageSize)
	from, at := p.file, int64(n-1)*p.pageSize
	if place, ok := p.logged[n]; ok {
		from, at = p.log, place
	}
	if _, err := from.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
		clear(b)
	}
	if n == 1 && (b[100] == pageLeaf || b[100] == pageInterior) {
		copy(b, dbfile.SoundHeader(b, p.count))
	}
	return b
}

// The types of pages.
const (
	pageInterior = 0x05 // of a table
	pageLeaf     = 0x0d // of a table
)

// leaf returns a page and where its rows begin: none for one that is no leaf of a table.
func (p *pageFile) leaf(n uint32) (page []byte, rows []int) {
	page = p.page(n)
	first := 8 + 2*int(binary.BigEndian.Uint16(page[3:]))
	if page[0] != pageLeaf || first > len(page) {
		return nil, nil
	}
	for i := 8; i < first; i += 2 {
		if at := int(binary.BigEndian.Uint16(page[i:])); at >= first && at < len(page)-4 {
			rows = append(rows, at)
		}
	}
	return page, rows
}

// row reads a cell of a leaf: the row's number and its values.
func (p *pageFile) row(page []byte, at int) (id int64, values []any, ok bool) {
	size, n := varint(page[at:])
	at += n
	number, m := varint(page[at:])
	at += m
	if n == 0 || m == 0 || size > 1<<31 || int64(size) > int64(p.count)*p.pageSize {
		return 0, nil, false
	}
	data, ok := p.payload(page, at, int64(size))
	if !ok {
		return 0, nil, false
	}
	values, ok = decodeRecord(data)
	return int64(number), values, ok
}

// payload reads the content of a cell, which may go on in other pages.
func (p *pageFile) payload(page []byte, at int, size int64) ([]byte, bool) {
	usable := p.pageSize // nothing is reserved
	local := size
	if limit := usable - 35; size > limit {
		least := (usable-12)*32/255 - 23
		if local = least + (size-least)%(usable-4); local > limit {
			local = least
		}
	}
	if int64(at)+local > int64(len(page)) {
		return nil, false
	}
	data := append(make([]byte, 0, size), page[at:at+int(local)]...)
	if local == size {
		return data, true
	}
	if at+int(local)+4 > len(page) {
		return nil, false
	}
	next := binary.BigEndian.Uint32(page[at+int(local):])
	for int64(len(data)) < size {
		if next == 0 || next > p.count {
			return nil, false
		}
		more := p.page(next)
		next = binary.BigEndian.Uint32(more)
		data = append(data, more[4:4+min(usable-4, size-int64(len(data)))]...)
	}
	return data, true
}

// decodeRecord decodes SQLite's format of a row.
func decodeRecord(data []byte) ([]any, bool) {
	size, at := varint(data)
	if at == 0 || size < uint64(at) || size > uint64(len(data)) {
		return nil, false
	}
	types, body := data[at:size], data[size:]
	var values []any
	for len(types) > 0 {
		kind, n := varint(types)
		if n == 0 {
			return nil, false
		}
		types = types[n:]
		length := 0
		switch {
		case kind <= 4:
			length = int(kind)
		case kind == 5:
			length = 6
		case kind <= 7:
			length = 8
		case kind <= 9:
		case kind < 12 || kind > 1<<32:
			return nil, false
		default:
			length = int(kind-12) / 2
		}
		if length > len(body) {
			return nil, false
		}
		values, body = append(values, fieldValue(kind, body[:length])), body[length:]
	}
	return values, true
}

// fieldValue decodes one value of a row.
func fieldValue(kind uint64, b []byte) any {
	switch {
	case kind == 0:
		return nil
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case kind < 7:
		n := int64(int8(b[0]))
		for _, c := range b[1:] {
			n = n<<8 | int64(c)
		}
		return n
	case kind <= 9:
		return int64(kind - 8)
	case kind%2 == 1:
		return string(b)
	}
	return b
}

// varint decodes SQLite's integers of variable length; n is 0 where there is
// none.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 8 {
		v = v<<7 | uint64(b[n]&0x7f)
		if n++; b[n-1] < 0x80 {
			return v, n
		}
	}
	if n == 8 && len(b) > 8 {
		return v<<8 | uint64(b[8]), 9
	}
	return 0, 0
}
