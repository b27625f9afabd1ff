package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A password that was taken out of an address reaches the driver, and nothing else of the
// address changes.
func TestPassword(t *testing.T) {
	for _, c := range []struct{ address, clean, password string }{
		{"postgres://u:p%40ss&w=rd@h:1/db?sslmode=disable", "postgres://u@h:1/db?sslmode=disable", "p@ss&w=rd"},
		{"postgres://u@h:1/db?password=q%26", "postgres://u@h:1/db", "q&"},
		{"postgres://h:1/db", "postgres://h:1/db", ""},
		{"postgres://u:a%20b+c@h:1/db?application_name=x%20y", "postgres://u@h:1/db?application_name=x%20y", "a b+c"},
		{"postgres://u@h:1/db?password=a%20b%2Bc", "postgres://u@h:1/db", "a b+c"},
	} {
		clean, password, err := TakePassword(c.address)
		if err != nil || clean != c.clean || password != c.password {
			t.Errorf("%s: %s, %s", c.address, clean, password)
		}
		config, err := pgx.ParseConfig(WithPassword(clean, password))
		if err != nil || config.Password != c.password || config.Host != "h" || config.Port != 1 || config.Database != "db" {
			t.Errorf("%s: %+v, %v", c.address, config, err)
		}
		if name := config.RuntimeParams["application_name"]; name != "" && name != "x y" {
			t.Errorf("%s: the parameter is %q", c.address, name)
		}
		if clean != "postgres://h:1/db" && config.User != "u" {
			t.Errorf("%s: the user is %q", c.address, config.User)
		}
	}
}

// A path that is meant as an address makes no file.
func TestCheckPath(t *testing.T) {
	for _, path := range []string{
		"postgres:/lcm:hunter2@h/lcm", "Postgres://lcm:hunter2@h/lcm", "POSTGRES://lcm:hunter2@h/lcm", "mysql://lcm:hunter2@h/lcm", "postgresql//lcm:hunter2@h/lcm",
		"postgres:lcm:hunter2@h/lcm", "host=h user=lcm password=hunter2 dbname=lcm", " dbname = lcm password = hunter2", "password=hunter2", "file:/tmp/lcm.db", "jdbc:postgresql://h/lcm?password=hunter2",
	} {
		if err := CheckPath(path); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{
		"postgres://lcm:hunter2@h/lcm", "postgresql://h/lcm", "lcm.db", "/src/a=b/lcm.db", ":memory:", `C:/Users/lcm.db`, `C:\Users\lcm.db`, "./postgres:/x.db", "/tmp/password=x/lcm.db",
		"dir//lcm.db", "/tmp/100%/a:b@c/lcm.db", "postgres/lcm.db", "my host=1.db",
	} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAnAddressThatCannotBeReadIsRefused(t *testing.T) {
	if _, _, err := TakePassword("postgres://u:hunter2@%2Ftmp%2Fsock/db"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
