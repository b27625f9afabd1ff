package store

import (
	"fmt"
	"strings"
)

// The spaces of [State].
const (
	LeaseSpace       = "lease"             // leases of background work
	EmbedSpace       = "embed"             // leases of `lcm db embed`
	CatchUpSpace     = "mcp"               // leases of the MCP servers that read transcripts
	CompactSpace     = "compact"           // conversations that wait for folds
	SpendSpace       = "spend"             // the use of models, by day, purpose and model
	SpendDaySpace    = "spend-day"         // the use of models that counts against the cap of a day
	CursorSpace      = "hosts"             // how far the transcripts of hosts were read
	TokenSpace       = "token"             // the tokens of a team server
	AuditSpace       = "audit"             // the audit of a team server
	SyncSpace        = "sync"              // how far conversations were pushed, and which project a pushed session belongs to
	HookShownSpace   = "hooks.shown"       // the context that hooks gave to sessions
	HookFiredSpace   = "hooks.fired"       // the last events of hosts, with their errors
	HookSurveySpace  = "hooks.count"       // when the sessions of hosts were last surveyed
	RecallSpace      = "recall"            // when a session last recalled something
	CalibrationSpace = "proxy-calibration" // tokens per unit of a request and windows, by model
	RunSpace         = "proxy-run"         // runs of the proxy, with their errors
	RequestSpace     = "proxy-request"     // the last requests of the proxy, with their errors
)

// Space describes the values of a space.
type Space struct {
	// Text says that values may quote messages. An erasure removes those that quote an
	// erased one, and leaves the values of other spaces alone.
	Text bool
	// Shared says that all scopes of a store use the same values. The values of other
	// spaces belong to the scope that wrote them.
	Shared bool
}

// Spaces describes every space, by its name. [State.Put] refuses others.
var Spaces = map[string]Space{
	LeaseSpace:       {Shared: true},
	EmbedSpace:       {},
	CatchUpSpace:     {},
	CompactSpace:     {Shared: true},
	SpendSpace:       {Shared: true},
	SpendDaySpace:    {Shared: true},
	CursorSpace:      {},
	TokenSpace:       {},
	AuditSpace:       {},
	SyncSpace:        {},
	HookShownSpace:   {Text: true},
	HookFiredSpace:   {Text: true},
	HookSurveySpace:  {},
	RecallSpace:      {},
	CalibrationSpace: {},
	RunSpace:         {Text: true},
	RequestSpace:     {Text: true},
}

// ScopePrefix begins the name of a scope, and so the names of its own spaces: the name
// of the scope, a slash and the name of the space.
const ScopePrefix = "scope:"

// SpaceNamed describes the space with a name, also one that belongs to a scope. It fails
// for an unknown name.
func SpaceNamed(name string) (Space, error) {
	own := name
	if strings.HasPrefix(name, ScopePrefix) {
		own = name[strings.LastIndex(name, "/")+1:]
	}
	s, ok := Spaces[own]
	if !ok {
		return Space{}, fmt.Errorf("%q is no space of store.Spaces", name)
	}
	return s, nil
}
