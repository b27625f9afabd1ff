package peersync_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lossless-context/lcm/internal/team/peersync"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// liarID is the id of a machine that does not keep to the protocol.
const liarID = "00112233445566778899"

// callLiar has a machine call one that answers as it likes.
func callLiar(t *testing.T, a *machine, h http.HandlerFunc) peersync.Outcome {
	t.Helper()
	fromOther, toMe := io.Pipe()
	fromMe, toOther := io.Pipe()
	go func() {
		defer toMe.Close()
		fmt.Fprintf(toMe, "lcm-sync/1 {\"machine\":%q,\"name\":\"liar\"}\n", liarID)
		in := bufio.NewReader(fromMe)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			w := httptest.NewRecorder()
			h(w, r)
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(toMe, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", w.Body.Len(), w.Body)
		}
	}()
	_, mine, _, _ := a.Start(t.Context(), fromOther, toOther, "ssh://liar", false)
	return mine
}

// A machine that says that it has, and has erased, what never left has nothing erased here.
func TestLiarErasesNothing(t *testing.T) {
	for _, through := range []int64{1, 3} {
		a := newMachine(t, "laptop")
		for i := range 3 {
			a.say("claude:1", fmt.Sprint("n", i), fmt.Sprintf("m%d is here", i))
		}
		claimed, erased := int64(0), ""
		answer := func(w http.ResponseWriter, r *http.Request) {
			var all any
			switch r.URL.Path {
			case teamsync.StatusPath:
				var q teamsync.StatusRequest
				_ = json.NewDecoder(r.Body).Decode(&q)
				ans := teamsync.StatusAnswer{Append: true, Erase: true}
				for range q.Sources {
					ans.Statuses = append(ans.Statuses, teamsync.Status{Through: claimed, Erased: erased})
				}
				all = ans
			case teamsync.PushPath: // it holds them all
				all = teamsync.Receipt{Through: 3, Held: []int64{1, 2, 3}, Digest: teamsync.NewDigest().String()}
			case teamsync.ErasePath:
				all = teamsync.EraseAnswer{}
			case teamsync.VerifyPath:
				all = teamsync.VerifyAnswer{Erased: []int64{1, 2, 3, 4, 5}[:claimed], Digest: teamsync.NewDigest().String()}
			}
			_ = json.NewEncoder(w).Encode(all)
		}
		if through == 1 { // nothing was sent
			claimed, erased = 3, "5+0"
			if mine := callLiar(t, a, answer); mine.Error == "" {
				t.Errorf("a status without a mark was believed: %+v", mine.Pushed)
			}
			a.forget("m2")
		} else { // three were sent, then the project became private
			if mine := callLiar(t, a, answer); mine.Error != "" {
				t.Fatal(mine.Error)
			}
			a.pusher.Private = []string{"/src/*"}
			a.say("claude:1", "n3", "m3 is private")
			a.say("claude:1", "n4", "m4 is private")
			a.forget("m4")
			claimed, erased = 5, "5+0"
		}
		before := a.texts()
		for range 2 {
			if mine := callLiar(t, a, answer); mine.Pushed.Forgot != 0 {
				t.Errorf("forgot %+v", mine.Pushed)
			}
		}
		if after := a.texts(); after != before {
			t.Errorf("there was\n%s\nand is\n%s", before, after)
		}
	}
}
