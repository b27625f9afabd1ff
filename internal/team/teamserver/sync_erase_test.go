package teamserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// An erasure holds in the project of the erased messages. In another one the same text is
// stored, so that a guess that is pushed there tells nothing.
func TestErasureHoldsInItsProject(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *fixture{"sqlite": newFixture, "postgres": newPostgresFixture} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " whole=", whole), func(t *testing.T) {
				f := open(t)
				other := store.Project{Origin: "github.com/other/app", Root: acme.Root}
				long := "a long message that must go, and it has more than sixty-four bytes in it, so that its content is known"
				a := f.laptop("one", f.token(access.Token{Append: true, Erase: true, Projects: []string{acme.Origin}}))
				a.say("a", acme, long)
				if !whole {
					a.say("a", acme, "and a short one")
				}
				a.push()
				order, err := a.engine.Order(t.Context(), lcm.EraseQuery{Pattern: "must go"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := a.engine.Erase(t.Context(), order, nil); err != nil {
					t.Fatal(err)
				}
				if r := a.push(); r.Erased != 1 {
					t.Errorf("%+v", r)
				}
				b := f.laptop("two", f.token(access.Token{User: "bob", Append: true}))
				b.say("b", acme, long)
				b.say("c", other, long)
				if r := b.push(); r.Forgotten != 1 || r.Messages != 1 {
					t.Errorf("another machine: %+v", r)
				}
				want := map[string]string{"bob/c": long}
				if !whole {
					want["alice/a"] = "and a short one"
				}
				f.want(want)
			})
		}
	}
}

// A user's token of one project learns nothing of the sessions of another project that
// the same user has under the same key.
func TestSessionKeyOfAnotherProject(t *testing.T) {
	f := newFixture(t)
	other := store.Project{Origin: "github.com/other/app", Root: "/src/other"}
	a := f.laptop("one", f.token(access.Token{Append: true, Projects: []string{acme.Origin}}))
	a.say("s", acme, "said in the first project")
	a.push()
	b := f.laptop("two", f.token(access.Token{Append: true, Projects: []string{other.Origin}}))
	b.say("s", other, "said in the second project")
	if r := b.push(); r.Messages != 1 || len(r.Denied) != 0 {
		t.Errorf("%+v", r)
	}
}

// A session that was erased whole refuses its messages in its own project, from any
// machine, and has no effect on a session of another project with the same key.
func TestErasedSessionInAnotherProject(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *fixture{"sqlite": newFixture, "postgres": newPostgresFixture} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			other := store.Project{Origin: "github.com/other/app", Root: acme.Root}
			token := f.token(access.Token{Append: true, Erase: true, Projects: []string{acme.Origin}})
			a := f.laptop("one", token)
			a.say("s", acme, "one", "two")
			a.push()
			if _, err := a.engine.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{1}}, nil); err != nil {
				t.Fatal(err)
			}
			if r := a.push(); r.Erased != 2 {
				t.Errorf("%+v", r)
			}
			again := f.laptop("two", token)
			again.say("s", acme, "one", "two")
			if r := again.push(); r.Forgotten != 2 || r.Messages != 0 {
				t.Errorf("the same project: %+v", r)
			}
			if code, text := f.post(teamsync.PushPath, f.token(access.Token{Append: true, Projects: []string{other.Origin}}), batch(`{"role":"user","content":"one"}`), true); code != http.StatusForbidden {
				t.Errorf("a guess at what another project erased: %d %s", code, text)
			}
			narrow := f.laptop("three", f.token(access.Token{Append: true, Projects: []string{other.Origin}}))
			narrow.say("s", other, "one", "two")
			if r := narrow.push(); r.Forgotten != 0 || r.Messages != 2 {
				t.Errorf("another project: %+v", r)
			}
		})
	}
}

// losing loses the answers to pushes.
type losing struct{}

func (losing) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.URL.Path == teamsync.PushPath {
		got.Body.Close()
		return nil, errors.New("the connection broke")
	}
	return got, err
}

// A conversation whose first receipt got lost, and that is then forgotten whole, is erased on
// the server too, also with a token of its project alone.
func TestForgottenAfterALostReceipt(t *testing.T) {
	f := newFixture(t)
	a := f.laptop("one", f.token(access.Token{Append: true, Erase: true, Projects: []string{acme.Origin}}))
	a.say("s", acme, "one", "two")
	a.HTTP = &http.Client{Transport: losing{}}
	if _, err := a.Push(t.Context()); err == nil {
		t.Fatal("the receipt arrived")
	}
	f.want(map[string]string{"alice/s": "one|two"})
	a.HTTP = nil
	list, err := a.db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.engine.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{list[0].ID}}, nil); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.Erased != 2 {
		t.Errorf("%+v", r)
	}
	f.want(nil)
}
