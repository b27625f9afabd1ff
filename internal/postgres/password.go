package postgres

import (
	"net/url"
)

// TakePassword returns the address of a database without its password, and the
// password.
func TakePassword(address string) (clean, password string) {
	u, err := url.Parse(address)
	if err != nil { // the driver refuses it too; nothing of it is safe to show
		return "postgres://", ""
	}
	password, _ = u.User.Password()
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		password = q.Get("password")
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String(), password
}

// WithPassword returns an address with a password, for Open. An empty password changes
// nothing.
func WithPassword(address, password string) string {
	u, err := url.Parse(address)
	if err != nil || password == "" {
		return address
	}
	q := u.Query()
	q.Set("password", password)
	u.RawQuery = q.Encode()
	return u.String()
}
