package hosts_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A run of lines of unknown types is one message with their bytes, wherever a reading ends, and is
// known when all of it is read again.
func TestARunOfUnknownLinesIsOneMessage(t *testing.T) {
	b := newBed(t)
	first := line("user", "u1", "null", "one")
	var run strings.Builder
	for n := range 3000 { // more than a batch
		fmt.Fprintf(&run, "%d\n{\"type\":\"noise\"}\n", n)
	}
	last := line("user", "u2", "u1", "two") + "x\n"
	r := b.catchUp(b.claude("s", first, run.String(), last), hosts.Limits{Bytes: 1})
	for !r.Complete {
		r = b.catchUp(r.Transcript, hosts.Limits{Bytes: 1})
	}
	b.want(r.Conversation, "one", "two")
	var raw bytes.Buffer
	rows := 0
	for m, err := range b.db.Messages(t.Context(), store.MessageQuery{Conversation: r.Conversation}) {
		if err != nil {
			t.Fatal(err)
		}
		record, err := b.db.Record(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		raw.Write(append(record, '\n'))
		rows++
	}
	if want := first + run.String() + last; raw.String() != want || rows != 4 {
		t.Errorf("%d messages, %d bytes, want 4 and %d", rows, raw.Len(), len(want))
	}
	again := b.catchUp(b.claude("s", "\n", first, run.String(), last), hosts.Limits{})
	if again.New != 0 || again.Known != 6003 || again.Records != 6003 {
		t.Errorf("read again: %+v", again.Counts)
	}

	grown := newBed(t) // each reading finds another part of the run
	for _, until := range []int{100, 2000, run.Len()} {
		r = grown.catchUp(grown.claude("s", first, run.String()[:until]), hosts.Limits{})
	}
	for _, anew := range []string{"\n", ""} {
		again = grown.catchUp(grown.claude("s", anew, first, run.String(), last), hosts.Limits{})
	}
	if again.New != 0 {
		t.Errorf("read again after it grew: %+v", again.Counts)
	}
	grown.want(again.Conversation, "one", "two")
	whole := newBed(t)
	r = whole.catchUp(whole.claude("s", first, run.String(), last), hosts.Limits{})
	if diff := cmp.Diff(map[string]int{"(none)": 3000, "noise": 3000, "(damaged)": 1}, r.Unknown); diff != "" || r.Hidden != 6001 || r.New != 6003 {
		t.Error(diff, r.Counts)
	}
}
