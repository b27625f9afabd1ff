package recall

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

// bundled is the files of evidence/ one after the other, compressed.
//
//go:embed evidence.jsonl.gz
var bundled []byte

// Bundled returns the dataset that was written for this project: invented
// conversations of people and agents at work, and questions about them. Its
// figures and the rank of each evidence message are golden files, so that a
// change of the ranking shows as a change there.
func Bundled() (Dataset, error) {
	z, err := gzip.NewReader(bytes.NewReader(bundled))
	if err != nil {
		return Dataset{}, fmt.Errorf("bundled dataset: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return Dataset{}, fmt.Errorf("bundled dataset: %w", err)
	}
	d, err := Parse(text)
	d.Name = "bundled"
	return d, err
}
