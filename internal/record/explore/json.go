package explore

import (
	"bytes"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// json describes one JSON value: its shape down to three levels.
func (e *explorer) json() {
	data := bytes.TrimPrefix(e.data, []byte("\xef\xbb\xbf"))
	s := &shape{}
	end, err := readShape(data, s)
	e.out.add(s.label())
	s.inner().write(&e.out, 1)
	if rest := bytes.TrimSpace(data[end:]); err != nil {
		e.out.addf("not complete JSON: stopped at byte %s", prose.Number(end))
	} else if len(rest) > 0 {
		e.out.addf("more text follows the value, from byte %s on", prose.Number(bytes.Index(data[end:], rest)+end))
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
	s := &shape{}
	records, broken, firstBroken := 0, 0, 0
	step := max((e.lines-headRecords)/spreadRecords, 1)
	for n, line := range lines(e.data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if records++; records > headRecords && n%step != 0 {
			continue
		}
		if end, err := readShape(line, s); err != nil || len(bytes.TrimSpace(line[end:])) > 0 {
			if broken == 0 {
				firstBroken = n
			}
			broken++
		}
	}
	e.out.addf("%s, each %s", plural(records, "record"), s.label())
	s.inner().write(&e.out, 1)
	if broken > 0 {
		e.out.addf("not whole JSON: %s of those looked at, the first on line %s", plural(broken, "record"), prose.Number(firstBroken))
	}
}
