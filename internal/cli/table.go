package cli

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// table lays text out in columns. A header that begins with ">" has its column
// aligned to the right.
type table struct {
	head []string
	rows [][]string
}

// columnGap stands between two columns.
const columnGap = "  "

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (p *program) printTable(t *table) {
	widths := make([]int, len(t.head))
	right := make([]bool, len(t.head))
	head := make([]string, len(t.head))
	for i, h := range t.head {
		head[i] = strings.TrimPrefix(h, ">")
		right[i] = head[i] != h
		widths[i] = lipgloss.Width(head[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], lipgloss.Width(row[i]))
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-lipgloss.Width(cell))
			if i > 0 {
				b.WriteString(columnGap)
			}
			if right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	if strings.Join(head, "") != "" {
		p.printf("%s\n", p.paint(bold, line(head)))
	}
	for _, row := range t.rows {
		p.printf("%s\n", line(row))
	}
}
