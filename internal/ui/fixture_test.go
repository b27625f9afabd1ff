package ui_test

import (
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
	"github.com/lossless-context/lcm/llms"
)

// site is a server on a database in memory, and a browser that it has admitted.
type site struct {
	t      *testing.T
	engine *lcm.Engine
	server *ui.Server
	url    string
	client *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	open := func(ctx context.Context) (*sqlite.DB, *lcm.Engine) {
		db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := lcm.New(db, lcm.WithoutBackground())
		if err != nil {
			t.Fatal(err)
		}
		return db, engine
	}
	db, engine := open(t.Context())
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(context.Background()), db.Close()); err != nil {
			t.Error(err)
		}
	})
	s, err := ui.New(ui.Config{
		Engine: engine, Budget: 16_000,
		Resume: func(_ context.Context, c store.Conversation) (string, bool, error) {
			if c.Agent == "" {
				return "", false, nil
			}
			return "codex resume 1b", c.ID == 1, nil
		},
		Branches: func(ctx context.Context, id store.ConversationID) ([]stats.Branch, error) {
			return stats.Branches(ctx, db.SQL(), id)
		},
		Scratch: func(ctx context.Context) (*lcm.Engine, func() error, error) {
			db, engine := open(ctx)
			return engine, func() error { return errors.Join(engine.Close(ctx), db.Close()) }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &site{t, engine, s, web.URL, &http.Client{Jar: jar}}
	if code, _ := v.get(ui.OpenPath + "?token=" + url.QueryEscape(s.Token())); code != http.StatusOK {
		t.Fatalf("the token was refused: %d", code)
	}
	return v
}

// laterPart finds the parts that the script of a page loads after it.
var laterPart = regexp.MustCompile(`data-load="([^"]*)"`)

// get returns the status of a page, and its body with the parts that it loads later.
func (v *site) get(path string) (int, string) {
	v.t.Helper()
	code, body := v.request(path)
	for _, part := range laterPart.FindAllStringSubmatch(body, -1) {
		later, err := url.Parse(html.UnescapeString(part[1]))
		if err != nil {
			v.t.Fatal(err)
		}
		q := later.Query()
		q.Set("fragment", "1")
		later.RawQuery = q.Encode()
		_, more := v.get(later.String())
		body += more
	}
	return code, body
}

func (v *site) request(path string) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.url+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.send(req)
}

func (v *site) send(req *http.Request) (int, string) {
	v.t.Helper()
	resp, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// page returns the body of a page that must exist.
func (v *site) page(path string) string {
	v.t.Helper()
	code, body := v.get(path)
	if code != http.StatusOK {
		v.t.Fatalf("GET %s: %d: %s", path, code, body)
	}
	return body
}

// add stores messages in a session, and folds them for a budget if it is not 0.
func (v *site) add(key string, budget int, ms []llms.Message, options ...lcm.SessionOption) {
	v.t.Helper()
	session := v.engine.Session(key, options...)
	if err := session.Append(v.t.Context(), ms...); err != nil {
		v.t.Fatal(err)
	}
	if budget > 0 {
		if _, err := session.Context(v.t.Context(), budget); err != nil {
			v.t.Fatal(err)
		}
		// Context waits for a second at most; on a busy machine folding takes longer.
		if err := v.engine.Settle(v.t.Context()); err != nil {
			v.t.Fatal(err)
		}
	}
}

// addSample stores the bundled session, folded for 16,000 tokens.
func (v *site) addSample() {
	v.add("sample", 16_000, sample.Messages(), lcm.WithAgent("codex"), lcm.WithProject(store.Project{Root: "/srv/parcels"}), lcm.WithTitle("Parcel tracking"))
}

// has fails unless a page has all texts.
func has(t *testing.T, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("the page lacks %q:\n%.2000s", text, body)
		}
	}
}
