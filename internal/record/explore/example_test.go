package explore_test

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/record/explore"
)

func ExampleExplore() {
	data := []byte("id,name,price\n1,Lamp,24.50\n2,Chair,110\n")
	r := explore.Explore("stock.csv", "", data)
	fmt.Println(r.Kind, r.MIME, r.Lines)
	fmt.Println(r.Summary)
	// Output:
	// csv text/csv 3
	// CSV, 3 lines, 39 bytes
	// 2 rows of 3 columns:
	//   id: integer, e.g. 1
	//   name: text, e.g. Lamp
	//   price: number, e.g. 24.50
}
