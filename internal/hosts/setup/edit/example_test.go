package edit_test

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

func ExampleJSON_Set() {
	d, err := edit.ParseJSON([]byte("{\n  // mine\n  \"theme\": \"dark\" // at night\n}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err = d.Set([]string{"lcm", "mcp"}, "mcp", "lcm", "command"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", d.Bytes())
	// Output:
	// {
	//   // mine
	//   "theme": "dark", // at night
	//   "mcp": {
	//     "lcm": {
	//       "command": [
	//         "lcm",
	//         "mcp"
	//       ]
	//     }
	//   }
	// }
}
