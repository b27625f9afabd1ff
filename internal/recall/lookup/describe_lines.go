package lookup

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/recall"
)

// lines fills in the lines of the content that a request asks for, each with its number.
func (d *description) lines(ctx context.Context, r recall.DescribeRequest, st step) error {
	from, to, err := parseLines(r.Lines)
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(r.Pattern)
	switch {
	case err != nil:
		return refuse("the syntax is RE2", "pattern: %w", err)
	case r.Cursor != "":
		return refuse("ask for the next lines", "lines and pattern have no cursor")
	}
	p := &page{Service: d.Service, answer: &recall.ExpandAnswer{}, left: math.MaxInt}
	if _, err := p.fill(ctx, d.descend(ctx, []step{st}, nil, 0, false)); err != nil {
		return err
	}
	var text string
	for _, piece := range p.answer.Pieces {
		text += piece.Text
		d.answer.Damaged = d.answer.Damaged || piece.Damaged
	}
	var b strings.Builder
	a, left, n := &d.answer, cmp.Or(r.MaxTokens, math.MaxInt), 0
	for line := range strings.Lines(text) {
		if n++; n < from || n > to || !pattern.MatchString(strings.TrimRight(line, "\r\n")) {
			continue
		}
		line = fmt.Sprintf("%d: %s\n", n, strings.TrimRight(line, "\r\n"))
		size := d.counter.Count(line)
		if size > left {
			if b.Len() == 0 {
				b.WriteString(line[:Fit(d.counter.Count, []byte(line), left)])
			}
			a.Notes = append(a.Notes, fmt.Sprintf("maxTokens ends the answer at line %d", n))
			break
		}
		left -= size
		b.WriteString(line)
	}
	a.Content, a.Truncated = b.String(), true
	if b.Len() == 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("none of its %d lines is asked for", n))
	}
	return nil
}

// parseLines reads a range of lines: "120-180", "120-" or "120". Without one all lines are in it.
func parseLines(text string) (from, to int, err error) {
	if text == "" {
		return 1, math.MaxInt, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	from, err = strconv.Atoi(strings.TrimSpace(first))
	to = from
	if last = strings.TrimSpace(last); err == nil && ranged {
		if to = math.MaxInt; last != "" {
			to, err = strconv.Atoi(last)
		}
	}
	if err != nil || from < 1 || to < from {
		return 0, 0, refuse("write them like 120-180", "lines: %q is no range of lines", text)
	}
	return from, to, nil
}
