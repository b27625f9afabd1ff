package edit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var lcm = server{"/usr/bin/lcm", []string{"mcp"}}

func TestSetKeepsEverythingElse(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"empty file", "", "{\n  \"mcp\": {\n    \"lcm\": {\n      \"command\": \"/usr/bin/lcm\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"},
		{"one line", `{"a":1,"mcp":{}}`, `{"a":1,"mcp":{"lcm":{"command":"/usr/bin/lcm","args":["mcp"]}}}`},
		{"one line with spaces", `{"a": 1, "mcp": {"x": 1}}`, `{"a": 1, "mcp": {"x": 1, "lcm": {"command":"/usr/bin/lcm","args":["mcp"]}}}`},
		{"tabs", "{\n\t\"mcp\": {\n\t\t\"x\": 1\n\t}\n}", "{\n\t\"mcp\": {\n\t\t\"x\": 1,\n\t\t\"lcm\": {\n\t\t\t\"command\": \"/usr/bin/lcm\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t}\n}"},
		{"comments and a trailing comma", "{\n  // mine\n  \"mcp\": {\n    \"x\": 1, // keep\n  },\n}\n",
			"{\n  // mine\n  \"mcp\": {\n    \"x\": 1, // keep\n    \"lcm\": {\n      \"command\": \"/usr/bin/lcm\",\n      \"args\": [\n        \"mcp\"\n      ]\n    },\n  },\n}\n"},
		{"a comment behind the last entry", "{\n  \"mcp\": {\n    \"x\": 1 // one, two\n  }\n}\n",
			"{\n  \"mcp\": {\n    \"x\": 1, // one, two\n    \"lcm\": {\n      \"command\": \"/usr/bin/lcm\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"},
		{"windows", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"mcp\": {\r\n    \"lcm\": {\r\n      \"command\": \"/usr/bin/lcm\",\r\n      \"args\": [\r\n        \"mcp\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n"},
		{"another value there", `{"mcp":{"lcm":{"command":"/old"},"z":0}}`, `{"mcp":{"lcm":{"command":"/usr/bin/lcm","args":["mcp"]},"z":0}}`},
		{"the same in another spelling", `{"mcp":{"lcm":{"args":[ "mcp" ],"command":"\u002fusr/bin/lcm"}}}`, `{"mcp":{"lcm":{"args":[ "mcp" ],"command":"\u002fusr/bin/lcm"}}}`},
		{"a comment that ends with the file", `{"mcp":{}} // mine`, `{"mcp":{"lcm":{"command":"/usr/bin/lcm","args":["mcp"]}}} // mine`},
		{"byte order mark", "\ufeff{}", "\ufeff{\n  \"mcp\": {\n    \"lcm\": {\n      \"command\": \"/usr/bin/lcm\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := edit.ParseJSON([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if err = d.Set(lcm, "mcp", "lcm"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(d.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongJSONSaysWhere(t *testing.T) {
	for src, where := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}": "line 3, column 3",
		"[1]":                          "line 1, column 1",
		"{\"mcp\": 7}":                 "line 1, column 9",
	} {
		d, err := edit.ParseJSON([]byte(src))
		if err == nil {
			err = d.Set(lcm, "mcp", "lcm")
		}
		if err == nil || !strings.HasPrefix(err.Error(), where) {
			t.Errorf("%q: %v, want it at %s", src, err, where)
		}
	}
}

// TestSetThenCut: removing an added entry restores the original bytes, for any style of the
// file, also if something else was added meanwhile.
func TestSetThenCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawObject(t, 0, drawStyle(t))
		d, err := edit.ParseJSON([]byte(src))
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		got, err := edit.ParseJSON([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		had := got.Get("mcp") != nil
		err = got.Set(lcm, "mcp", "lcm")
		if err != nil {
			t.Skip("mcp is no object here")
		}
		more := rapid.Bool().Draw(t, "more")
		for _, one := range []*edit.JSON{got, d} {
			if more {
				if err = one.Set(7, "added later"); err != nil {
					t.Fatal(err)
				}
			}
		}
		put := string(got.Bytes())
		if err := got.Cut("mcp", "lcm"); err != nil {
			t.Fatal(err)
		}
		if !had && got.Empty("mcp") {
			if err := got.Cut("mcp"); err != nil {
				t.Fatal(err)
			}
		}
		if more { // the order of two additions is not one to keep
			if !jsonEqual(t, got, d) {
				t.Fatalf("%s\nis not\n%s", got.Bytes(), d.Bytes())
			}
			return
		}
		if string(got.Bytes()) != src {
			t.Fatalf("%q became %q, by way of %q", src, got.Bytes(), put)
		}
	})
}

func jsonEqual(t *rapid.T, a, b *edit.JSON) bool {
	var x, y any
	if json.Unmarshal(a.Get(), &x) != nil || json.Unmarshal(b.Get(), &y) != nil {
		t.Fatal("not JSON")
	}
	return cmp.Equal(x, y)
}

type style struct {
	unit, nl, colon string
	lines, trailing bool
	comments        bool
}

func drawStyle(t *rapid.T) style {
	return style{
		unit:     rapid.SampledFrom([]string{"  ", "\t", "    "}).Draw(t, "unit"),
		nl:       rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end"),
		colon:    rapid.SampledFrom([]string{":", ": "}).Draw(t, "colon"),
		lines:    rapid.Bool().Draw(t, "lines"),
		trailing: rapid.Bool().Draw(t, "trailing comma"),
		comments: rapid.Bool().Draw(t, "comments"),
	}
}

func drawObject(t *rapid.T, depth int, s style) string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c d", "mcp", "hooks", "é"}), 1, 4, rapid.ID).Draw(t, "names")
	gap, end := "", ""
	if s.lines {
		gap, end = s.nl+strings.Repeat(s.unit, depth+1), s.nl+strings.Repeat(s.unit, depth)
	}
	var b strings.Builder
	b.WriteString("{")
	for i, name := range names {
		value := "1"
		switch {
		case name == "mcp" && rapid.IntRange(0, 3).Draw(t, "mcp") > 0, rapid.IntRange(0, 4).Draw(t, "nested") == 0 && depth < 3:
			value = drawObject(t, depth+1, s)
		case rapid.Bool().Draw(t, "text"):
			value = `"x, // y"`
		}
		fmt.Fprintf(&b, "%s%q%s%s", gap, name, s.colon, value)
		if i+1 < len(names) || s.trailing && s.lines {
			b.WriteString(",")
		}
		if s.comments && s.lines && rapid.Bool().Draw(t, "comment") {
			b.WriteString(" // a, comment")
		}
	}
	b.WriteString(end + "}")
	return b.String()
}

func TestElements(t *testing.T) {
	const src = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"mine\": 1}\n    ]\n  }\n}\n"
	d, err := edit.ParseJSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Append(map[string]int{"ours": 1}, "hooks", "Stop"); err != nil {
		t.Fatal(err)
	}
	if d.Get("hooks", "Stop", "1") == nil || d.Get("hooks", "Stop", "2") != nil {
		t.Fatalf("%s", d.Bytes())
	}
	if err := d.Cut("hooks", "Stop", "1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(src, string(d.Bytes())); diff != "" {
		t.Error(diff)
	}
	if err = d.Append(1, "hooks", "Start"); err != nil {
		t.Fatal(err)
	}
}

func TestTables(t *testing.T) {
	lines := []string{`command = "/usr/bin/lcm"`, `args = ["mcp"]`}
	path := []string{"mcp_servers", "lcm"}
	block := "[mcp_servers.lcm]\ncommand = \"/usr/bin/lcm\"\nargs = [\"mcp\"]\n"
	tests := []struct{ name, src, want string }{
		{"empty", "", block},
		{"at the end", "model = \"x\" # mine\n", "model = \"x\" # mine\n\n" + block},
		{"no line end", "model = \"x\"", "model = \"x\"\n\n" + block},
		{"there", "a = 1\n\n" + block + "\n[z]\n", "a = 1\n\n" + block + "\n[z]\n"},
		{"another command, and keys of the user's own", "[mcp_servers.lcm]\ncommand = \"/old\"\nstartup_timeout_sec = 30 # slow disk\nargs = [\"mcp\"]\n\n# z\n[z]\nb = 1\n",
			"[mcp_servers.lcm]\ncommand = \"/usr/bin/lcm\"\nstartup_timeout_sec = 30 # slow disk\nargs = [\"mcp\"]\n\n# z\n[z]\nb = 1\n"},
		{"a header inside a text", "a = '''\n[mcp_servers.lcm]\n'''\n", "a = '''\n[mcp_servers.lcm]\n'''\n\n" + block},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.SetTable([]byte(tt.src), path, lines)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTablesThatCannotBeAddedTo: tables that other TOML parsers refuse are not written,
// although the parser used here accepts them.
func TestTablesThatCannotBeAddedTo(t *testing.T) {
	path := []string{"mcp_servers", "lcm"}
	for _, src := range []string{
		"mcp_servers = { other = { command = \"x\" } }\n",
		"a = 1\n\"mcp_servers\" = {}\n[z]\n",
		"mcp_servers.lcm.command = \"old\"\n",
		"[mcp_servers]\nlcm.command = \"old\"\n",
		"[mcp_servers]\nlcm = { command = \"old\" }\n",
	} {
		if got, err := edit.SetTable([]byte(src), path, []string{`command = "new"`}); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%q became %q, %v", src, got, err)
		}
	}
	for _, src := range []string{
		"mcp_servers.other.command = \"x\"\n", "[mcp_servers]\nother = { command = \"x\" }\n", "[other]\nmcp_servers = {}\n",
		"[mcp_servers.other]\nlcm = { command = \"x\" }\n", "# mcp_servers = {}\n",
	} {
		if _, err := edit.SetTable([]byte(src), path, []string{`command = "new"`}); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestCutTable(t *testing.T) {
	path := []string{"mcp_servers", "lcm"}
	for _, tt := range []struct{ name, src, want string }{
		{"alone", "[mcp_servers.lcm]\ncommand = \"x\"\n", ""},
		{"between", "a = 1\n\n[mcp_servers.lcm]\ncommand = \"x\"\n[mcp_servers.lcm.env]\nA = \"1\"\n\n# of b\n[b]\n", "a = 1\n\n# of b\n[b]\n"},
		{"absent", "a = 1\n", "a = 1\n"},
		{"quoted", "[mcp_servers.\"lcm\"]\ncommand = \"x\"\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := edit.CutTable([]byte(tt.src), path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := edit.CutTable([]byte("mcp_servers = {lcm = {command = \"x\"}}\n"), path); err == nil {
		t.Error("an inline table was taken for a table with a header")
	}
	if _, err := edit.SetTable([]byte("a = 1\nb =\n"), path, nil); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a file that does not parse: %v", err)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a": [1, 2], "mcp": {"x": {}}}`)
	f.Add("{\n  // c\n  \"mcp\": {\n  },\n}")
	f.Add("\ufeff{}")
	f.Fuzz(func(t *testing.T, src string) {
		d, err := edit.ParseJSON([]byte(src))
		if err != nil {
			return
		}
		hooks := d.Get("hooks") != nil
		if err = d.Set(lcm, "mcp", "lcm"); err != nil {
			return
		}
		if err := d.Append(1, "hooks", "Stop"); err != nil && !hooks {
			t.Fatal(err)
		}
		var got server
		if err := json.Unmarshal(d.Get("mcp", "lcm"), &got); err != nil || !cmp.Equal(got, lcm) {
			t.Fatalf("%q: %v %v", src, got, err)
		}
		if err := d.Cut("mcp", "lcm"); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzTOML(f *testing.F) {
	f.Add("a = 1\n[mcp_servers.lcm]\ncommand = \"x\"\n")
	f.Add("[[x]]\n[mcp_servers]\nlcm.command = \"y\"\n")
	f.Fuzz(func(t *testing.T, src string) {
		path := []string{"mcp_servers", "lcm"}
		put, err := edit.SetTable([]byte(src), path, []string{`command = "/usr/bin/lcm"`})
		if err != nil {
			return
		}
		table, err := edit.HasTable(put, path)
		if err != nil || table["command"] != "/usr/bin/lcm" {
			t.Fatalf("%q: %v %v", src, table, err)
		}
		if cut, err := edit.CutTable(put, path); err == nil {
			if table, _ := edit.HasTable(cut, path); table != nil {
				t.Fatalf("%q: still %v", src, table)
			}
		}
	})
}
