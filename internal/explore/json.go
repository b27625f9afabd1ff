package explore

import (
	"bytes"

	"github.com/lossless-context/lcm/internal/prose"
)

// json describes one JSON value: its shape down to three levels.
func (e *explorer) json() {
	e.title("JSON")
	p := jsonScanner{data: bytes.TrimPrefix(e.data, []byte("\xef\xbb\xbf"))}
	s := &shape{}
	p.value(s, 0)
	e.out.add(s.label())
	s.inner().write(&e.out, 1)
	e.trailer(&p)
}

// trailer says where the scan of a JSON value ended too early or too late.
func (e *explorer) trailer(p *jsonScanner) {
	if p.bad {
		e.out.addf("not complete JSON: stopped at byte %s", prose.Number(p.pos))
		return
	}
	if p.space() != 0 {
		e.out.addf("more text follows the value, from byte %s on", prose.Number(p.pos))
	}
}

// Records of JSONL whose shape is looked at: from its beginning, and spread
// over the rest.
const (
	headRecords   = 50
	spreadRecords = 50
)

// jsonl describes one JSON value a line: how many, and their merged shape.
func (e *explorer) jsonl() {
	e.title("JSON lines")
	s := &shape{}
	records, broken := 0, 0
	firstBroken := 0
	step := max((e.lines-headRecords)/spreadRecords, 1)
	eachLine(e.data, func(n int, line []byte) bool {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return true
		}
		records++
		if records > headRecords && n%step != 0 {
			return true
		}
		p := jsonScanner{data: line}
		p.value(s, 0)
		if p.bad || p.space() != 0 {
			if broken == 0 {
				firstBroken = n
			}
			broken++
		}
		return true
	})
	e.out.addf("%s, each %s", plural(records, "record"), s.label())
	s.inner().write(&e.out, 1)
	if broken > 0 {
		e.out.addf("not whole JSON: %s of those looked at, the first on line %s", plural(broken, "record"), prose.Number(firstBroken))
	}
}

// eachLine calls f with the number, from 1, and the bytes of every line until
// it returns false.
func eachLine(data []byte, f func(n int, line []byte) bool) {
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if !f(n, bytes.TrimSuffix(line, []byte{'\r'})) {
			return
		}
		data = rest
	}
}
