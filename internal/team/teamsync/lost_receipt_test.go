package teamsync_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// A receipt that got lost is made up for by a comparison with what the server has.
func TestLostReceipt(t *testing.T) {
	m := newMachine(t)
	m.say("a", "one two")
	m.keeper.answer = func(request string) (int, any) {
		if strings.HasPrefix(request, "push") {
			return http.StatusBadRequest, teamsync.Problem{Error: "lost"}
		}
		return 0, nil
	}
	if _, err := m.Push(t.Context()); err == nil {
		t.Error("the receipt was not lost")
	}
	m.keeper.answer = nil
	m.push(teamsync.Report{}, "verify a []")
	m.push(teamsync.Report{})
	m.say("a", "three")
	m.push(teamsync.Report{Conversations: 1, Messages: 1}, "push a 2-3: three")
}

// A machine whose receipt got lost may have what was sent to it: the digest shows whether it has that.
func TestLostReceiptOfAPeer(t *testing.T) {
	m := newMachine(t)
	m.Peer = "aabbccddeeff0011"
	m.say("a", "one two")
	id, _ := m.find("a")
	m.keeper.answer = func(request string) (int, any) {
		if strings.HasPrefix(request, "push") {
			return http.StatusBadRequest, teamsync.Problem{Error: "lost"}
		}
		return 0, nil
	}
	if _, err := m.Push(t.Context()); err == nil {
		t.Error("the receipt was not lost")
	}
	if n, err := teamsync.SentTo(t.Context(), m.db, m.Peer, id); err != nil || n != 2 {
		t.Errorf("%d were sent, %v", n, err)
	}
	m.keeper.answer = nil
	m.keeper.has["a"].messages[0].SHA256[0]++
	if _, err := m.Push(t.Context()); err == nil || !strings.Contains(err.Error(), "arrived changed") {
		t.Errorf("the first message arrived changed: %v", err)
	}
}
