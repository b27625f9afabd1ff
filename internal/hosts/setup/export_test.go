package setup

import (
	"os"
	"slices"
)

func init() { syncFile = func(*os.File) error { return nil } }

// BeforeEffect has fn called before each change of the file system, and returns
// a function that ends that.
func BeforeEffect(fn func()) (restore func()) {
	beforeEffect = fn
	return func() { beforeEffect = func() {} }
}

// Hosts lists the hosts that have receipts.
func (r *Receipts) Hosts() []string {
	var names []string
	for _, one := range r.files {
		if !slices.Contains(names, one.Host) {
			names = append(names, one.Host)
		}
	}
	slices.Sort(names)
	return names
}
