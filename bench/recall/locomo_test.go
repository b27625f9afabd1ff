package recall

import (
	"flag"
	"os"
	"testing"
)

// data is a dataset to measure, such as LoCoMo's JSON:
//
//	go test ./bench/recall -run TestData -v -data locomo10.json
var data = flag.String("data", "", "dataset for TestData; none skips it")

// TestData prints the report for a dataset that is not part of the project.
func TestData(t *testing.T) {
	if *data == "" {
		t.Skip("measures only with -data FILE")
	}
	d, err := Load(*data)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Run(t.Context(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteText(os.Stdout); err != nil {
		t.Fatal(err)
	}
}
