package postgres

import (
	"net/url"
)

// TakePassword returns the address of a database without its password, and the
// password. Callers keep it where nothing prints it, such as PGPASSWORD.
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
