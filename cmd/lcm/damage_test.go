package main

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

// shorten cuts a file off: shorten FILE BYTES.
func shorten() { check(os.Truncate(os.Args[1], int64(argument(2)))) }
