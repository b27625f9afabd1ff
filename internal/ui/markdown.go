package ui

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	rendererhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
)

// renderMarkdown is goldmark, with HTML shown as text, images as links, and
// links that lead to web pages only.
var renderMarkdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
	goldmark.WithRendererOptions(rendererhtml.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safeNodes{}, 1))),
)

// markdown renders Markdown of the record. A text that cannot be rendered is
// shown as it is.
func markdown(text string) markup {
	text = safetext.Text(text)
	var b bytes.Buffer
	if err := renderMarkdown.Convert([]byte(text), &b); err != nil {
		return markup("<pre>" + html.EscapeString(text) + "</pre>")
	}
	return markup(b.String())
}

// safeNodes renders the nodes of Markdown that could carry markup or addresses
// of the record into a page.
type safeNodes struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (n safeNodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindRawHTML, n.rawHTML)
	reg.Register(ast.KindHTMLBlock, n.htmlBlock)
	reg.Register(ast.KindLink, n.link)
	reg.Register(ast.KindAutoLink, n.autoLink)
	reg.Register(ast.KindImage, n.image)
	reg.Register(ast.KindHeading, n.heading)
	reg.Register(ast.KindFencedCodeBlock, n.code)
	reg.Register(ast.KindCodeBlock, n.code)
}

func escaped(w util.BufWriter, text []byte) { _, _ = w.WriteString(html.EscapeString(string(text))) }

func (safeNodes) rawHTML(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		escaped(w, node.(*ast.RawHTML).Segments.Value(src))
	}
	return ast.WalkSkipChildren, nil
}

func (safeNodes) htmlBlock(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	block := node.(*ast.HTMLBlock)
	if entering {
		_, _ = w.WriteString("<pre>")
		escaped(w, block.Lines().Value(src))
		if block.HasClosure() {
			escaped(w, block.ClosureLine.Value(src))
		}
		_, _ = w.WriteString("</pre>\n")
	}
	return ast.WalkContinue, nil
}

// webAddress returns an address that a page may link to, or "".
func webAddress(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(u.Scheme)) {
		return ""
	}
	return u.String()
}

// anchor opens a link, or writes nothing if the address is not of a web page. It
// reports which.
func anchor(w util.BufWriter, address string) bool {
	to := webAddress(address)
	if to == "" {
		return false
	}
	_, _ = w.WriteString(`<a rel="noopener noreferrer nofollow" target="_blank" href="` + html.EscapeString(to) + `">`)
	return true
}

func (safeNodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := string(node.(*ast.Link).Destination)
	switch {
	case entering:
		anchor(w, to)
	case webAddress(to) != "":
		_, _ = w.WriteString("</a>")
	default:
		_, _ = w.WriteString(" (" + html.EscapeString(to) + ")")
	}
	return ast.WalkContinue, nil
}

func (safeNodes) autoLink(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.AutoLink)
	if !entering {
		return ast.WalkContinue, nil
	}
	to := string(n.URL(src))
	if n.AutoLinkType == ast.AutoLinkEmail {
		to = "mailto:" + to
	}
	linked := anchor(w, to)
	escaped(w, n.Label(src))
	if linked {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

// image writes the address of an image as a link: a page loads nothing from
// other hosts.
func (safeNodes) image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := string(node.(*ast.Image).Destination)
	if entering {
		_, _ = w.WriteString("[image: ")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(" ")
	linked := anchor(w, to)
	escaped(w, []byte(to))
	if linked {
		_, _ = w.WriteString("</a>")
	}
	_, _ = w.WriteString("]")
	return ast.WalkContinue, nil
}

// heading writes a heading as bold text: the headings of a page are its own.
func (safeNodes) heading(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<p class="heading">`)
	} else {
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkContinue, nil
}

func (safeNodes) code(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fenced, ok := node.(*ast.FencedCodeBlock)
		code := ok && len(fenced.Language(src)) > 0
		_, _ = w.WriteString(string(preformatted(string(node.Lines().Value(src)), code)))
	}
	return ast.WalkSkipChildren, nil
}

// diffLine recognises the line that starts a hunk of a unified diff, or a patch of
// Codex.
var diffLine = lazyregexp.New(`(?m)^(@@ -\d+(,\d+)? \+\d+(,\d+)? @@|\*\*\* Begin Patch)`)

// preformatted returns text in a pre element. The lines of a diff and code are coloured.
func preformatted(text string, code bool) markup {
	escape := html.EscapeString
	if code {
		escape = coloured
	}
	if !diffLine().MatchString(text) {
		return markup(`<pre tabindex="0">` + escape(text) + "</pre>\n")
	}
	var b strings.Builder
	b.WriteString(`<pre class="diff" tabindex="0">`)
	for l := range strings.Lines(text) {
		class := "same"
		switch {
		case slices.ContainsFunc([]string{"@@", "+++", "---", "diff ", "*** "}, func(head string) bool { return strings.HasPrefix(l, head) }):
			class = "hunk"
		case strings.HasPrefix(l, "+"):
			class = "added"
		case strings.HasPrefix(l, "-"):
			class = "removed"
		}
		b.WriteString(`<span class="` + class + `">` + escape(strings.TrimSuffix(l, "\n")) + "\n</span>")
	}
	b.WriteString("</pre>\n")
	return markup(b.String())
}

// ids recognises the ids of the record in a text.
var ids = lazyregexp.New(`\b(msg_[0-9]{1,18}|sum_[0-9a-f]{16}|file_[0-9a-f]{16})\b`)

// linkIDs escapes a text and makes links of the ids in it.
func linkIDs(text string) markup {
	safe := html.EscapeString(safetext.Text(text))
	return markup(ids().ReplaceAllStringFunc(safe, func(id string) string {
		return `<a class="id" href="` + pathOf(id) + `">` + id + `</a>`
	}))
}

var (
	tag = lazyregexp.New(`<[^>]*>`)
	// place is how a summary names a message, like user#81, ran#82 (package notes has all kinds) and (#87–#90).
	place = lazyregexp.New(`(\b(?:user|assistant|tool|system|plan|host|files|commit|edit|ran|saw|failed|omitted)|\(|–)#([0-9]{1,15})\b`)
)

// renumber gives the places that a summary names their numbers in another session: seqs[n-1] is
// that of place n.
func renumber(text string, seqs []int64) string {
	return place().ReplaceAllStringFunc(text, func(found string) string {
		m := place().FindStringSubmatch(found)
		n, _ := strconv.Atoi(m[2]) // it has digits
		if n < 1 || n > len(seqs) {
			return found
		}
		return fmt.Sprintf("%s#%d", m[1], seqs[n-1])
	})
}

// linkPlaces makes links of the places that a summary names, outside of tags and links.
func linkPlaces(session store.ConversationID, text markup) markup {
	var b strings.Builder
	at, inLink := 0, false
	write := func(part string) {
		if inLink {
			b.WriteString(part)
			return
		}
		b.WriteString(place().ReplaceAllStringFunc(part, func(found string) string {
			m := place().FindStringSubmatch(found)
			name, before := m[1]+"#"+m[2], ""
			if m[1] == "(" || m[1] == "–" {
				name, before = "#"+m[2], m[1]
			}
			return fmt.Sprintf(`%s<a href="/session/%d?at=%s">%s</a>`, before, session, m[2], name)
		}))
	}
	for _, t := range tag().FindAllStringIndex(string(text), -1) {
		write(string(text[at:t[0]]))
		b.WriteString(string(text[t[0]:t[1]]))
		switch one := string(text[t[0]:t[1]]); {
		case strings.HasPrefix(one, "<a "):
			inLink = true
		case one == "</a>":
			inLink = false
		}
		at = t[1]
	}
	write(string(text[at:]))
	return markup(b.String())
}

// pathOf returns the path of the page of an id.
func pathOf(id string) string {
	switch {
	case strings.HasPrefix(id, "sum_"):
		return "/summary/" + id
	case strings.HasPrefix(id, "file_"):
		return "/file/" + id
	}
	return "/message/" + id
}
