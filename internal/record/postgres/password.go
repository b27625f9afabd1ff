package postgres

import (
	"net/url"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// addressShape is a URL with any scheme, or a connection string of libpq. A drive of
// Windows has one letter.
var addressShape = lazyregexp.New(`(?i)^\s*([a-z][a-z0-9+.-]+:/|(postgres|postgresql|pgsql|mysql)(:|//)|(host|hostaddr|port|user|dbname|service)\s*=)|(^|[\s?&])password\s*=`)

// CheckPath refuses a database path that is meant as the address of a server and is not a
// URL for Open: a file of that name would have the password in it. The error does not
// quote the path.
func CheckPath(path string) error {
	if IsURL(path) || !addressShape().MatchString(path) {
		return nil
	}
	return hint.New("write postgres://user@host:5432/database, with the password in PGPASSFILE or PGPASSWORD; a file whose name looks like an address is named with ./ before it",
		"the database path looks like the address of a server, and is not a postgres:// URL")
}

// TakePassword returns the address of a database without its password, and the
// password. The error of an address that cannot be read does not quote it.
func TakePassword(address string) (clean, password string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", hint.New("write it as postgres://user@host:port/database; the directory of a socket goes into ?host=, special characters are written as %XX",
			"the address of the database cannot be read")
	}
	password, _ = u.User.Password()
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := query(u)
	if q.Has("password") {
		password = q.Get("password")
		q.Del("password")
		u.RawQuery = encode(q)
	}
	return u.String(), password, nil
}

// WithPassword returns an address with a password, for Open. An empty password changes
// nothing.
func WithPassword(address, password string) string {
	u, err := url.Parse(address)
	if err != nil || password == "" {
		return address
	}
	q := query(u)
	q.Set("password", password)
	u.RawQuery = encode(q)
	return u.String()
}

// query reads the parameters as the driver does, for which a plus is a plus.
func query(u *url.URL) url.Values {
	q, _ := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B")) // what cannot be read is left out
	return q
}

func encode(q url.Values) string { return strings.ReplaceAll(q.Encode(), "+", "%20") }
