package retention

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/lossless-context/lcm/internal/view/summary"
)

// Report is the result of a measurement.
type Report struct {
	Messages    int     `json:"messages"`
	Tokens      int     `json:"tokens"`
	ChunkTokens int     `json:"chunkTokens"`
	Budget      float64 `json:"budget"`
	FanOut      int     `json:"fanOut"`
	Depths      []Depth `json:"depths"`
}

// Depth has the figures of the summaries at one depth.
type Depth struct {
	Depth     int     `json:"depth"` // 1 is a leaf
	Nodes     int     `json:"nodes"`
	Tokens    int     `json:"tokens"`
	Ratio     float64 `json:"ratio"` // of the conversation's tokens
	Sentences int     `json:"sentences"`
	Fidelity  float64 `json:"fidelity"` // sentences that occur word for word in a message
	Prose     Group   `json:"prose"`    // said by the user or the assistant
	Tools     Group   `json:"tools"`    // seen in tool traffic and code only
}

// Group counts identifiers of one provenance. A node counts each identifier
// of the messages it stands for once.
type Group struct {
	Count
	Classes []ClassCount `json:"classes"`
}

// Count is how many identifiers there were, how many the summaries kept word
// for word, and how many head truncation to the same size kept.
type Count struct {
	Total int `json:"total"`
	Kept  int `json:"kept"`
	Head  int `json:"head"`
}

// ClassCount is a Count for one class of identifier.
type ClassCount struct {
	Class summary.Class `json:"class"`
	Count
}

// Share is the part that was kept, 1 where there was nothing to keep.
func (c Count) Share() float64 { return shareOrOne(c.Kept, c.Total) }

// HeadShare is the part that head truncation kept.
func (c Count) HeadShare() float64 { return shareOrOne(c.Head, c.Total) }

func shareOrOne(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return share(n, of)
}

func share(n, of int) float64 { return float64(n) / float64(of) }

func (g *Group) add(ids []summary.Identifier, kept, head string) {
	if g.Classes == nil {
		for _, c := range summary.Classes() {
			g.Classes = append(g.Classes, ClassCount{Class: c})
		}
	}
	for _, id := range ids {
		one := Count{Total: 1}
		if summary.Mentions(kept, id.Text) {
			one.Kept = 1
		}
		if summary.Mentions(head, id.Text) {
			one.Head = 1
		}
		g.Count.add(one)
		for i := range g.Classes {
			if g.Classes[i].Class == id.Class {
				g.Classes[i].Count.add(one)
			}
		}
	}
}

func (c *Count) add(d Count) {
	c.Total += d.Total
	c.Kept += d.Kept
	c.Head += d.Head
}

// Text renders the report as a table for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages, %d tokens; leaves of %d tokens at a budget of %.0f %%, condensed %d:1\n\n",
		r.Messages, r.Tokens, r.ChunkTokens, 100*r.Budget, r.FanOut)
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "depth\tnodes\ttokens\tratio\tverbatim sentences\tidentifiers in prose\thead\tin tools and code\thead")
	for _, d := range r.Depths {
		fmt.Fprintf(w, "%d\t%d\t%d\t%.1f %%\t%.0f %% of %d\t%s\t%s\t%s\t%s\n", d.Depth, d.Nodes, d.Tokens, 100*d.Ratio,
			100*d.Fidelity, d.Sentences, kept(d.Prose.Count), percent(d.Prose.HeadShare()), kept(d.Tools.Count), percent(d.Tools.HeadShare()))
	}
	w.Flush()
	b.WriteString("\nidentifiers in prose kept word for word, by class (head truncation to the same size in brackets)\n\n")
	w = tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprint(w, "depth")
	for _, c := range summary.Classes() {
		fmt.Fprintf(w, "\t%s", c)
	}
	fmt.Fprintln(w)
	for _, d := range r.Depths {
		fmt.Fprintf(w, "%d", d.Depth)
		for _, c := range d.Prose.Classes {
			if c.Total == 0 {
				fmt.Fprint(w, "\t–")
				continue
			}
			fmt.Fprintf(w, "\t%s (%s)", percent(c.Share()), percent(c.HeadShare()))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

func kept(c Count) string {
	return fmt.Sprintf("%s (%d of %d)", percent(c.Share()), c.Kept, c.Total)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
