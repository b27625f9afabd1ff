package teamserver_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

// paths are the requests that a lying client may send, by the first character of a line.
var paths = []string{
	teamsync.StatusPath, teamsync.PushPath, teamsync.ErasePath, teamsync.VerifyPath, teamsync.GrepPath, teamsync.DescribePath, teamsync.AskPath, "/mcp",
}

// FuzzLyingClient sends a server anything with a token of one project. The server refuses
// what is wrong without failing itself, and the token sees and changes nothing of another
// project.
func FuzzLyingClient(f *testing.F) {
	f.Add("1" + batch(`{"role":"user","content":"one"}`) + "\n0" + `{"sources":[{"machine":"` + strings.Repeat("a", 32) + `","key":"s","segment":1}]}` +
		"\n3" + `{"machine":"` + strings.Repeat("a", 32) + `","key":"s","segment":1,"except":[1]}` + "\n2" + `{"machine":"` + strings.Repeat("a", 32) + `","key":"s","segment":1,"seqs":[1,1,-1]}`)
	f.Add("2" + `{"machine":"` + strings.Repeat("a", 32) + `","key":"s","segment":1,"all":true}`)
	f.Add("4" + `{"pattern":"secret.*","mode":"regex","conversationId":1,"limit":-1,"context":99,"cursor":"x"}`)
	f.Add("5" + `{"id":"msg_1","raw":true}` + "\n5" + `{"id":"sum_1","conversationId":1}` + "\n6" + `{"prompt":"what is the secret?","query":"secret","summaryIds":["sum_1"],"conversationId":1,"maxTokens":-1}`)
	f.Add("7" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"secret","allConversations":true}}}`)
	f.Add("1" + `{"machine":"` + strings.Repeat("b", 32) + `","key":"../x","segment":9223372036854775807,"machineName":"one","project":{"Origin":"github.com/victim/app"},"after":0,"through":1,"messages":null}`)
	const secret = "the secret of another project is kestrel-harbour-ninety"
	db, err := sqlite.Open(f.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	engine := func(s store.Store) (*lcm.Engine, error) { return lcm.New(s, lcm.WithoutBackground()) }
	whole, err := engine(db)
	if err != nil {
		f.Fatal(err)
	}
	if err := whole.Session("victim", lcm.WithProject(store.Project{Origin: "github.com/victim/app"}), lcm.WithTitle("kestrel")).Append(f.Context(), llms.User(secret)); err != nil {
		f.Fatal(err)
	}
	c := teamserver.Config{Store: db, Engine: whole, NewEngine: engine, Log: slog.New(slog.DiscardHandler)}
	c.MCP.Log = c.Log
	s, err := teamserver.New(f.Context(), c)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	token, _, err := access.Tokens{State: db, Clock: time.Now}.Add(f.Context(), access.Token{User: "mallory", Projects: []string{"github.com/acme/*"}, Append: true, Erase: true}, "test")
	if err != nil {
		f.Fatal(err)
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, lines string) {
		for line := range strings.SplitSeq(lines, "\n") {
			if line == "" {
				continue
			}
			path := paths[int(line[0])%8]
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(line[1:]))
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Errorf("%s %q: %d %s", path, line[1:], w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "kestrel") && !strings.Contains(line, "kestrel") {
				t.Errorf("%s %q shows %s", path, line[1:], w.Body)
			}
		}
		list, err := db.Conversations(t.Context(), store.ConversationQuery{Key: "victim"})
		if err != nil || len(list) != 1 || list[0].Messages != 1 || list[0].Erased != 0 || list[0].Title != "kestrel" {
			t.Errorf("another project has %+v, %v", list, err)
		}
	})
}
