package mapjob

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Lines reads the items of a map: one JSON value a line. Empty lines are skipped.
func Lines(r io.Reader) (items []json.RawMessage, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if item := bytes.TrimSpace(line); len(item) > 0 {
			if !json.Valid(item) {
				return nil, fmt.Errorf("line %d is not JSON: the input has one JSON value a line", n)
			}
			items = append(items, item)
		}
		if err == io.EOF {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
