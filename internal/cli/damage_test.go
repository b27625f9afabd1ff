package cli

import (
	"os"

	"github.com/ncruces/go-sqlite3"
)

// runSQL changes a database behind everyone's back: sql FILE STATEMENTS.
func runSQL() {
	db, err := sqlite3.Open(os.Args[1])
	check(err)
	check(db.Exec("PRAGMA foreign_keys=OFF; " + os.Args[2]))
	check(db.Close())
}

// flip changes a bit in the middle of a file, or N bytes into it: flip FILE
// [N].
func flip() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	at := len(data) / 2
	if len(os.Args) > 2 {
		at = argument(2)
	}
	data[at] ^= 1
	check(os.WriteFile(os.Args[1], data, 0o600))
}

// shorten cuts a file off: shorten FILE BYTES.
func shorten() { check(os.Truncate(os.Args[1], int64(argument(2)))) }
