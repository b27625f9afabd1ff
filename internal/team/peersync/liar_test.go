package peersync_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/peersync"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
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
		fmt.Fprintf(toMe, "lcm-sync/3 {\"machine\":%q,\"name\":\"liar\"}\n", liarID)
		in := bufio.NewReader(fromMe)
		_, _ = in.ReadString('\n') // hello
		for {
			r, err := http.ReadRequest(in)
			if err != nil || r.URL.Path == teamsync.TurnPath { // it pushes nothing
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

// A machine that pushes a message by its session and id can erase it only if it was sent there, and
// only under its own name. The audit names it.
func TestEraseByName(t *testing.T) {
	a := newMachine(t, "laptop")
	a.say("claude:1", "n1", "m1 is here")
	take := a.Take(peersync.Hello{Machine: liarID, Name: "liar"})
	post := func(path string, q any) int {
		d, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		take.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(d)))
		return w.Code
	}
	m := store.Message{Seq: 1, Native: "n1", Flags: store.FlagRedacted}
	m.Body = llms.User("x")
	m.Body.Raw = llms.Raw{Format: llms.FormatLCM, Bytes: []byte("x")}
	src := teamsync.Source{Machine: liarID, Key: "claude:1", Segment: 1}
	batch := teamsync.Batch{Source: src, MachineName: "liar", Through: 1, Joined: true, Messages: teamsync.Messages{m}}

	other := batch
	other.Machine = strings.Repeat("ab", 16)
	if code := post(teamsync.PushPath, other); code != http.StatusBadRequest {
		t.Errorf("a push under another name: %d", code)
	}
	a.pusher.Private = []string{"/src/*"}
	if code := post(teamsync.PushPath, batch); code != http.StatusForbidden {
		t.Errorf("a push into a private session: %d", code)
	}
	a.pusher.Private = nil
	if code := post(teamsync.PushPath, batch); code != http.StatusOK {
		t.Fatalf("push: %d", code)
	}
	if code := post(teamsync.ErasePath, teamsync.EraseRequest{Source: src, All: true}); code != http.StatusOK || a.texts() != "claude:1:m1" {
		t.Errorf("erase: %d, left %q", code, a.texts())
	}
	batch.After, batch.Through = 1, 2
	batch.Messages[0].Seq, batch.Messages[0].Native = 2, "n2"
	if code := post(teamsync.PushPath, batch); code != http.StatusOK {
		t.Fatalf("push: %d", code)
	}
	post(teamsync.ErasePath, teamsync.EraseRequest{Source: src, All: true})
	if a.texts() != "claude:1:m1" {
		t.Errorf("left %q", a.texts())
	}
	rows, err := access.Audit{State: a.db}.List(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Who != "liar (machine "+liarID+")" {
		t.Errorf("the audit has %+v, %v", rows, err)
	}
}

// A message that is on both machines is each one's own: a team's server gets it from both.
func TestOwnIsNotReceived(t *testing.T) {
	a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
	for _, m := range []*machine{a, b} {
		m.say("claude:both", "n1", "c1 on both")
	}
	a.sync(b)
	b.sync(a)
	for _, m := range []*machine{a, b} {
		if got, err := teamserver.Received(t.Context(), m.db, ""); err != nil || len(got) > 0 {
			t.Errorf("%s has received %v, %v", m.Name, got, err)
		}
	}
}

// One conversation that arrives changed does not hold up the others.
func TestUnprovedHoldsUpNothing(t *testing.T) {
	a := newMachine(t, "laptop")
	a.say("claude:1", "n1", "m1")
	a.say("claude:2", "n2", "m2")
	pushes := 0
	mine := callLiar(t, a, func(w http.ResponseWriter, r *http.Request) {
		var all any = teamsync.Receipt{Through: 1, Digest: "wrong, and long enough"}
		if r.URL.Path == teamsync.PushPath {
			pushes++
		} else {
			var q teamsync.StatusRequest
			_ = json.NewDecoder(r.Body).Decode(&q)
			all = teamsync.StatusAnswer{Append: true, Erase: true, Statuses: make([]teamsync.Status, len(q.Sources))}
		}
		_ = json.NewEncoder(w).Encode(all)
	})
	if pushes != 2 || strings.Count(mine.Error, "arrived changed") != 2 {
		t.Errorf("%d pushes, and the error %q", pushes, mine.Error)
	}
}

// The header of an answer has a bound.
func TestHeaderBound(t *testing.T) {
	a := newMachine(t, "laptop")
	fromOther, toMe := io.Pipe()
	fromMe, toOther := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, fromMe) }()
	taken := make(chan int, 1)
	go func() {
		fmt.Fprintf(toMe, "lcm-sync/3 {\"machine\":%q,\"name\":\"liar\"}\nHTTP/1.1 200 OK\r\nX: ", liarID)
		n := 0
		for chunk := bytes.Repeat([]byte("a"), 1<<10); n < 1<<20; n += len(chunk) {
			if _, err := toMe.Write(chunk); err != nil {
				break
			}
		}
		toMe.Close()
		taken <- n
	}()
	_, mine, _, _ := a.Start(t.Context(), fromOther, toOther, "ssh://liar", false)
	fromOther.Close()
	if n := <-taken; n >= 1<<20 || mine.Error == "" {
		t.Errorf("%d bytes were read, error %q", n, mine.Error)
	}
}

// The header of a request has a bound too.
func TestRequestHeaderBound(t *testing.T) {
	a := newMachine(t, "laptop")
	fromOther, toMe := io.Pipe()
	taken := make(chan int, 1)
	go func() {
		fmt.Fprintf(toMe, "lcm-sync/3 {\"machine\":%q,\"name\":\"liar\"}\nPOST /v1/push HTTP/1.1\r\nX: ", liarID)
		n := 0
		for chunk := bytes.Repeat([]byte("a"), 1<<10); n < 1<<20; n += len(chunk) {
			if _, err := toMe.Write(chunk); err != nil {
				break
			}
		}
		toMe.Close()
		taken <- n
	}()
	err := a.Answer(t.Context(), fromOther, io.Discard)
	fromOther.Close()
	if n := <-taken; n < maxHeaderRead || n >= 1<<20 || err == nil {
		t.Errorf("%d bytes were read, error %v", n, err)
	}
}

// maxHeaderRead is below what a header may have.
const maxHeaderRead = 60 << 10

// A machine that never says hello is given up.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fromOther, toMe := io.Pipe()
		_, toOther := io.Pipe()
		if _, _, _, err := (peersync.Side{}).Start(t.Context(), fromOther, toOther, "ssh://silent", false); err == nil || !strings.Contains(err.Error(), "has said nothing") {
			t.Error(err)
		}
		toMe.Close()
	})
}

// A machine that lives and does not answer, or takes nothing any more, is given up after a minute.
func TestNoAnswer(t *testing.T) {
	for name, takes := range map[string]int64{"it answers no request": 1 << 30, "it takes no more": 5000} {
		synctest.Test(t, func(t *testing.T) {
			fromOther, toMe := io.Pipe()
			fromMe, toOther := io.Pipe()
			go func() {
				fmt.Fprintf(toMe, "lcm-sync/3 {\"machine\":%q,\"name\":\"liar\"}\n", liarID)
				_, _ = io.Copy(io.Discard, io.LimitReader(fromMe, takes))
			}()
			begun := time.Now()
			me := peersync.Side{Hello: peersync.Hello{Machine: "ffff2233445566778899", Name: "me"}}
			me.Push = func(ctx context.Context, to teamsync.Client, _ peersync.Hello, _ bool) (o peersync.Outcome) {
				if err := to.Post(ctx, teamsync.PushPath, strings.Repeat("x", 100_000), &struct{}{}); err != nil {
					o.Error = err.Error()
				}
				return o
			}
			_, mine, _, err := me.Start(t.Context(), fromOther, toOther, "ssh://silent", false)
			if took := time.Since(begun); took > 3*time.Minute || !strings.Contains(mine.Error, "has not answered for 1m0s") {
				t.Errorf("%s: %s after %v, %v", name, mine.Error, took, err)
			}
			toMe.Close()
			fromMe.Close()
		})
	}
}

// A program at the other end that does not end is ended.
func TestStubbornProgram(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	ssh := exec.CommandContext(t.Context(), "sh", "-c", "head -c 70000 /dev/zero; exec sleep 600")
	begun := time.Now()
	_, _, _, err := peersync.Side{}.Run(t.Context(), ssh, "ssh://stubborn", false)
	if took := time.Since(begun); took > time.Minute || err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v after %v", err, took)
	}
}

// identify gives a machine the identity of another one, as a copy of its database has it.
func (m *machine) identify(other *machine) {
	m.t.Helper()
	v, err := other.db.Get(m.t.Context(), store.SyncSpace, "machine")
	if err != nil {
		m.t.Fatal(err)
	}
	was, err := m.db.Get(m.t.Context(), store.SyncSpace, "machine")
	if err == nil {
		_, err = m.db.Put(m.t.Context(), store.SyncSpace, "machine", v.Data, was.Version, time.Time{})
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.Machine = other.Machine
}

// meet connects two machines and returns the errors of both.
func (m *machine) meet(other *machine) (mine peersync.Outcome, called, answered error) {
	fromOther, toMe := io.Pipe()
	fromMe, toOther := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := other.Answer(m.t.Context(), fromMe, toMe)
		toMe.Close()
		fromMe.Close()
		ended <- err
	}()
	_, mine, _, called = m.Start(m.t.Context(), fromOther, toOther, "ssh://"+other.Name, false)
	fromOther.Close()
	return mine, called, <-ended
}

// A copy of a database, the machine itself and what has no id are refused before anything is sent.
func TestWrongID(t *testing.T) {
	a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
	a.say("claude:1", "n1", "m1")
	b.identify(a)
	if _, called, answered := a.meet(b); called == nil || !strings.Contains(called.Error(), "has the id of this one") || answered == nil {
		t.Errorf("a copy: %v, %v", called, answered)
	}
	if err := b.pusher.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Machine, _ = b.pusher.Machine(t.Context())
	a.sync(b)
	agree(t, a, b)
	a.Machine = "../conversation"
	if _, _, answered := a.meet(b); answered == nil {
		t.Error("a machine without an id was answered")
	}
	if _, called, _ := b.meet(a); called == nil {
		t.Error("a machine without an id was called")
	}
}

// A machine whose database was restored from a backup gets an id of its own, and with it what it
// has lost. Nothing comes twice.
func TestRestored(t *testing.T) {
	for _, calls := range []bool{true, false} {
		a, b := newMachine(t, "laptop"), newMachine(t, "desktop")
		for i := range 3 {
			a.say("claude:1", fmt.Sprint("n", i), fmt.Sprintf("m%d on both", i))
		}
		a.sync(b)
		r := newMachine(t, "laptop")
		r.identify(a)
		r.say("claude:0", "n8", "m8 is new, and older")
		r.say("claude:1", "n0", "m0 on both")
		r.say("claude:1", "n9", "m9 is new")
		x, y := r, b
		if !calls {
			x, y = b, r
		}
		if mine, _, _ := x.meet(y); calls && (!strings.Contains(mine.Error, "restored from a backup") || strings.Contains(b.texts(), "m8")) {
			t.Errorf("%q, and there is\n%s", mine.Error, b.texts())
		}
		r.Machine, _ = r.pusher.Machine(t.Context()) // the next process
		if r.Machine == a.Machine {
			t.Fatal("it has the old id")
		}
		x.sync(y)
		y.sync(x)
		agree(t, r, b)
		if text := r.texts(); strings.Count(text, "\n") != 4 {
			t.Errorf("calls %v: they have\n%s", calls, text)
		}
	}
}
