//go:build record

package record

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// shown is the home directory that the fixtures speak of.
const shown = "/home/user"

var odd = regexp.MustCompile(`[^a-zA-Z0-9]`)

// kernel is the name that the fixtures have for that of the machine.
const kernel = "linux 6.1.0"

// scrub takes the machine out of a text.
func (b *bed) scrub(text string) string {
	text = regexp.MustCompile(`\b[Ll]inux \d+\.\d+[\w.+-]*`).ReplaceAllString(text, kernel)
	for _, r := range [][2]string{
		{b.home, shown}, {strings.TrimPrefix(b.home, "/"), strings.TrimPrefix(shown, "/")},
		{odd.ReplaceAllString(b.home, "-"), odd.ReplaceAllString(shown, "-")},
		{b.lcm, "/usr/local/bin/lcm"}, {b.url, "http://127.0.0.1:18080"},
	} {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	return text
}

// Strings longer than longest are cut to kept: the programs' own descriptions would fill
// the fixtures.
const longest, kept = 700, 160

var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// shorten cuts long strings in a line of JSON.
func shorten(line string) string {
	return literal.ReplaceAllStringFunc(line, func(s string) string {
		if len(s) <= longest {
			return s
		}
		cut := strings.ToValidUTF8(s[:kept], "")
		if i := strings.LastIndexByte(cut, '\\'); i > len(cut)-8 {
			cut = cut[:i] // not in the middle of an escape
		}
		return cut + ` … (shortened)"`
	})
}

// export writes the files of a directory as fixtures.
func (b *bed) export(host, from, to string) {
	home := filepath.Join(os.Getenv("LCM_RECORD_TO"), host, "testdata", "home")
	if err := os.RemoveAll(filepath.Join(home, to)); err != nil {
		b.Fatal(err)
	}
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(b.scrub(string(content)), "\n")
		if strings.HasSuffix(path, ".txt") && len(lines) > 200 {
			lines = lines[:200] // a file of output: some of it will do
		}
		for i, line := range lines {
			lines[i] = shorten(line)
		}
		b.write(filepath.Join(home, to, b.scrub(rel)), strings.Join(lines, ""))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// dump writes the tables of a database that are read as SQL, in the order of columns.
func (b *bed) dump(host, path, order string, tables ...string) {
	db, err := sqlite3.Open("file:" + path + "?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	each := func(sql string, fn func(*sqlite3.Stmt)) {
		s, _, err := db.Prepare(sql)
		if err != nil {
			b.Fatal(err)
		}
		for s.Step() {
			fn(s)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	fmt.Fprintln(&out, "PRAGMA foreign_keys = OFF;") // other tables are not read
	for _, table := range tables {
		each("SELECT sql FROM sqlite_master WHERE tbl_name = '"+table+"' AND sql IS NOT NULL AND type <> 'trigger' ORDER BY type DESC, name", func(s *sqlite3.Stmt) {
			fmt.Fprintln(&out, regexp.MustCompile(`,\s*CONSTRAINT [^\n]*`).ReplaceAllString(s.ColumnText(0), "")+";")
		})
		var columns []string
		each("PRAGMA table_info("+table+")", func(s *sqlite3.Stmt) { columns = append(columns, "quote("+s.ColumnText(1)+")") })
		each("SELECT "+strings.Join(columns, " || ', ' || ")+" FROM "+table+" ORDER BY "+order, func(s *sqlite3.Stmt) {
			fmt.Fprintf(&out, "INSERT INTO %s VALUES (%s);\n", table, shorten(b.scrub(s.ColumnText(0))))
		})
	}
	b.write(filepath.Join(os.Getenv("LCM_RECORD_TO"), host, "testdata", "sessions.sql"), out.String())
}

func TestShorten(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 157) + `\\n` + strings.Repeat("y", 900) + `","b":"z"}`
	if got := shorten(long); len(got) > 300 || !strings.HasSuffix(got, `(shortened)","b":"z"}`) {
		t.Error(got)
	}
}
