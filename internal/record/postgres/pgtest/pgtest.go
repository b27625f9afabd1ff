//go:build unix

// Package pgtest gives tests a PostgreSQL database: one of the server at
// LCM_TEST_POSTGRES, else one of a temporary cluster that it starts from the installed
// binaries. Without either, tests are skipped, or fail if LCM_REQUIRE_POSTGRES is set.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running PostgreSQL server.
type Server struct {
	dir   string // of a temporary cluster, else empty
	url   string
	cred  *syscall.Credential
	bin   string
	input io.Closer // ends the server
	cmd   *exec.Cmd
}

var (
	shared    *Server
	errShared error
	start     sync.Once
	schemas   atomic.Int64
)

// errNone says that there is no server and none can be started.
var errNone = errors.New("PostgreSQL is not installed and LCM_TEST_POSTGRES is not set")

// Main runs the tests of a package and then stops the server that they used.
func Main(m *testing.M) {
	code := m.Run()
	if shared != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// URL returns the address of an empty schema of the server that all tests of the
// package share.
func URL(t testing.TB) string {
	t.Helper()
	return server(t).Schema(t)
}

// Crashable returns a server that the test may crash: the one that all tests of the package
// share, unless that is the one at LCM_TEST_POSTGRES.
func Crashable(t testing.TB) *Server {
	t.Helper()
	s := server(t)
	if s.dir != "" {
		if err := s.exec(t, "CHECKPOINT"); err != nil { // so that less is repeated after a crash
			t.Fatal(err)
		}
		return s
	}
	s, err := Start(t.Context())
	Require(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// server returns the server that all tests of the package share.
func server(t testing.TB) *Server {
	t.Helper()
	start.Do(func() {
		if address := os.Getenv("LCM_TEST_POSTGRES"); address != "" {
			shared = &Server{url: address}
			return
		}
		shared, errShared = Start(context.WithoutCancel(t.Context()))
	})
	Require(t, errShared)
	return shared
}

// Require skips a test if there is no PostgreSQL, and fails it on any other error.
func Require(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNone) && os.Getenv("LCM_REQUIRE_POSTGRES") == "" {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Schema makes an empty schema and returns its address.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("lcm_test_%d_%d", os.Getpid(), schemas.Add(1))
	if err := s.exec(t, "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	if s.dir == "" { // a server that others use too
		t.Cleanup(func() {
			if err := s.exec(t, "DROP SCHEMA "+name+" CASCADE"); err != nil {
				t.Error(err)
			}
		})
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// exec runs a statement on a connection of its own.
func (s *Server) exec(t testing.TB, sql string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	return errors.Join(err, c.Close(ctx))
}

// Traces returns the names of the tables, TOAST tables and indexes of an address from
// [URL] or [Server.Schema] whose files contain one of the texts. The table
// pg_statistic is searched too. A test is skipped if the server at
// LCM_TEST_POSTGRES keeps its files elsewhere.
func Traces(t testing.TB, address string, texts ...string) (found []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(t.Context(), `
		SELECT current_setting('data_directory') || '/' || pg_relation_filepath(c.oid), coalesce(o.relname || ' (TOAST)', c.relname)
		FROM pg_class c LEFT JOIN pg_class o ON o.reltoastrelid = c.oid
		WHERE c.relkind IN ('r', 'i', 't')
		  AND (coalesce(o.relnamespace, c.relnamespace) = current_schema()::regnamespace OR coalesce(o.relname, c.relname) = 'pg_statistic')`)
	if err != nil {
		t.Fatal(err)
	}
	var path, name string
	_, err = pgx.ForEachRow(rows, []any{&path, &name}, func() error {
		data, err := os.ReadFile(path)
		if os.Getenv("LCM_TEST_POSTGRES") != "" && err != nil {
			t.Skip("the files of the server at LCM_TEST_POSTGRES cannot be read: ", err)
		}
		if err == nil && slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(data, []byte(text)) }) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// binaries finds the directory with initdb and postgres.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.Sort(found)
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", errNone
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// Start makes a temporary cluster and starts its server, as an unprivileged user if
// this process runs as root, which PostgreSQL refuses.
func Start(ctx context.Context) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if s.dir, err = os.MkdirTemp("", "lcm-pg-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.cred, err = unprivileged(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return nil, err
		}
	}
	out, err := s.command(filepath.Join(bin, "initdb"), "-N", "-A", "trust", "-U", "lcm", "-E", "UTF8", "--locale=C", "--no-instructions", "-D", s.data()).CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(s.dir))
	}
	s.url = "postgres://lcm@/postgres?host=" + url.QueryEscape(s.dir)
	if err := s.Run(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// unprivileged returns an account that is not root.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, errors.New("no unprivileged account to run PostgreSQL with")
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "LC_ALL=C")
	if s.cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	}
	return cmd
}

// Run starts the server and waits until it answers. The server ends with this process,
// however that ends: a shell stops it when its input is closed.
func (s *Server) Run(ctx context.Context) error {
	const script = `"$@" >>server.log 2>&1 & pid=$!; echo $pid >server.pid; read line; kill -QUIT $pid 2>/dev/null; wait $pid`
	s.cmd = s.command("/bin/sh", "-c", script, "sh", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "max_connections=200", "-c", "max_prepared_transactions=2", "-c", "shared_buffers=128MB", "-c", "fsync="+fsync(), "-c", "logging_collector=off")
	input, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.input = input
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		c, err := pgx.Connect(try, s.url)
		if err == nil {
			err = c.Close(try)
		}
		cancel()
		if err == nil {
			return nil
		}
		if time.Since(begun) > 3*time.Minute {
			log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
			s.halt()
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, log)
		}
	}
}

// fsync says whether the server syncs its files. Tests that stop it need not: the
// operating system goes on.
func fsync() string {
	if v := os.Getenv("LCM_TEST_POSTGRES_FSYNC"); v != "" {
		return v
	}
	return "off"
}

// Address returns the address of the database postgres.
func (s *Server) Address() string { return s.url }

// halt ends the server at once, as a crash would.
func (s *Server) halt() {
	_ = s.input.Close()
	_ = s.cmd.Wait() // the shell returns the status of the killed server
}

// Halt writes all pages to the files, stops the server and returns the directory of the
// tables.
func (s *Server) Halt(t testing.TB) (dir string) {
	t.Helper()
	if err := s.exec(t, "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	s.halt()
	return filepath.Join(s.data(), "base")
}

// Crash stops the server immediately and starts it again.
func (s *Server) Crash(ctx context.Context) error {
	s.halt()
	return s.Run(ctx)
}

// Stop stops the server and removes the cluster.
func (s *Server) Stop() error {
	if s.dir == "" {
		return nil
	}
	s.halt()
	return os.RemoveAll(s.dir)
}
