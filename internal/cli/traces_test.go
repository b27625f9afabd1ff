package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// lcm ask and lcm run send their spans to the collector that the environment names.
func TestAskAndRunSendTraces(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script with curl")
	}
	var mu sync.Mutex
	var got []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, body...)
	}))
	defer collector.Close()
	m := newMapper(t)
	m.run(t.Context(), exitOK, "", "items.jsonl", "--prompt", "What is it?")
	bin := t.TempDir()
	agent := "#!/bin/sh\ncurl -s -X POST \"$ANTHROPIC_BASE_URL/v1/messages\" -H 'Content-Type: application/json' -d '{\"model\":\"claude-x\",\"messages\":[]}' || true\n"
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(agent), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	for span, args := range map[string][]string{"recall.ask": {"ask", "which item is three?"}, "gen_ai.operation.name": {"run", "--", "claude"}} {
		mu.Lock()
		got = nil
		mu.Unlock()
		var out, errs bytes.Buffer
		code := run(t.Context(), newProgram(strings.NewReader(""), &out, &errs), args)
		mu.Lock()
		if code != exitOK || !bytes.Contains(got, []byte(span)) {
			t.Errorf("lcm %q: exit %d, the collector got %d bytes without %s: %s%s", args, code, len(got), span, out.String(), errs.String())
		}
		mu.Unlock()
	}
}
