package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// The tools take the same arguments over MCP as in the root package. Two defaults
// differ, because a host's model asks about its project and pays for each result:
// without allConversations the scope is the project, and a page has ten results.
//
// Each tool has two structs: the schema that every request of a host carries
// lists the first; the second adds the arguments that only expand explains.

// teamArg is listed by a server with a team only.
type teamArg struct {
	Team bool `json:"team,omitempty" description:"true: the record of the team, on its server; ids and cursors from there need team too"`
}

type grepListed struct {
	Pattern          string `json:"pattern" description:"Words, or a regex (RE2)"`
	Mode             string `json:"mode,omitempty" enum:"regex,full_text" description:"full_text ranks words or a question; default: regex, else words"`
	Scope            string `json:"scope" enum:"messages,summaries,both" default:"both"`
	SummaryID        string `json:"summaryId,omitempty" description:"Only messages beneath this sum_…"`
	ConversationID   int64  `json:"conversationId,omitempty" description:"Only this one"`
	AllConversations *bool  `json:"allConversations,omitempty" description:"true: every project; false: only this conversation"`
	Since            string `json:"since,omitempty" description:"ISO time, 7d, yesterday"`
	Before           string `json:"before,omitempty" description:"ISO time"`
	Limit            int    `json:"limit" default:"10" minimum:"1" maximum:"200"`
	Cursor           string `json:"cursor,omitempty" description:"nextCursor of the page before"`
	teamArg
}

type grepArgs struct {
	grepListed
	Sort       string `json:"sort,omitempty" enum:"recency,relevance"`
	Role       string `json:"role,omitempty" enum:"user,assistant,system,tool"`
	Tool       string `json:"tool,omitempty"`
	Context    int    `json:"context,omitempty" minimum:"0" maximum:"20"`
	Everything bool   `json:"everything,omitempty"`
}

type describeListed struct {
	ID               string `json:"id" description:"sum_…, msg_… or file_…"`
	ConversationID   int64  `json:"conversationId,omitempty" description:"Only this one"`
	AllConversations *bool  `json:"allConversations,omitempty" description:"As in lcm_grep"`
	Cursor           string `json:"cursor,omitempty" description:"nextCursor of the page before"`
	Lines            string `json:"lines,omitempty" description:"Only lines 120-180"`
	Pattern          string `json:"pattern,omitempty" description:"Only lines that match"`
	teamArg
}

type describeArgs struct {
	describeListed
	MaxTokens int `json:"maxTokens" default:"8000" minimum:"1" maximum:"100000"`
}

type expandQueryListed struct {
	Prompt           string   `json:"prompt" description:"The question"`
	Query            string   `json:"query,omitempty" description:"Words to search for (default: the prompt)"`
	SummaryIDs       []string `json:"summaryIds,omitempty" description:"Summaries to read, sum_…"`
	MaxTokens        int      `json:"maxTokens" default:"2000" minimum:"50" maximum:"16000"`
	ConversationID   int64    `json:"conversationId,omitempty" description:"Only this one"`
	AllConversations *bool    `json:"allConversations,omitempty" description:"As in lcm_grep"`
	teamArg
}

type expandQueryArgs struct {
	expandQueryListed
	Output string `json:"output" enum:"answer,evidence" default:"answer"`
}

// parameters are the arguments of one tool: all that it takes, and the schema
// that is listed.
type parameters struct {
	all    *core.Schema
	listed json.RawMessage
}

// argumentsOf returns the arguments of a tool. A tool without structs here has
// those of its own schema. team says that the argument of a team is listed.
func argumentsOf(t core.Tool, team bool) (p parameters, err error) {
	switch t.GetName() {
	case lcm.GrepName:
		p, err = parametersOf[grepListed, grepArgs]()
	case lcm.DescribeName:
		p, err = parametersOf[describeListed, describeArgs]()
	case lcm.ExpandQueryName:
		p, err = parametersOf[expandQueryListed, expandQueryArgs]()
	default:
		p.listed = t.Parameters()
		p.all, err = core.ParseSchema(p.listed)
	}
	if err != nil {
		return p, fmt.Errorf("mcpserver: the arguments of %s: %w", t.GetName(), err)
	}
	if !team {
		p.listed = teamProperty().ReplaceAll(p.listed, nil)
	}
	return p, nil
}

// teamProperty finds the argument team in a schema.
var teamProperty = lazyregexp.New(`,"team":\{[^}]*\}`)

func parametersOf[Listed, All any]() (parameters, error) {
	listed, err := core.SchemaFor[Listed]()
	if err != nil {
		return parameters{}, err
	}
	all, err := core.SchemaFor[All]()
	// A client that validates arguments must let the unlisted ones pass.
	return parameters{all, bytes.Replace(listed.JSON(), []byte(`,"additionalProperties":false`), nil, 1)}, err
}
