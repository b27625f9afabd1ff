package explore

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tableRows is how many rows the types of columns are told from.
const tableRows = 500

func (e *explorer) csv() { e.table(separator(e.data)) }

func (e *explorer) tsv() { e.table('\t') }

// table describes separated values: rows, columns with their types, the first
// row. The first line is taken for a header unless it holds a number.
func (e *explorer) table(sep byte) {
	e.title(strings.ToUpper(e.name))
	rows := e.sampleRows(rune(sep))
	if len(rows) == 0 {
		return
	}
	count := countRows(e.data)
	var header []string
	body := rows
	if !slices.ContainsFunc(rows[0], isNumber) {
		header, body = rows[0], rows[1:]
		count--
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	e.out.addf("%s, %s", plural(count, "row"), plural(width, "column"))
	for i := range width {
		name := "column " + strconv.Itoa(i+1)
		if i < len(header) {
			name = oneLine([]byte(header[i]), 48)
		}
		if !e.out.add("  " + name + ": " + columnType(body, i)) {
			return
		}
	}
	if len(body) > 0 {
		e.out.add("first row: " + oneLine([]byte(strings.Join(body[0], string(rune(sep))+" ")), 200))
	}
}

// sampleRows reads the first rows, leniently.
func (e *explorer) sampleRows(sep rune) [][]string {
	head := bytes.TrimPrefix(e.data[:min(len(e.data), 4<<20)], []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(head))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = sep, true, -1
	var rows [][]string
	for len(rows) < tableRows {
		row, err := r.Read()
		if err != nil {
			break
		}
		rows = append(rows, row)
	}
	return rows
}

// separator is the likeliest of the separators in the first line.
func separator(data []byte) byte {
	line, _, _ := bytes.Cut(data[:min(len(data), sniffBytes)], []byte{'\n'})
	best, most := byte(','), bytes.Count(line, []byte{','})
	for _, sep := range []byte{';', '\t', '|'} {
		if n := bytes.Count(line, []byte{sep}); n > most {
			best, most = sep, n
		}
	}
	return best
}

// countRows counts the lines that are not inside quotes.
func countRows(data []byte) int {
	n, quoted, blank := 0, false, true
	if bytes.IndexByte(data, '"') < 0 {
		return countLines(data)
	}
	for _, b := range data {
		switch {
		case b == '"':
			quoted = !quoted
			blank = false
		case b == '\n' && !quoted:
			if !blank {
				n++
			}
			blank = true
		case b != '\r':
			blank = false
		}
	}
	if !blank {
		n++
	}
	return n
}

func isNumber(v string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	return err == nil
}

// columnType names the type that the values of a column share.
func columnType(rows [][]string, column int) string {
	types := map[string]int{}
	empty, filled := 0, 0
	for _, r := range rows {
		if column >= len(r) || strings.TrimSpace(r[column]) == "" {
			empty++
			continue
		}
		filled++
		types[valueType(strings.TrimSpace(r[column]))]++
	}
	if filled == 0 {
		return "empty"
	}
	label := "text"
	switch filled {
	case types["integer"]:
		label = "integer"
	case types["integer"] + types["number"]:
		label = "number"
	case types["boolean"]:
		label = "boolean"
	case types["date"]:
		label = "date"
	}
	if empty > 0 {
		label += ", sometimes empty"
	}
	return label
}

func valueType(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		return "integer"
	}
	if isNumber(v) {
		return "number"
	}
	switch strings.ToLower(v) {
	case "true", "false", "yes", "no":
		return "boolean"
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339, "02/01/2006", "01/02/2006"} {
		if len(v) >= 10 && len(v) <= 35 {
			if _, err := time.Parse(layout, v); err == nil {
				return "date"
			}
		}
	}
	return "text"
}
