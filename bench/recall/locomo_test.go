package recall

import (
	"flag"
	"fmt"
	"testing"
)

// data is a dataset to measure, such as LoCoMo's JSON:
//
//	go test ./bench/recall -run TestData -v -data locomo10.json
var data = flag.String("data", "", "dataset for TestData; none skips it")

func loadData(t *testing.T) Dataset {
	t.Helper()
	if *data == "" {
		t.Skip("measures only with -data FILE")
	}
	d, err := Load(*data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestData prints the report for a dataset that is not part of the project.
func TestData(t *testing.T) {
	rep, err := Run(t.Context(), loadData(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Print(rep.Text())
}
