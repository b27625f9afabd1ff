//go:build !unix

package process

// gone cannot tell here: the leases of killed processes must expire.
func gone(int) bool { return false }
