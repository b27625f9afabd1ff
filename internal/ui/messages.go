package ui

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Message is a stored message as a page shows it. The API has the stored one.
type Message struct {
	store.Message
	Notes []string `json:"notes,omitempty"` // from the flags
	Parts []Part   `json:"-"`
	// OnBranch says that a rewind took the message out of the view, BranchStart that
	// it is the first of its branch, which follows the message BranchAfter.
	OnBranch    bool  `json:"onBranch,omitempty"`
	BranchStart bool  `json:"-"`
	BranchAfter int64 `json:"-"`
	// Begins are sub-agents and forks that begin after the message.
	Begins []Session `json:"begins,omitempty"`
	// NewDay is set on the first message of a day in a list.
	NewDay bool `json:"-"`
	// Focus marks the message that the address names.
	Focus bool `json:"-"`
}

// Part is a piece of a message on a page.
type Part struct {
	Kind  llms.PartKind
	Tool  string
	Error bool
	Text  string
	// Left is how many characters were cut from the end of Text.
	Left int
	// FileID, Name and MIME are those of content outside the conversation.
	FileID, Name, MIME string
	Bytes              int64
	File               string // the path of a file that a call names
	// Why is the path of the page about that file.
	Why string

	HTML markup
	Head string // one line for a folded part
	// Folded parts are closed until the user opens them.
	Folded bool
	Image  bool
	// Width and Height are those of an image on the page.
	Width, Height int
}

// The largest image in a list of messages, in pixels.
const (
	imageWidth  = 480
	imageHeight = 320
)

// pixels finds the size of an image in its description.
var pixels = lazyregexp.New(`(\d{1,6}) × (\d{1,6}) pixels`)

// imageSize returns the size in which an image is shown: its own, unless that is too
// large. An image of unknown size gets the largest.
func imageSize(note string) (width, height int) {
	m := pixels().FindStringSubmatch(note)
	if m == nil {
		return imageWidth, imageHeight
	}
	w, _ := strconv.Atoi(m[1]) // they are digits
	h, _ := strconv.Atoi(m[2])
	scale := min(1, float64(imageWidth)/float64(max(w, 1)), float64(imageHeight)/float64(max(h, 1)))
	return max(1, int(float64(w)*scale)), max(1, int(float64(h)*scale))
}

// shownCharacters is how much of a part a list shows; the page of a message shows
// all of it.
const shownCharacters = 3000

// showMessage returns a message for a page. Parts are cut unless it is to be shown
// whole.
func showMessage(m store.Message, whole bool) Message {
	flags := m.Flags
	if !whole { // in a list the note would be on every message of an import
		flags &^= store.FlagDuplicate
	}
	v := Message{Message: m, Notes: flagNotes(flags)}
	for _, p := range m.Body.Parts {
		for _, part := range showParts(p, m.Body.Role, whole) {
			if part.File != "" {
				part.Why = whyPath(m.Conversation, part.File)
			}
			v.Parts = append(v.Parts, part)
		}
	}
	return v
}

func flagNotes(f store.Flag) []string {
	var all []string
	for _, n := range []struct {
		flag store.Flag
		text string
	}{
		{store.FlagEcho, "output of lcm"}, {store.FlagHostSummary, "summary by the host"}, {store.FlagSynthetic, "written by the host"},
		{store.FlagDuplicate, "may repeat another message"}, {store.FlagUnknown, "unknown type"}, {store.FlagRedacted, "secrets removed"},
		{store.FlagMasked, "secrets masked"}, {store.FlagHidden, "not shown to a model"}, {store.FlagErased, "erased"},
	} {
		if f&n.flag != 0 {
			all = append(all, n.text)
		}
	}
	return all
}

// showParts returns a part for a page; a result has the parts of its output.
func showParts(p llms.Part, role llms.Role, whole bool) []Part {
	v := Part{Kind: p.Kind}
	switch {
	case p.Kind == llms.PartToolResult && p.Result != nil:
		v.Tool, v.Error = p.Result.Name, p.Result.IsError
		var all []Part
		var text []string
		for _, o := range p.Result.Output {
			if o.Kind == llms.PartText && o.Ref == nil {
				text = append(text, o.Text)
				continue
			}
			all = append(all, showParts(o, role, whole)...)
		}
		v.plain(strings.Join(text, "\n\n"), whole)
		v.Folded = !whole
		return append([]Part{v}, all...)
	case p.Ref != nil:
		v.FileID, v.Name, v.MIME, v.Bytes, v.Text = p.Ref.ID, p.Ref.Name, p.Ref.MIME, p.Ref.Bytes, p.Ref.Note
		v.Image = rasterImage(v.MIME)
		v.Width, v.Height = imageSize(p.Ref.Note)
		v.Kind = llms.PartBlob
	case p.Kind == llms.PartToolCall && p.Call != nil:
		v.Tool = p.Call.Name
		v.File = fileOf(p.Call)
		v.Text, v.Left = cut(callText(p.Call), whole)
		v.HTML, v.Folded = preformatted(safetext.Text(v.Text), codeEnding().MatchString(v.File)), !whole
		v.Head = callHead(p.Call.Arguments)
	case p.Kind == llms.PartText && role == llms.RoleTool:
		v.plain(p.Text, whole)
		v.Folded = !whole
	case p.Kind == llms.PartText:
		v.Text, v.Left = cut(p.Text, whole)
		v.HTML = markdown(v.Text)
	case p.Kind == llms.PartReasoning:
		v.Text, v.Left = cut(p.Text, whole)
		v.HTML, v.Folded, v.Head = markdown(v.Text), !whole, firstLine(p.Text)
	case p.Kind == llms.PartBlob && p.Blob != nil:
		v.Name, v.MIME, v.Bytes, v.Text = p.Blob.Name, p.Blob.MIME, int64(len(p.Blob.Data)), p.Blob.URL
	default:
		v.plain(indented(string(p.Extra)), whole)
		v.Folded = !whole
	}
	return []Part{v}
}

// plain shows text in a fixed-width font.
func (v *Part) plain(text string, whole bool) {
	v.Head = firstLine(text)
	v.Text, v.Left = cut(text, whole)
	v.HTML = preformatted(safetext.Text(v.Text), false)
}

// cut returns the beginning of a text, and how many characters follow it.
func cut(text string, whole bool) (string, int) {
	if whole || len(text) <= shownCharacters {
		return text, 0
	}
	n := 0
	for i := range text {
		if n == shownCharacters {
			return text[:i], len([]rune(text[i:]))
		}
		n++
	}
	return text, 0
}

func firstLine(text string) string {
	text = strings.TrimSpace(text[:min(len(text), 600)])
	line, _, _ := strings.Cut(text, "\n")
	return prose.Clip(safetext.Line(strings.ToValidUTF8(line, "")), 110)
}

// indented returns JSON with line breaks, or the text itself.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
