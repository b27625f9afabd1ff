package lcm

import (
	"context"

	"github.com/lossless-context/lcm/internal/recall"
)

type describeArgs struct {
	ID               string         `json:"id" description:"sum_… for a summary, file_… for a stored file, msg_… for a message"`
	ConversationID   ConversationID `json:"conversationId,omitempty" description:"A specific conversation (default: the current one)" project:"A specific conversation (default: the sessions of the project)"`
	AllConversations bool           `json:"allConversations" default:"false" description:"Allow lookups across conversations" project:"As in lcm_grep"`
	MaxTokens        int            `json:"maxTokens" default:"8000" minimum:"1" maximum:"100000" description:"Most content in one answer; nextCursor leads to the rest"`
	StartLine        int            `json:"startLine,omitempty" minimum:"1" description:"First line of a file to show"`
	EndLine          int            `json:"endLine,omitempty" minimum:"1" description:"Last line of a file to show"`
	Cursor           string         `json:"cursor,omitempty" description:"nextCursor of the answer before, with the same other arguments"`
}

// describe looks one thing up. Content is paged: a file is stored apart
// because it is too large for a context.
func (t *toolset) describe(ctx context.Context, in describeArgs) (any, error) {
	w, err := t.where(ctx, in.ConversationID, in.AllConversations)
	if err != nil {
		return nil, err
	}
	r, err := t.session.engine.Recall()
	if err != nil {
		return nil, err
	}
	return r.Describe(ctx, recall.DescribeRequest{
		ID: in.ID, Where: w, MaxTokens: in.MaxTokens, StartLine: in.StartLine, EndLine: in.EndLine, Cursor: in.Cursor,
	})
}
