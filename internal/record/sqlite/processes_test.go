package sqlite_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

const (
	writers = 16
	each    = 40
)

// TestMain lets the test binary be the other processes as well.
func TestMain(m *testing.M) {
	if path := os.Getenv("LCM_TEST_WRITE_TO"); path != "" {
		if err := appendAlone(context.Background(), path, os.Getenv("LCM_TEST_WRITER")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// appendAlone is the work of each process: durable appends, one at a time, to
// the conversation that all of them share.
func appendAlone(ctx context.Context, path, writer string) error {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Open(ctx, store.NewConversation{Key: "shared"})
	if err != nil {
		return err
	}
	for i := range each {
		text := fmt.Sprintf("writer %s, message %d", writer, i)
		err := db.Update(ctx, c.ID, func(w store.Writer) error {
			_, err := w.Append(ctx, store.NewMessage{
				Role: llms.RoleUser, Native: text, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)),
				SHA256: sha256.Sum256([]byte(text)), Tokens: 10,
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSixteenProcessesShareAFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lcm.db")
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), "LCM_TEST_WRITE_TO="+path, fmt.Sprint("LCM_TEST_WRITER=", n))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
		})
	}
	wg.Wait()
	db := open(t, path, sqlite.Options{})
	v, err := db.Verify(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if v.Messages != writers*each || len(v.Faults) > 0 {
		t.Errorf("%d messages of %d, faults %v", v.Messages, writers*each, v.Faults)
	}
}
