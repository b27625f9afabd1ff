//go:build !unix

package cli

import "errors"

func mainOnFullDisk() { check(errors.New("files cannot be limited here")) }
