package patterns

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/llms"
)

// corpus makes messages, the same in each run on the same files. Two of three
// are talk; the third is a tool output.
type corpus struct {
	talk  []llms.Message
	files []string
	n     int    // messages made
	file  int    // files opened
	rest  []byte // of the open file
}

// outputBytes is the size of a tool output, about three kilobytes in lines.
const outputBytes = 3000

// extensions of the files that are read.
var extensions = []string{".go", ".md", ".s", ".txt", ".html", ".json", ".yaml", ".c", ".h", ".sum", ".mod"}

// newCorpus lists the files below the directories.
func newCorpus(roots []string) (*corpus, error) {
	c := &corpus{}
	for _, m := range sample.Messages() {
		if m.Role != llms.RoleTool {
			c.talk = append(c.talk, m)
		}
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && slices.Contains(extensions, filepath.Ext(path)) {
				c.files = append(c.files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(c.files) == 0 {
		return nil, hint.New("install the Go distribution, or name directories with --sources", "there are no sources to make messages of")
	}
	return c, nil
}

// goDirectories are the sources and documents of the Go distribution, and the
// module cache.
func goDirectories(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, hint.New("install it, or name directories with --sources", "find the Go distribution: %w", err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 2 {
		return nil, fmt.Errorf("go env answers %q", out)
	}
	var dirs []string
	for _, dir := range []string{filepath.Join(lines[0], "src"), filepath.Join(lines[0], "doc"), lines[1]} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// next makes a message and its searched text.
func (c *corpus) next() (m llms.Message, err error) {
	n := c.n
	c.n++
	if n%3 != 2 {
		m = llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: c.talk[n%len(c.talk)].PlainText()}}}
		if n%3 == 1 {
			m.Role = llms.RoleAssistant
		}
		m.Parts[0].Text = fmt.Sprintf("%s (%d)", m.Parts[0].Text, n)
		return m, nil
	}
	text, err := c.output()
	if err != nil {
		return m, err
	}
	return llms.Result(fmt.Sprintf("call_%d", n), "read_file", text, false), nil
}

// output is the next part of the files, in whole lines. When all files were
// read it begins again, and drops the first bytes of each file so that the parts
// differ.
func (c *corpus) output() (string, error) {
	for len(c.rest) == 0 {
		data, err := os.ReadFile(c.files[c.file%len(c.files)])
		if err != nil {
			return "", err
		}
		skip := c.file / len(c.files) * outputBytes / 3
		c.file++
		if len(data) > skip && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
			c.rest = data[skip:]
		}
		if c.file == 4*len(c.files) && c.rest == nil {
			return "", fmt.Errorf("the files are too small")
		}
	}
	end := min(len(c.rest), outputBytes)
	if line := bytes.LastIndexByte(c.rest[:end], '\n'); line > 0 {
		end = line + 1
	}
	part := c.rest[:end]
	c.rest = c.rest[end:]
	return strings.ToValidUTF8(string(part), "?"), nil
}
