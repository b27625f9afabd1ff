package ui

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
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

// How much one page of a file holds. A browser shows it within a second.
const (
	pageMessages = 2000
	pageBytes    = 4 << 20
)

// WriteSession writes the messages of a conversation as pages that need no server:
// styles and images are in them, and they make no request. create returns the
// writer of the page with a name. What one page holds is [Page] 1; more are linked
// pages and index.html. It returns how many pages of messages there are.
func (s *Server) WriteSession(ctx context.Context, create func(name string) (io.Writer, error), c store.Conversation, sel Selection) (pages int, err error) {
	next, stop := iter.Pull2(s.selected(ctx, c, sel))
	defer stop()
	m, err, more := next()
	var index bytes.Buffer
	for pages == 0 || more {
		pages++
		w, failed := create(Page(pages))
		if failed != nil {
			return pages, failed
		}
		count := &counter{Writer: w}
		shown := 0
		failed = s.export(ctx, count, c, false, func(out *bytes.Buffer, flush func() error) error {
			first, last, day := m.Seq, m.Seq, ""
			if pages > 1 {
				out.WriteString(pageLinks(pages, false))
			}
			for ; more && shown < pageMessages && count.n < pageBytes; m, err, more = next() {
				if err != nil {
					return err
				}
				v := []Message{showMessage(m, true)}
				fold(v[0].Parts)
				markDays(v, time.Local)
				if today := v[0].Body.Time.Local().Format(time.DateOnly); today == day {
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
				last, shown = m.Seq, shown+1
			}
			if pages > 1 || more {
				out.WriteString(pageLinks(pages, more))
				fmt.Fprintf(&index, `<li><a href="%s">Messages %s to %s</a></li>`, Page(pages), prose.Number(first), prose.Number(last))
			}
			return nil
		})
		if err = cmp.Or(err, failed); err != nil {
			return pages, err
		}
	}
	if pages == 1 {
		return pages, nil
	}
	w, err := create("index.html")
	if err != nil {
		return pages, err
	}
	return pages, s.export(ctx, w, c, false, func(out *bytes.Buffer, _ func() error) error {
		fmt.Fprintf(out, "<ul>%s</ul>", index.String())
		return nil
	})
}

// exportSession sends the messages of a session as a page that needs no server, or as an
// archive of such pages.
func (s *Server) exportSession(w http.ResponseWriter, r *http.Request) {
	c, err := s.conversation(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var first bytes.Buffer
	var archive *zip.Writer
	send := func(ending, kind string) {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=session-%d.%s", c.ID, ending))
		w.Header().Set("Content-Type", kind)
	}
	_, err = s.WriteSession(r.Context(), func(name string) (io.Writer, error) {
		if name == Page(1) {
			return &first, nil
		}
		if archive == nil {
			send("zip", "application/zip")
			archive = zip.NewWriter(w)
			one, err := archive.Create(Page(1))
			if _, failed := io.Copy(one, &first); err != nil || failed != nil {
				return nil, cmp.Or(err, failed)
			}
		}
		return archive.Create(name)
	}, c, Selection{})
	switch {
	case err != nil && archive == nil:
		s.fail(w, r, err)
	case err != nil:
		panic(http.ErrAbortHandler) // a download that breaks off is not taken for a whole one
	case archive != nil:
		_ = archive.Close() // the browser is gone
	default:
		send("html", "application/octet-stream")
		_, _ = first.WriteTo(w) // the browser is gone
	}
}

// Page returns the name of a page of messages.
func Page(n int) string { return fmt.Sprintf("page-%04d.html", n) }

// pageLinks returns the links of a page to those beside it.
func pageLinks(n int, more bool) string {
	links := `<p class="actions"><a href="index.html">All pages</a>`
	if n > 1 {
		links += fmt.Sprintf(`<a href="%s">Earlier messages</a>`, Page(n-1))
	}
	if more {
		links += fmt.Sprintf(`<a href="%s">Later messages</a>`, Page(n+1))
	}
	return links + "</p>\n"
}

// counter counts the bytes that it passes on.
type counter struct {
	io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// selected returns the messages of a selection.
func (s *Server) selected(ctx context.Context, c store.Conversation, sel Selection) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		shown := 0
		for m, err := range s.record.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: sel.From - 1, NoRaw: true}) {
			if err == nil && m.Flags&store.FlagHidden != 0 && !sel.All {
				continue
			}
			if sel.Limit > 0 && shown == sel.Limit || !yield(m, err) {
				return
			}
			shown++
		}
	}
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
			d, err := s.summary(ctx, id, false)
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
