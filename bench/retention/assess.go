package retention

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/view/summary"
)

// assess measures all nodes of one depth.
func (r *runner) assess(depth int, nodes []node, total int) Depth {
	d := Depth{Depth: depth, Nodes: len(nodes)}
	sentences, verbatim := 0, 0
	for _, n := range nodes {
		tokens := r.count(n.source.Text)
		d.Tokens += tokens
		s, v := r.fidelity(n)
		sentences += s
		verbatim += v
		kept := readable(n.source.Text)
		head := r.head(n, tokens)
		d.Prose.add(distinct(r.said[n.from:n.to], nil), kept, head)
		d.Tools.add(distinct(r.seen[n.from:n.to], r.said[n.from:n.to]), kept, head)
	}
	d.Ratio = share(d.Tokens, total)
	d.Sentences, d.Fidelity = sentences, shareOrOne(verbatim, sentences)
	return d
}

// readable is the text of a summary without the message numbers that the
// summariser adds, which would pass for numbers that were kept.
func readable(text string) string {
	b := summary.Parse(text)
	var out strings.Builder
	for _, l := range b.Lines {
		out.WriteString(l.Text + "\n")
	}
	for _, l := range b.Prose {
		out.WriteString(l.Text + "\n")
	}
	out.WriteString(strings.Join(b.Identifiers, "\n") + "\n" + strings.Join(b.ToolIdentifiers, "\n") + "\n")
	for term := range strings.SplitSeq(b.Footer, ", ") {
		term, _, _ = strings.Cut(term, " (#")
		out.WriteString(term + "\n")
	}
	return out.String()
}

// fidelity counts the sentences of a node, and those that occur word for word
// in a message it stands for.
func (r *runner) fidelity(n node) (sentences, verbatim int) {
	b := summary.Parse(n.source.Text)
	for _, l := range append(b.Lines, b.Prose...) {
		sentences++
		for _, m := range r.messages[n.from:n.to] {
			if (l.Role == summary.RoleSummary || l.Seq == m.Seq) && strings.Contains(m.Text, l.Text) {
				verbatim++
				break
			}
		}
	}
	return sentences, verbatim
}

// head is the beginning of the node's messages, cut to as many tokens.
func (r *runner) head(n node, tokens int) string {
	var b strings.Builder
	for i := n.from; i < n.to && b.Len() < tokens*16; i++ {
		b.WriteString(r.messages[i].Text + "\n")
	}
	text := b.String()
	end := sort.Search(len(text), func(i int) bool { return r.count(text[:i+1]) > tokens })
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// distinct returns the identifiers of messages once each, in order, but for
// those in except.
func distinct(messages, except [][]summary.Identifier) []summary.Identifier {
	known := map[string]bool{}
	for _, id := range slices.Concat(except...) {
		known[id.Text] = true
	}
	return slices.DeleteFunc(slices.Concat(messages...), func(id summary.Identifier) bool {
		again := known[id.Text]
		known[id.Text] = true
		return again
	})
}
