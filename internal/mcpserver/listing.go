package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/record/store"
)

// maxListed bounds how many resources are listed.
const maxListed = 50

// listing lists the summaries in the view of the current conversation, newest
// first. They lead to everything else.
func (s *Server) listing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListResourcesResult)
		if err != nil || !ok {
			return result, err
		}
		r, ok := req.(*mcp.ListResourcesRequest)
		if !ok {
			return result, nil
		}
		var meta mcp.Meta
		if r.Params != nil {
			meta = r.Params.Meta
		}
		list.Resources, err = s.summaries(ctx, s.caller(ctx, s.hostOf(r), r.Session, meta))
		return list, err
	}
}

func (s *Server) summaries(ctx context.Context, from Caller) ([]*mcp.Resource, error) {
	listed := []*mcp.Resource{}
	w, _, err := s.current(ctx, from)
	if err != nil || w.Current == 0 {
		return listed, err
	}
	var ids []store.SummaryID
	for _, c := range append([]store.ConversationID{w.Current}, w.Also...) {
		v, err := s.store.View(ctx, c, store.Window{Oldest: 4 * maxListed}) // where summaries are
		if err != nil {
			return nil, fmt.Errorf("list the summaries of conversation %d: %w", c, err)
		}
		for _, item := range slices.Backward(v.Items) {
			if item.IsSummary() && len(ids) < maxListed {
				ids = append(ids, item.Summary)
			}
		}
	}
	if len(ids) == 0 {
		return listed, nil
	}
	for sum, err := range s.store.Summaries(ctx, store.SummaryQuery{IDs: ids}) {
		if err != nil {
			return nil, fmt.Errorf("list summaries: %w", err)
		}
		listed = append(listed, resource(sum))
	}
	return listed, nil
}

// resource describes a summary without its text, which is untrusted and read on
// demand.
func resource(sum store.Summary) *mcp.Resource {
	span := sum.Earliest.UTC().Format(time.DateTime) + " to " + sum.Latest.UTC().Format(time.DateTime)
	return &mcp.Resource{
		URI: "lcm://summary/" + string(sum.ID), Name: string(sum.ID), MIMEType: "text/markdown",
		Title:       fmt.Sprintf("Summary of %d messages", sum.Messages),
		Description: fmt.Sprintf("%s UTC, depth %d, %d tokens", span, sum.Depth, sum.Tokens),
	}
}
