//go:build !unix

package main

import "errors"

func mainOnFullDisk() { check(errors.New("files cannot be limited here")) }
