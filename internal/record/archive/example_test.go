package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/lossless-context/lcm/internal/record/archive"
)

// Rows go in and come out as they were.
func Example() {
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, archive.Manifest{Schema: 3, Program: "example"})
	if err != nil {
		log.Fatal(err)
	}
	row := archive.Row{Table: "messages", Columns: []string{"id", "record"}, Values: []any{int64(7), []byte("Hello.")}}
	if err := errors.Join(w.Row(row), w.Close()); err != nil {
		log.Fatal(err)
	}
	r, err := archive.NewReader(&file, archive.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v %s\n", item.Table, item.Values[0], item.Values[1])
	}
	// Output: messages 7 Hello.
}
