package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Links between the pages lead to files and headings that exist.
func TestDocsLinkToPagesThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/hosts/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages", len(pages))
	}
	link := regexp.MustCompile(`\]\(([^)\s:]+)\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(page)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(dir, filepath.FromSlash(path))
			}
			content, err := os.ReadFile(target)
			if err != nil {
				if info, e := os.Stat(target); e != nil || !info.IsDir() {
					t.Errorf("%s links to %s, which does not exist", page, m[1])
				}
			} else if heading != "" && !headings(string(content))[heading] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// headings returns the anchors that a Markdown page has: lower case, blanks as dashes, without other signs.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchors[regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"), "")] = true
	}
	return anchors
}
