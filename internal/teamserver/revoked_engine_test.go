package teamserver_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/access"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/internal/teamserver"
	"github.com/lossless-context/lcm/llms"
)

// blocking is a summariser that waits for the end of its context.
type blocking struct{ began, ended chan struct{} }

func (b blocking) Summarise(ctx context.Context, _ summary.Request) (summary.Result, error) {
	close(b.began)
	<-ctx.Done()
	close(b.ended)
	return summary.Result{}, ctx.Err()
}

// The engine of a token ends its work in the background when the token is revoked.
func TestRevokedTokenClosesItsEngine(t *testing.T) {
	f := newFixture(t)
	sum := blocking{make(chan struct{}), make(chan struct{})}
	made := make(chan *lcm.Engine, 1)
	s := f.newServer(func(c *teamserver.Config) {
		c.CheckEvery, c.Drain = 5*time.Millisecond, time.Millisecond
		c.NewEngine = func(s store.Store) (*lcm.Engine, error) {
			e, err := lcm.New(s, lcm.WithBudget(4_000), lcm.WithSummariser(sum), lcm.WithLogger(c.Log))
			made <- e
			return e, err
		}
	})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	token := f.token(access.Token{Append: true})
	f.get(web.URL+"/mcp", token)
	engine := <-made
	for i := range 100 {
		if err := engine.Session("long").Append(t.Context(), llms.User(strings.Repeat(fmt.Sprint("word ", i), 40)), llms.Assistant("Noted.")); err != nil {
			t.Fatal(err)
		}
	}
	<-sum.began
	tokens := access.Tokens{State: f.db, Clock: time.Now}
	k, err := tokens.Check(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Revoke(t.Context(), k.ID, "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sum.ended:
	case <-time.After(time.Minute):
		t.Error("the engine of a revoked token still folds")
	}
}
