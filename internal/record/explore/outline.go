package explore

import (
	"bytes"
	"encoding/hex"
	"image"
	_ "image/gif"  // registers the format with image.DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// listed shows the lines that the kind's outline finds, with their numbers.
func (e *explorer) listed() {
	const most = 200 // more than fit into a summary
	found, fenced := 0, false
	var list []string
	for n, line := range lines(e.data) {
		if e.name == "markdown" && (bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~"))) {
			fenced = !fenced
		}
		if fenced || !e.outline().Match(line[:min(len(line), maxLine)]) {
			continue
		}
		if found++; found <= most {
			text := strings.TrimRight(strings.TrimSuffix(oneLine(line, 160), "{"), " :")
			list = append(list, "  "+prose.Number(n)+": "+text)
		}
	}
	if found == 0 {
		e.excerpt()
		return
	}
	e.out.add(plural(found, e.found) + ":")
	e.out.addAll(list)
}

// excerpt shows the beginning, the middle and the end of a text.
func (e *explorer) excerpt() {
	total := len(e.data)
	if total <= 1500 {
		e.quote("text", nonBlank(e.data, 12))
		return
	}
	e.quote("begins", nonBlank(e.data[:min(total, 4096)], 5))
	mid := e.data[total/2 : min(total, total/2+2048)]
	if i := bytes.IndexByte(mid, '\n'); i >= 0 && i+1 < len(mid) {
		mid = mid[i+1:]
	}
	e.quote("middle", nonBlank(mid, 2))
	tail := nonBlank(e.data[total-min(total, 2048):], 1<<16)
	e.quote("ends", tail[max(0, len(tail)-2):])
}

// quote shows lines under a label.
func (e *explorer) quote(label string, lines []string) {
	if len(lines) > 0 {
		e.out.add(label + ":")
		e.out.addAll(lines)
	}
}

// nonBlank returns the first lines of b that are not blank, shortened.
func nonBlank(b []byte, most int) (all []string) {
	for _, line := range lines(b) {
		if len(all) == most {
			break
		}
		if text := oneLine(line, 160); text != "" {
			all = append(all, "  "+text)
		}
	}
	return all
}

// image shows the dimensions, where the standard library can read them.
func (e *explorer) image() {
	if c, _, err := image.DecodeConfig(bytes.NewReader(e.data)); err == nil {
		e.out.addf("%d × %d pixels", c.Width, c.Height)
		return
	}
	e.out.add("dimensions unknown")
}

// binary shows how bytes that are not text begin.
func (e *explorer) binary() {
	e.out.add("begins: " + hex.EncodeToString(e.data[:min(len(e.data), 32)]))
}
