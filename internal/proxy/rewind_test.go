package proxy_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proxy"
)

// condensedSummary finds a condensed summary in a request: its id and the number of its
// messages.
var condensedSummary = regexp.MustCompile(`<summary id=\\"(sum_[0-9a-f]+)\\" kind=\\"condensed\\" [^>]*messages=\\"([0-9]+)\\"`)

// next sends a request and checks that it reached the model with summaries and within
// the budget.
func (b *bed) next() {
	b.t.Helper()
	body := b.body()
	if status, text := b.send(body); status != http.StatusOK {
		b.t.Fatalf("%d %s", status, text)
	}
	// A request within the budget may pass as it came.
	if got := b.got(); len(body)/4 > 40_000 && !bytes.Contains(got, []byte("<lcm-context>")) || len(got)/4 > 40_000 {
		b.t.Errorf("the request has %d tokens, and summaries: %v", len(got)/4, bytes.Contains(got, []byte("<lcm-context>")))
	}
}

// TestRewindIntoSummary: after a rewind into the messages of a condensed summary, the
// summaries beneath it are used for the messages that are left.
func TestRewindIntoSummary(t *testing.T) {
	b := newBed(t, nil)
	b.play(270)
	var first [][]byte
	for n := 270; n < 450 && first == nil; n++ {
		b.step(n)
		b.flush()
		b.next()
		first = condensedSummary.FindSubmatch(b.got())
	}
	if first == nil {
		t.Fatal("there is no condensed summary: the test proves nothing")
	}
	n, err := strconv.Atoi(string(first[2]))
	if err != nil {
		t.Fatal(err)
	}
	b.messages = b.messages[:n-n%2-9] // it ends with a result
	b.prompt("Another way.")          // the transcript does not have it yet
	b.next()
	if bytes.Contains(b.got(), first[1]) {
		t.Error("the summary covers messages that the request does not have")
	}
	if !bytes.Contains(b.got(), []byte("Another way.")) || !bytes.Contains(b.got(), []byte("TANGERINE")) {
		t.Error("a prompt is gone")
	}
}

// summariesSent returns the texts of the last request that have summaries.
func (b *bed) summariesSent() (texts []string) {
	b.t.Helper()
	var body struct {
		Messages []struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(b.got(), &body); err != nil {
		b.t.Fatal(err)
	}
	for _, m := range body.Messages {
		for _, c := range m.Content {
			if strings.HasPrefix(c.Text, "<summary ") {
				texts = append(texts, c.Text)
			}
		}
	}
	return texts
}

// TestErasedMessage: a text that is erased during a run leaves the summaries that are
// shown.
func TestErasedMessage(t *testing.T) {
	const word = "PAPAYA-4711"
	quoted := func(b *bed) bool { return strings.Contains(strings.Join(b.summariesSent(), "\n"), word) }
	var engine *lcm.Engine
	b := newBed(t, func(c *proxy.Config) { engine = c.Engine })
	b.prompt("Read the logs.")
	b.step(0)
	answer := object{"role": "assistant", "content": []any{object{"type": "text", "text": "The deploy key is " + word + "."}}}
	b.write("assistant", answer)
	b.messages = append(b.messages, answer)
	b.prompt("Go on.")
	n := 1
	for ; n < 400 && (n == 1 || !quoted(b)); n++ { // folds happen behind the requests
		b.step(n)
		b.flush()
		b.send(b.body())
	}
	if !quoted(b) {
		t.Fatal("no summary quotes the word: the test proves nothing")
	}
	order, err := engine.Order(t.Context(), lcm.EraseQuery{Pattern: word})
	if err == nil {
		_, err = engine.Erase(t.Context(), order, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b.step(n)
		n++
		b.flush()
		b.next()
	}
	// The proxy reads the changed summaries behind the requests.
	for ends := time.Now().Add(time.Minute); quoted(b); b.next() {
		if time.Now().After(ends) {
			t.Fatal("a summary still quotes the word")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
