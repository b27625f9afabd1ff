//go:build unix

package cli

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// mainOnFullDisk is the program where no file may grow beyond two pages, which
// is what a full disk is to it: "full-lcm".
func mainOnFullDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	limit.Cur = 8192
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	main()
}

// TestEngineOnFullDisk: an engine whose disk is full acknowledges nothing and says that it cannot
// help. With room again, what was not acknowledged is stored once.
func TestEngineOnFullDisk(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	e := startEngine(t, home)
	e.ask(sayHello)
	if answer := e.ask(ingestLine(1)); answer["ok"] == nil {
		t.Fatalf("%v", answer)
	}
	e.ask(`{"id":2,"verb":"bye"}`)
	if err := e.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("a line of the log. ", 4000)
	messages := fmt.Sprintf(`[{"role":"user","content":"part 1"},{"role":"assistant","content":%q}]`, large)
	ingest := fmt.Sprintf(`{"id":3,"verb":"ingest","session":"s","form":"openai","messages":[{"id":"m1","message":{"role":"user","content":"part 1"}},{"id":"m2","message":{"role":"assistant","content":%q}}]}`, large)
	full := startProgram(t, home, "full-lcm")
	full.ask(sayHello)
	for range 2 {
		if answer := full.ask(ingest); answer["error"] == nil {
			t.Errorf("it is stored on a full disk: %v", answer)
		}
		if answer := full.ask(`{"id":4,"verb":"assemble","session":"s","form":"openai","budget":9000,"messages":` + messages + `}`); answer["ok"] == nil && !strings.Contains(fmt.Sprint(answer["error"]), "code:unavailable") {
			t.Errorf("the host would not go on by itself: %v", answer)
		}
	}
	again := startEngine(t, home)
	again.ask(sayHello)
	for stored := range 2 {
		if answer := again.ask(ingest); fmt.Sprint(answer["ok"]) != fmt.Sprintf("map[known:%d read:0 stored:%d]", 1+stored, 1-stored) {
			t.Errorf("%v", answer)
		}
	}
}
