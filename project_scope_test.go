package lcm_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/store/sqlite"
)

// A model that fills in the defaults of a schema must search as far as one that
// leaves them out.
func TestProjectScopeChangesTheSchema(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		t.Fatal(err)
	}
	session := engine.Session("s", lcm.WithProject(record.Project{Root: "/src/here"}))
	for i, tool := range session.Tools(lcm.WithProjectScope()) {
		schema := string(tool.Parameters())
		plain := string(session.Tools()[i].Parameters())
		if !strings.Contains(plain, "allConversations") {
			continue
		}
		if !strings.Contains(plain, `"default":false`) || strings.Contains(schema, `"default":false`) || strings.Contains(schema, "the current one") {
			t.Errorf("%s: with ProjectScope the schema must not say that the current conversation is the default: give its parameters a tag project\n%s", tool.GetName(), schema)
		}
	}
	for _, tool := range session.Tools(lcm.WithProjectScope()) {
		if text := core.BasicDescription(tool); strings.Contains(text, "this conversation") {
			t.Errorf("%s: with ProjectScope the description must not say that it looks in this conversation: add the words to projectWords in tools.go\n%s", tool.GetName(), text)
		}
	}
}
