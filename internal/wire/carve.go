package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// Cut is a string literal that Carve took out of a record.
type Cut struct {
	// At is where in the template the literal's bytes belong.
	At int
	// Style is how the content is spelled in the record.
	Style Style
	// Content is the decoded text. For base64 it is the binary data.
	Content []byte
}

// Carve takes the long strings out of a JSON record, so that each can be kept
// once, in the clear, and the record put together again byte for byte by
// Join. Every string of at least min bytes is cut whose spelling can be
// reproduced exactly from its content; its quotes stay in the template, and
// so does the "data:…;base64," in front of inline data. A record that is not
// JSON, or has no such string, is returned as it is, without cuts.
func Carve(record []byte, min int) (template []byte, cuts []Cut) {
	if len(record) < min || Check(record) != nil {
		return record, nil
	}
	kept := 0 // bytes of the record already in the template
	for i := 0; i < len(record); {
		if record[i] != '"' {
			i++
			continue
		}
		end := skipString(record, i)
		from, to := i+1, end-1
		i = end
		if to-from < min {
			continue
		}
		cut, prefix, ok := carveLiteral(record[from:to], min)
		if !ok {
			continue
		}
		template = append(template, record[kept:from+prefix]...)
		kept = to
		cut.At = len(template)
		cuts = append(cuts, cut)
	}
	if cuts == nil {
		return record, nil
	}
	return append(template, record[kept:]...), cuts
}

// Join puts a carved record together again. open returns the content of the
// i-th cut; where it is nil the cuts' own Content is used.
func Join(template []byte, cuts []Cut, open func(i int) ([]byte, error)) ([]byte, error) {
	var record []byte
	at := 0
	for i, cut := range cuts {
		if cut.At < at || cut.At > len(template) {
			return nil, fmt.Errorf("llms: cut %d lies at byte %d, outside its template of %d bytes", i, cut.At, len(template))
		}
		content := cut.Content
		if open != nil {
			var err error
			if content, err = open(i); err != nil {
				return nil, fmt.Errorf("llms: content of cut %d: %w", i, err)
			}
		}
		record = append(record, template[at:cut.At]...)
		record = appendLiteral(record, content, cut.Style)
		at = cut.At
	}
	return append(record, template[at:]...), nil
}

// carveLiteral turns the inside of a literal into a cut. prefix is how much
// of it stays in the template.
func carveLiteral(lit []byte, min int) (cut Cut, prefix int, ok bool) {
	style := spelling(lit)
	if prefix = dataPrefix(lit); prefix > 0 || looksBase64(lit) {
		if data, ok := fromBase64(string(unescape(nil, lit[prefix:]))); ok {
			cut = Cut{Style: style | Base64, Content: data}
			if len(lit)-prefix >= min && reproduces(cut, lit[prefix:]) {
				return cut, prefix, true
			}
		}
	}
	cut = Cut{Style: style, Content: unescape(make([]byte, 0, len(lit)), lit)}
	return cut, 0, len(cut.Content) >= min && reproduces(cut, lit)
}

func reproduces(cut Cut, lit []byte) bool {
	return bytes.Equal(appendLiteral(make([]byte, 0, len(lit)), cut.Content, cut.Style), lit)
}

func appendLiteral(dst, content []byte, style Style) []byte {
	if style&Base64 == 0 {
		return appendEscaped(dst, content, style)
	}
	if style&EscapeSlash == 0 { // nothing else in base64 is ever escaped
		return base64.StdEncoding.AppendEncode(dst, content)
	}
	return appendEscaped(dst, base64.StdEncoding.AppendEncode(nil, content), style)
}

// spelling reads off a literal's escapes which style its writer has. It is a
// guess that reproduces confirms: a literal that mixes styles is not cut.
func spelling(lit []byte) (style Style) {
	for i := 0; i < len(lit); i++ {
		n := bytes.IndexByte(lit[i:], '\\')
		if n < 0 {
			break
		}
		i += n + 1
		switch lit[i] {
		case '/':
			style |= EscapeSlash
		case 'u':
			switch r := jsonstring.Hex4(lit[i+1:]); {
			case r == '<' || r == '>' || r == '&':
				style |= EscapeHTML
			case r == 0x2028 || r == 0x2029:
				style |= EscapeLineBreaks
			case r == 0x7f:
				style |= EscapeDelete
			case r >= 0x80:
				style |= EscapeNonASCII
			}
			if bytes.ContainsAny(lit[i+1:i+5], "ABCDEF") {
				style |= UpperHex
			}
			i += 4
		}
	}
	return style
}

// dataPrefix returns the length of a literal's "data:…;base64,".
func dataPrefix(lit []byte) int {
	const marker = ";base64,"
	if !bytes.HasPrefix(lit, []byte("data:")) {
		return 0
	}
	head := lit[:min(len(lit), 256)]
	if n := bytes.Index(head, []byte(marker)); n > 0 {
		return n + len(marker)
	}
	return 0
}

// looksBase64 reports whether a literal without a data: prefix is to be taken
// for base64. The alphabet alone does not tell: hex digests and long
// identifiers are in it too, and must stay text that can be searched.
func looksBase64(lit []byte) bool {
	var lower, upper, digit bool
	for _, c := range lit {
		switch {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			upper = true
		case '0' <= c && c <= '9':
			digit = true
		case c != '+' && c != '/' && c != '=' && c != '\\':
			return false
		}
	}
	return lower && upper && digit
}
