package setup

import "os"

func init() { syncFile = func(*os.File) error { return nil } }

// BeforeEffect has fn called before each change of the file system, and returns
// a function that ends that.
func BeforeEffect(fn func()) (restore func()) {
	beforeEffect = fn
	return func() { beforeEffect = func() {} }
}
