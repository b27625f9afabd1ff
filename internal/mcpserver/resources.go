package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/record"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// kinds are the kinds of resource, with the prefix of their ids.
var kinds = []struct{ kind, prefix, title, description, mime string }{
	{"file", "file_", "Stored file", "The content of a stored file, by its id (file_…)", ""},
	{"message", "msg_", "Message", "What a message said, word for word, by its id (msg_…)", "text/plain"},
	{"summary", "sum_", "Summary", "The text of a summary, by its id (sum_…)", "text/markdown"},
}

// addResources offers everything stored by its id. Long content continues at a
// URI of its own.
func (s *Server) addResources() {
	for _, k := range kinds {
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
			Name: "lcm-" + k.kind, Title: k.title, Description: k.description, MIMEType: k.mime,
			URITemplate: "lcm://" + k.kind + "/{id}{?cursor}",
		}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return s.readResource(ctx, req.Params.URI, k.kind, k.prefix, k.mime)
		})
	}
}

func (s *Server) readResource(ctx context.Context, uri, kind, prefix, mime string) (*mcp.ReadResourceResult, error) {
	text, cursor, ok := resourceID(uri, kind, prefix)
	id, err := record.ParseID(text)
	if !ok || err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	r := recall.DescribeRequest{
		ID: id, Where: recall.Where{AllConversations: true}, Cursor: cursor, Limit: 1,
		// MaxTokens bounds text, MaxBytes other content: in base64 a byte costs
		// about half a token.
		MaxTokens: s.config.MaxTokens * 3 / 4, MaxBytes: s.config.MaxTokens * charsPerToken,
	}
	a, err := s.config.Engine.Describe(ctx, r)
	if err == nil && !utf8.ValidString(a.Content) {
		r.MaxBytes = s.config.MaxTokens
		a, err = s.config.Engine.Describe(ctx, r)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, err
	}
	if a.FileDetail != nil {
		mime = a.MIMEType
	}
	return contents(a, uri, kind, mime), nil
}

// contents returns the content byte for byte and, if there is more, a second
// part with the URI of the next page.
func contents(a recall.DescribeAnswer, uri, kind, mime string) *mcp.ReadResourceResult {
	c := &mcp.ResourceContents{URI: uri, MIMEType: mime}
	if utf8.ValidString(a.Content) {
		c.Text = a.Content
	} else {
		c.Blob = []byte(a.Content)
	}
	result := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
	if a.Damaged {
		c.Meta = mcp.Meta{"damaged": true}
		result.Contents = slices.Insert(result.Contents, 0, &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: store.DamageNotice})
	}
	end := a.Offset + int64(len(a.Content))
	// The sources of a summary are not part of its text.
	if a.NextCursor == "" || a.SummaryDetail != nil && end >= a.ByteSize {
		return result
	}
	next := fmt.Sprintf("lcm://%s/%s?cursor=%s", kind, a.ID, url.QueryEscape(a.NextCursor))
	if c.Meta == nil {
		c.Meta = mcp.Meta{}
	}
	c.Meta["nextUri"] = next
	result.Contents = append(result.Contents, &mcp.ResourceContents{
		URI: next, MIMEType: "text/plain", Text: fmt.Sprintf("[bytes %d to %d; the content goes on: read %s]", a.Offset, end, next),
	})
	return result
}

// resourceID parses the URI of a resource. The id may lack its prefix.
func resourceID(uri, kind, prefix string) (id, cursor string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "lcm" || u.Host != kind {
		return "", "", false
	}
	id = strings.TrimPrefix(u.Path, "/")
	if !strings.HasPrefix(id, prefix) {
		id = prefix + id
	}
	parsed, err := store.ParseID(id)
	if err != nil {
		return "", "", false
	}
	var whole string
	switch kind {
	case "file":
		whole = string(parsed.Payload)
	case "message":
		whole = parsed.Message.String()
	default:
		whole = string(parsed.Summary)
	}
	return id, u.Query().Get("cursor"), strings.EqualFold(whole, id)
}
