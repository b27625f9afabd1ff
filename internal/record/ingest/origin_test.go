package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The output of a tool has the name and the path of the file that the call names, whether
// the call arrives with it or was stored before. What a call names no file for has the name
// of the tool.
func TestFilesAreNamedByTheirCalls(t *testing.T) {
	sql := strings.Repeat("insert into fish values (1, 'cod', 3.5);\n", 3000)
	for i, test := range []struct{ tool, arguments, name, path, kind string }{
		{"Read", `{"file_path":"/srv/db/fish.sql","limit":9}`, "fish.sql", "/srv/db/fish.sql", "sql"},
		{"read", `{"filePath":"C:\\db\\fish.sql"}`, "fish.sql", `C:\db\fish.sql`, "sql"},
		{"view", `{"path":"db/fish.sql"}`, "fish.sql", "db/fish.sql", "sql"},
		{"Grep", `{"pattern":"cod","path":"/srv/db"}`, "Grep", "", "sql"},
		{"Copy", `{"source_path":"a.sql","target_path":"b.sql"}`, "Copy", "", "sql"},
		{"Glob", `{"path":"db/*.sql"}`, "Glob", "", "sql"},
		{"Bash", `{"command":"cat fish.sql","description":"Print the table"}`, "fish.sql", "fish.sql", "sql"},
		{"exec_command", `{"cmd":"cd /srv && sed -n '1,200p' \"db/fish.sql\""}`, "fish.sql", "db/fish.sql", "sql"},
		{"shell", `{"command":["bash","-lc","head -n 50 /srv/db/fish.sql"]}`, "fish.sql", "/srv/db/fish.sql", "sql"},
		{"Bash", `{"command":"cat a.sql b.sql"}`, "Bash", "", "sql"},
		{"Bash", `{"command":"cat a.sql | sort"}`, "Bash", "", "sql"},
		{"Bash", `{"command":"cat $FILE"}`, "Bash", "", "sql"},
		{"odd", `no JSON`, "odd", "", "sql"},
	} {
		for _, apart := range []bool{false, true} {
			b := newBed(t, 2000)
			id := fmt.Sprint("call", i)
			call := llms.Calls("", llms.ToolCall{ID: id, Name: test.tool, Arguments: test.arguments})
			result := llms.Result(id, test.tool, sql, false)
			batches := [][]llms.Message{{call, result}}
			if apart {
				batches = [][]llms.Message{{call}, {result}}
			}
			for _, ms := range batches {
				b.append(t, ms...)
			}
			checkFile(t, b, 2, test.name, test.path, test.kind)
			b.sound(t)
		}
	}
	b := newBed(t, 2000)
	b.append(t, llms.Result("lost", "Bash", sql, false))
	checkFile(t, b, 1, "Bash", "", "sql") // the result of a call that is not stored
}

// What the user pasted has a name too.
func TestPastedTextIsNamed(t *testing.T) {
	b := newBed(t, 2000)
	b.append(t, llms.User(strings.Repeat("insert into fish values (1, 'cod', 3.5);\n", 3000)))
	checkFile(t, b, 1, "pasted text", "", "sql")
}

// The content of a written file has the name that the call gives it.
func TestWrittenFilesAreNamed(t *testing.T) {
	b := newBed(t, 2000)
	content := strings.Repeat(`key: value\n`, 8000)
	m := llms.Calls("", llms.ToolCall{ID: "w", Name: "Write", Arguments: `{"file_path":"/srv/a.yaml","content":"` + content + `"}`})
	b.append(t, m)
	checkFile(t, b, 1, "a.yaml", "/srv/a.yaml", "yaml")
}

func checkFile(t *testing.T, b bed, id store.MessageID, name, path, kind string) {
	t.Helper()
	files, err := b.Attached(t.Context(), id)
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	p, err := b.Payload(t.Context(), files[0])
	if err != nil || p.Name != name || p.Path != path || p.Kind != kind {
		t.Errorf("%v: name %q, path %q, kind %s; want %q, %q, %s", err, p.Name, p.Path, p.Kind, name, path, kind)
	}
}
