// Command tokens counts the tokens of the Go files named on standard input, comments left out:
// a figure that longer lines do not make smaller.
package main

import (
	"bufio"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
)

func main() {
	n := 0
	for files := bufio.NewScanner(os.Stdin); files.Scan(); {
		src, err := os.ReadFile(files.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var s scanner.Scanner
		fset := token.NewFileSet()
		s.Init(fset.AddFile(files.Text(), -1, len(src)), src, nil, 0)
		for _, t, text := s.Scan(); t != token.EOF; _, t, text = s.Scan() {
			if t != token.SEMICOLON || text == ";" { // not one that a line end makes
				n++
			}
		}
	}
	fmt.Println(n)
}
