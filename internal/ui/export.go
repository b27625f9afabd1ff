package ui

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/store"
)

// exported is the data of a page that is written to a file.
type exported struct {
	Style   markup
	Session sessionData
	Map     *mapData
}

// Selection selects the messages of WriteSession.
type Selection struct {
	From  int64 // the first, by Seq
	Limit int   // 0 for all
	All   bool  // with records that no model sees
}

// WriteSession writes a page with the messages of a conversation that needs no
// server: styles and images are in it, and it makes no request.
func (s *Server) WriteSession(ctx context.Context, w io.Writer, c store.Conversation, sel Selection) error {
	return s.export(ctx, w, c, false, func(out *bytes.Buffer, flush func() error) error {
		shown := 0
		day := ""
		for m, err := range s.record.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: sel.From - 1, NoRaw: true}) {
			if err != nil {
				return err
			}
			if m.Flags&store.FlagHidden != 0 && !sel.All {
				continue
			}
			if sel.Limit > 0 && shown == sel.Limit {
				break
			}
			shown++
			v := []Message{showMessage(m, true)}
			fold(v[0].Parts)
			markDays(v)
			if today := v[0].Time.Local().Format("2006-01-02"); today == day {
				v[0].NewDay = false
			} else {
				day = today
			}
			if err := s.templates.execute(out, "article", v[0]); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
		}
		return nil
	})
}

// fold closes the calls, results and reasoning of a message.
func fold(parts []Part) {
	for i := range parts {
		parts[i].Folded = true
		if parts[i].Kind == "text" {
			parts[i].Folded = false
		}
	}
}

// WriteTree writes a page with the summaries of a conversation and their map that
// needs no server.
func (s *Server) WriteTree(ctx context.Context, w io.Writer, c store.Conversation) error {
	return s.export(ctx, w, c, true, func(out *bytes.Buffer, flush func() error) error {
		var ids []store.SummaryID
		for sum, err := range s.record.Summaries(ctx, store.SummaryQuery{Conversation: c.ID}) {
			if err != nil {
				return err
			}
			if !sum.Retired {
				ids = append(ids, sum.ID)
			}
		}
		for _, id := range ids {
			d, err := s.summary(ctx, id)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, `<section class="summary" id="%s">`, id)
			if err := s.templates.execute(out, "summary", frame{Data: d}); err != nil {
				return err
			}
			out.WriteString("</section>\n")
			if err := flush(); err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			out.WriteString("<p>This session has no summaries yet.</p>")
		}
		return flush()
	})
}

// export writes the beginning of a page, calls body, and writes the end. body calls
// flush to write its buffer to w, with links that work in a file.
func (s *Server) export(ctx context.Context, w io.Writer, c store.Conversation, tree bool, body func(out *bytes.Buffer, flush func() error) error) error {
	style, err := assetFiles.ReadFile("assets/style.css")
	if err != nil {
		return err
	}
	d := exported{Style: markup(style)}
	if d.Session.Session, err = s.session(ctx, c); err != nil {
		return err
	}
	if tree {
		m, err := s.sessionMap(ctx, c)
		if err != nil {
			return err
		}
		d.Map = &m
	}
	var out bytes.Buffer
	flush := func() error {
		page := ownLink().ReplaceAllFunc(out.Bytes(), func(link []byte) []byte { return fileLink(link, tree) })
		page, err := s.embedImages(ctx, page)
		if err == nil {
			_, err = w.Write(page)
		}
		out.Reset()
		return err
	}
	if err := s.templates.execute(&out, "export-top", d); err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if err := body(&out, flush); err != nil {
		return err
	}
	out.WriteString("</div></main></body></html>\n")
	return flush()
}

var (
	// ownLink finds the links to pages of the server. Stored text cannot contain
	// one: its quotes are escaped.
	ownLink  = lazyregexp.New(` href="(/[^"]*)"`)
	linkedID = lazyregexp.New(`(msg_[0-9]+|sum_[0-9a-f]{16})"$`)
	ownImage = lazyregexp.New(`<img src="/file/(file_[0-9a-f]{16})/content"`)
)

// fileLink returns the link within a file that stands for a link of the server: to
// a message or summary that the file has, else none.
func fileLink(link []byte, tree bool) []byte {
	id := linkedID().FindSubmatch(link)
	if id == nil || strings.HasPrefix(string(id[1]), "sum_") != tree {
		return nil
	}
	return []byte(` href="#` + string(id[1]) + `"`)
}

// mostEmbedded is the largest image that is put into a file.
const mostEmbedded = 4 << 20

// embedImages puts images in the place of their addresses.
func (s *Server) embedImages(ctx context.Context, page []byte) ([]byte, error) {
	var failed error
	page = ownImage().ReplaceAllFunc(page, func(img []byte) []byte {
		id := store.PayloadID(ownImage().FindSubmatch(img)[1])
		p, err := s.record.Payload(ctx, id)
		if err != nil || p.Size > mostEmbedded {
			failed = err
			return []byte("<img")
		}
		data := make([]byte, p.Size)
		if _, err := p.Content.ReadAt(data, 0); err != nil && err != io.EOF {
			failed = err
		}
		mime := http.DetectContentType(data)
		if !rasterImage(mime) {
			return []byte("<img")
		}
		return []byte(`<img src="data:` + html.EscapeString(mime) + ";base64," + base64.StdEncoding.EncodeToString(data) + `"`)
	})
	return page, failed
}
