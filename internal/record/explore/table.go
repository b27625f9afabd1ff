package explore

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// column is what is known of a column of a table.
type column struct{ name, kind, sample string }

// maxColumns bounds how many columns are looked at: more do not fit into a summary.
const maxColumns = 64

// table shows how many rows separated values have, and the name, the type and a value of
// each column.
func (e *explorer) table() {
	data := bytes.TrimPrefix(e.data, []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(data))
	r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = true, -1, true
	first, _, _ := bytes.Cut(data[:min(len(data), 64<<10)], []byte{'\n'})
	for _, sep := range ";\t|" {
		if strings.Count(string(first), string(sep)) > strings.Count(string(first), string(r.Comma)) {
			r.Comma = sep
		}
	}
	var columns []column
	rows, width := 0, 0
	for n := 0; ; n++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if n == 0 {
			width, columns = len(row), header(row)
			if columns[0].name != "" {
				continue
			}
		}
		rows++
		for i, value := range row[:min(len(row), len(columns))] {
			columns[i].saw(value)
		}
	}
	e.out.addf("%s of %s:", plural(rows, "row"), plural(width, "column"))
	for i, c := range columns {
		if c.name == "" {
			c.name = "column " + prose.Number(i+1)
		}
		e.out.add("  " + c.String())
	}
}

// header returns the columns that a first row names. One that holds numbers, dates or
// nothing is no header, and its columns have no names.
func header(row []string) []column {
	columns := make([]column, max(1, min(len(row), maxColumns)))
	for i := range row[:min(len(row), maxColumns)] {
		if typeOfCell(row[i]) != "text" {
			return make([]column, len(columns))
		}
		columns[i].name = oneLine([]byte(row[i]), 48)
	}
	return columns
}

// saw widens the type of a column to hold a value.
func (c *column) saw(value string) {
	kind := typeOfCell(value)
	switch {
	case kind == "":
		return
	case c.kind == "":
		c.kind, c.sample = kind, oneLine([]byte(value), 40)
	case c.kind == kind, c.kind == "number" && kind == "integer":
	case c.kind == "integer" && kind == "number":
		c.kind = kind
	default:
		c.kind = "text"
	}
}

func (c column) String() string {
	if c.kind == "" {
		return c.name + ": empty"
	}
	return fmt.Sprintf("%s: %s, e.g. %s", c.name, c.kind, c.sample)
}

// typeOfCell names the type of a value: integer, number, boolean, date, text, or nothing.
func typeOfCell(value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return "integer"
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "number"
	}
	if low := strings.ToLower(value); low == "true" || low == "false" {
		return "boolean"
	}
	if len(value) >= len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, value[:len(time.DateOnly)]); err == nil {
			return "date"
		}
	}
	return "text"
}
