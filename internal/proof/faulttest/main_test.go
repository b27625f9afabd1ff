package faulttest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
)

var quiet = slog.New(slog.DiscardHandler)

func sum(data []byte) [sha256.Size]byte { return sha256.Sum256(data) }

// order tells a process of the test binary to work on a record instead of running tests.
type order struct {
	Role     string // see roles
	Path     string
	Seed     uint64
	Sessions []string
	From     map[string]int
	Limit    uint64        // of file sizes in bytes
	Rate     float64       // appends a second, 0: as many as possible
	For      time.Duration // how long
	Items    int           // of a map
	Effects  string        // the file of what happened outside of the record
}

const orderVariable = "LCM_FAULTTEST_ORDER"

// roles are the kinds of processes.
var roles = map[string]func(context.Context, order) error{
	"worker":   workUntilKilled,
	"limited":  workUntilFull,
	"hook":     beHook,
	"server":   beServer,
	"importer": beImporter,
	"keeper":   beKeeper,
	"agent":    beAgent,
	"mapper":   beMapper,
}

// TestMain lets the test binary be the other processes as well.
func TestMain(m *testing.M) {
	given := os.Getenv(orderVariable)
	if given == "" {
		pgtest.Main(m)
	}
	var o order
	err := json.Unmarshal([]byte(given), &o)
	if err == nil {
		err = roles[o.Role](context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is another process of the test binary.
type process struct {
	*exec.Cmd
	out  *bufio.Reader
	errs *tail
}

func start(ctx context.Context, o order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{Cmd: exec.CommandContext(ctx, self), errs: new(tail)}
	p.Env = append(os.Environ(), orderVariable+"="+string(given))
	p.Stderr = p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.Start()
}

// lines calls read for each whole line that the process writes, until it ends.
func (p *process) lines(read func(string)) error {
	for {
		line, err := p.out.ReadString('\n')
		if err == io.EOF {
			return nil // and with it half a line
		}
		if err != nil {
			return err
		}
		read(line)
	}
}

// tail keeps the end of a process's error output.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-2000):]
	return len(p), nil
}
