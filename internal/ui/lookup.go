package ui

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// everywhere looks ids up in all conversations.
var everywhere = recall.Where{AllConversations: true}

// Reference is a line about a message or summary that leads to its page.
type Reference struct {
	ID       string               `json:"id"`
	Session  store.ConversationID `json:"session"`
	Summary  bool                 `json:"summary,omitempty"`
	Depth    int                  `json:"depth,omitempty"`
	Role     string               `json:"role,omitempty"`
	Seq      int64                `json:"seq,omitempty"`
	Messages int                  `json:"messages,omitempty"`
	Time     time.Time            `json:"time,omitzero"`
	Text     string               `json:"text"`
}

// references returns lines about nodes, in their order.
func (s *reader) references(ctx context.Context, nodes []store.ID) ([]Reference, error) {
	all := make([]Reference, 0, len(nodes))
	for _, n := range nodes {
		if n.IsSummary() {
			sum, err := store.First(s.record.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{n.Summary}}))
			if err != nil {
				return nil, err
			}
			all = append(all, Reference{ID: string(sum.ID), Session: sum.Conversation, Summary: true, Depth: sum.Depth, Messages: sum.Messages, Time: sum.Earliest, Text: topic(sum.Body)})
			continue
		}
		m, err := store.First(s.record.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{n.Message}, NoRaw: true, Erased: true}))
		if err != nil {
			return nil, err
		}
		all = append(all, Reference{ID: m.ID.String(), Session: m.Conversation, Role: string(m.Body.Role), Seq: m.Seq, Time: m.Body.Time, Text: firstLine(m.Body.Render())})
	}
	return all, nil
}

// summaryNodes returns ids of summaries as nodes.
func summaryNodes(ids []store.SummaryID) []store.ID {
	nodes := make([]store.ID, len(ids))
	for i, id := range ids {
		nodes[i] = store.ID{Summary: id}
	}
	return nodes
}

// messageData is the data of the page of a message.
type messageData struct {
	Session  Session         `json:"session"`
	Message  Message         `json:"message"`
	Covering []Reference     `json:"covering"` // from the nearest summary up to the one in the view
	Previous store.MessageID `json:"previous,omitempty"`
	Next     store.MessageID `json:"next,omitempty"`
	Erased   bool            `json:"erased,omitempty"`
}

func (d messageData) title() string {
	return fmt.Sprintf("Message %s of %s", prose.Number(d.Message.Seq), d.Session.Title)
}

// parsed returns the id in the path of a request, which must be of a kind.
func parsed(r *http.Request, kind string, has func(store.ID) bool) (store.ID, error) {
	id, err := store.ParseID(r.PathValue("id"))
	if err != nil || !has(id) {
		return id, missing(store.ErrNotFound, kind, r.PathValue("id"))
	}
	return id, nil
}

func (s *Server) messagePage(r *http.Request) (d messageData, err error) {
	ctx := r.Context()
	id, err := parsed(r, "message", func(id store.ID) bool { return id.Message != 0 })
	if err != nil {
		return d, err
	}
	m, err := store.First(s.record.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{id.Message}, NoRaw: true, Erased: true}))
	if err != nil {
		return d, missing(err, "message", id.Message.String())
	}
	c, err := s.record.Conversation(ctx, m.Conversation)
	if err != nil {
		return d, err
	}
	if d.Session, err = s.session(ctx, c); err != nil {
		return d, err
	}
	d.Message = showMessage(m, true)
	if d.Erased = m.Flags&store.FlagErased != 0; d.Erased {
		return d, nil
	}
	about, err := s.Engine.Describe(ctx, recall.DescribeRequest{ID: id, Where: everywhere, MaxTokens: 1})
	if err != nil {
		return d, err
	}
	if about.Previous != nil {
		d.Previous = about.Previous.ID
	}
	if about.MessageDetail.Next != nil {
		d.Next = about.MessageDetail.Next.ID
	}
	d.Covering, err = s.references(ctx, summaryNodes(about.CoveringIDs))
	return d, err
}

// summaryData is the data of the page of a summary.
type summaryData struct {
	Session Session       `json:"session"`
	Summary store.Summary `json:"summary"`
	// Expand is the line of the body that names the details left out.
	Expand   string      `json:"expand,omitempty"`
	Body     string      `json:"-"` // without that line
	Topic    string      `json:"topic"`
	Sources  []Reference `json:"sources"`
	Left     int         `json:"left,omitempty"` // sources that are not listed
	Unlisted int         `json:"-"`              // messages that were left out for a file
	Derived  []Reference `json:"derived"`
	First    int64       `json:"first,omitempty"` // the first message covered, by Seq
}

func (d summaryData) title() string {
	return d.Topic
}

// spoken begins a line of a summary that names its message, like "user#81: ".
var spoken = lazyregexp.New(`(?m)^[a-z]+#[0-9]+: `)

// topic returns what a summary is about: the first sentence of the user in it that is more than a
// word of agreement, else its first line.
func topic(body string) string {
	first := ""
	for l := range strings.Lines(body) {
		who := spoken().FindString(l)
		text := firstLine(strings.Trim(l[len(who):], "#*-> \t\r\n"))
		if strings.HasPrefix(who, "user") && len(text) > 20 {
			return text
		}
		first = cmp.Or(first, strings.TrimPrefix(text, expandLine+": "))
	}
	return cmp.Or(first, "Summary")
}

// summaryText renders a summary with links to the messages that it names. Its lines are cut, so each
// is Markdown of its own: a backquote without its pair ends there.
func summaryText(session store.ConversationID, text string) markup {
	return linkPlaces(session, markdown(spoken().ReplaceAllString(text, "\n$0")))
}

func (d summaryData) expand() markup { return linkPlaces(d.Session.ID, linkIDs(d.Expand)) }

// listed is how many sources a page lists.
const listed = 200

// expandLine begins the last line of a summary.
const expandLine = "Expand for details about"

func (s *Server) summaryPage(r *http.Request) (d summaryData, err error) {
	id, err := parsed(r, "summary", func(id store.ID) bool { return id.Summary != "" })
	if err != nil {
		return d, err
	}
	return s.summary(r.Context(), id.Summary, true)
}

// summary returns a summary, with or without the messages among its sources.
func (s *reader) summary(ctx context.Context, id store.SummaryID, messages bool) (d summaryData, err error) {
	if d.Summary, err = store.First(s.record.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}})); err != nil {
		return d, missing(err, "summary", string(id))
	}
	c, err := s.record.Conversation(ctx, d.Summary.Conversation)
	if err != nil {
		return d, err
	}
	if d.Session, err = s.session(ctx, c); err != nil {
		return d, err
	}
	d.Body, d.Topic = d.Summary.Body, topic(d.Summary.Body)
	if at := strings.LastIndex(d.Body, expandLine); at >= 0 {
		d.Body, d.Expand = strings.TrimSpace(d.Body[:at]), strings.TrimSpace(d.Body[at:])
	}
	sources, err := s.record.Sources(ctx, id)
	if err != nil {
		return d, err
	}
	if all := len(sources); !messages {
		sources = slices.DeleteFunc(sources, func(n store.ID) bool { return !n.IsSummary() })
		d.Unlisted = all - len(sources)
	}
	d.Left = max(0, len(sources)-listed)
	if d.Sources, err = s.references(ctx, sources[:min(listed, len(sources))]); err != nil {
		return d, err
	}
	derived, err := s.record.Derived(ctx, store.ID{Summary: id})
	if err != nil {
		return d, err
	}
	over := make([]store.ID, len(derived))
	for i, id := range derived {
		over[i] = store.ID{Summary: id}
	}
	if d.Derived, err = s.references(ctx, over); err != nil {
		return d, err
	}
	offset, err := s.offset(ctx, c)
	d.First = max(d.Summary.Pos-offset, 1)
	return d, err
}

// fileData is the data of the page of a payload.
type fileData struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Path     string      `json:"path,omitempty"`
	MIME     string      `json:"mime"`
	Bytes    int64       `json:"bytes"`
	Tokens   int         `json:"tokens"`
	SHA256   string      `json:"sha256"`
	Summary  string      `json:"summary"`
	Messages []Reference `json:"messages"`
	Text     string      `json:"text,omitempty"` // the beginning of a text
	Cut      bool        `json:"cut,omitempty"`
	Image    bool        `json:"image,omitempty"`
	Damaged  bool        `json:"damaged,omitempty"`
}

func (d fileData) title() string {
	if d.Name == "" {
		return d.ID
	}
	return d.Name
}

// previewBytes is how much of a text the page of a payload shows.
const previewBytes = 64 << 10

func (s *reader) payload(r *http.Request) (store.Payload, error) {
	id, err := parsed(r, "file", func(id store.ID) bool { return id.Payload != "" })
	if err != nil {
		return store.Payload{}, err
	}
	p, err := s.record.Payload(r.Context(), id.Payload)
	return p, missing(err, "file", string(id.Payload))
}

func (s *Server) filePage(r *http.Request) (d fileData, err error) {
	p, err := s.payload(r)
	if err != nil {
		return d, err
	}
	d = fileData{
		ID: string(p.ID), Name: p.Name, Path: p.Path, MIME: p.MIME, Bytes: p.Size, Tokens: p.Tokens, SHA256: fmt.Sprintf("%x", p.SHA256),
		Summary: p.Summary, Damaged: p.Damaged,
	}
	head := make([]byte, min(p.Size, previewBytes))
	if _, err := p.Content.ReadAt(head, 0); err != nil && err != io.EOF {
		return d, err
	}
	d.Image = rasterImage(http.DetectContentType(head))
	if text := strings.ToValidUTF8(string(head), ""); !d.Image && len(text) >= len(head)-utf8.UTFMax && !strings.Contains(text, "\x00") {
		d.Text, d.Cut = text, p.Size > previewBytes
	}
	holders, err := s.record.Holders(r.Context(), p.ID, nil, 20)
	if err != nil {
		return d, err
	}
	nodes := make([]store.ID, len(holders))
	for i, id := range holders {
		nodes[i] = store.ID{Message: id}
	}
	d.Messages, err = s.references(r.Context(), nodes)
	return d, err
}

// rasterImage reports whether a page may show content of a type as an image. An
// SVG may hold scripts and is not among them.
func rasterImage(mime string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime)
}

// fileContent serves the bytes of a payload. A browser shows images and saves
// everything else.
func (s *Server) fileContent(w http.ResponseWriter, r *http.Request) {
	p, err := s.payload(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	head := make([]byte, min(p.Size, 512))
	if _, err := p.Content.ReadAt(head, 0); err != nil && err != io.EOF {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	mime := http.DetectContentType(head)
	if !rasterImage(mime) {
		mime = "application/octet-stream"
		w.Header().Set("Content-Disposition", "attachment; filename="+string(p.ID))
	}
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Content-Length", fmt.Sprint(p.Size))
	_, _ = io.Copy(w, io.NewSectionReader(p.Content, 0, p.Size)) // the browser is gone
}
