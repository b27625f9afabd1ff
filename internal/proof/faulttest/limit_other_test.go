//go:build !unix

package faulttest

import (
	"context"
	"errors"
)

func workUntilFull(context.Context, order) error {
	return errors.New("this system has no limit on the size of files")
}
