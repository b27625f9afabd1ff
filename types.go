package lcm

import (
	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/delegation"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/redact"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

// The record: conversations, messages and the summaries over them.
type (
	// Store keeps the record. Open one with package store/sqlite, pass it to
	// [New], and close it after the engine.
	Store = store.Store
	// ConversationID is the number of a conversation in its store.
	ConversationID = store.ConversationID
	// MessageID is the number of a message in its store; its text is msg_….
	MessageID = store.MessageID
	// SummaryID names a summary, sum_….
	SummaryID = store.SummaryID
	// PayloadID names large content that is kept beside its message, file_….
	PayloadID = store.PayloadID
	// Node is a message or a summary: one entry of a view.
	Node = store.Node
	// Conversation is one segment of a session: its key, agent, project, title
	// and counts.
	Conversation = store.Conversation
	// Project is the repository or directory that a session works in.
	Project = store.Project
	// Appended is the result for one appended message.
	Appended = store.Appended
	// ConversationVerification is the proof of one conversation, see
	// [Session.Verify]. Conversation is its id; Messages, Summaries and Bytes
	// are counts; Digest is the same for the same messages in any database;
	// Faults are the defects found, none if the conversation is sound.
	ConversationVerification = store.Verification
	// Branch is a part of a conversation that was rewound and is kept.
	Branch = store.Branch
	// Fault is a defect that a verification found.
	Fault = store.Fault
	// Erasure names the messages and conversations to erase, see
	// [Engine.Erase].
	Erasure = store.Erasure
	// Erased counts the rows that an erasure removed, or would remove.
	Erased = store.Erased
)

// Messages on their way into the record.
type (
	// Input is a message with flags and origin, for [Session.AppendInputs].
	Input = ingest.Input
	// MessageFlag marks a message that a host wrote for itself, or that quotes
	// the record.
	MessageFlag = store.Flag
	// Synced is the result of [Session.Sync].
	Synced = ingest.Synced
	// Privacy selects sessions, projects and secrets to keep out of the record,
	// see [WithPrivacy].
	Privacy = ingest.Privacy
	// RedactMode says where secrets in messages are removed.
	RedactMode = redact.Mode
)

// ErrIgnored says that the [Privacy] settings keep a session out of the record.
var ErrIgnored = ingest.ErrIgnored

// Compaction: how older messages are folded into summaries.
type (
	// Policy says how a view is folded: sizes of chunks and summaries, and how
	// many summaries are condensed together. See [WithPolicy].
	Policy = compact.Policy
	// ViewPolicy is the part of a Policy that says how much of a view is fresh.
	ViewPolicy = assemble.Policy
	// Bounds limit the passes, time and calls of one run, see [WithBounds].
	Bounds = compact.Bounds
	// Report describes a run of compaction: Conversation, Mode, Reason (why it
	// ended) and Detail (the reason for an operator); Passes, and the summaries
	// made: Leaves, Condensed, Stubs; TokensBefore, TokensAfter and Elapsed.
	// Calls and TokensIn, TokensOut are the cost of the summariser, Fallbacks
	// and Bare the summaries made without it, Cause its last error. Stale counts
	// plans that another writer made obsolete.
	Report = compact.Report
	// CompactMode says how far a run of compaction goes.
	CompactMode = compact.Mode
	// CompactReason says why a run of compaction ended.
	CompactReason = compact.Reason
	// Rewritten is the result of [Engine.Rewrite].
	Rewritten = compact.Rewritten
	// Shown is one part of a [Context] with its cost.
	Shown = assemble.Shown
)

// Summaries. Implement [Summariser] to write them your own way.
type (
	// Summariser writes a shorter text for a run of messages or summaries.
	Summariser = summary.Summariser
	// SummaryRequest asks a Summariser for one summary.
	SummaryRequest = summary.Request
	// SummarySource is a message or summary to be summarised.
	SummarySource = summary.Source
	// SummaryKind says whether a summary is made from messages or summaries.
	SummaryKind = summary.Kind
	// SummaryLevel says how short a summary must be.
	SummaryLevel = summary.Level
	// SummaryResult is the text of a summary and its cost.
	SummaryResult = summary.Result
)

// NewModelSummariser returns a Summariser that asks a model, for
// [WithSummariser].
func NewModelSummariser(m llms.Model) (Summariser, error) { return summary.NewModel(m) }

// Questions about the record, see [Session.Ask].
type (
	// Question is a question about the record: its Prompt; Query or SummaryIDs,
	// which find the summaries to read; Where to look; MaxTokens of the answer;
	// Output, see [OutputAnswer]. Caller, Agent and Runner have defaults in a
	// session.
	Question = delegation.Request
	// Answer is the answer to a Question: the text Answer, the CitedIDs it rests
	// on and the Citations that lead to messages; Truncated and TruncatedBy;
	// Method and Model that made it, and Reason if it is only evidence or
	// nothing; Usage, its cost. SourceConversationID contributed most of all
	// SourceConversationIDs; ExpandedSummaryCount and TotalSourceTokens say how
	// much was read, Scope where, Skipped which conversations were left out.
	// Notes are hints for the reader.
	Answer = delegation.Answer
	// Citation leads from the ID in an Answer to its source: MessageID and Quote,
	// word for word, ConversationID, Role and CreatedAt.
	Citation = delegation.Citation
	// QuestionLimits bound the cost of one question, see
	// [WithExpansionLimits].
	QuestionLimits = delegation.Limits
	// ModelUsage is the cost of a question's model calls.
	ModelUsage = delegation.Usage
	// SubAgentRunner runs the sub-agents that answer questions.
	SubAgentRunner = delegation.Runner
	// SubAgentSession is a sub-agent at work on a question.
	SubAgentSession = delegation.Session
	// SubAgentTask is the prompt, tools and budget of a sub-agent.
	SubAgentTask = delegation.Child
	// SubAgentMeter counts the cost of a sub-agent's model calls.
	SubAgentMeter = delegation.Meter
)

// Search: the calls behind the tools lcm_grep, lcm_describe and lcm_expand, see
// [Engine.Recall].
type (
	// Recall searches, describes and expands the record.
	Recall = recall.Service
	// EmbedLimits bound a call of [Engine.Embed]: Messages and Until; OnProgress
	// is called after each batch.
	EmbedLimits = recall.EmbedLimits
	// EmbedReport says how far [Engine.Embed] came: Messages were read, Sent texts
	// were sent and the model Refused some. Indexed messages have a vector, in
	// Bytes; Waiting is about how many have none.
	EmbedReport = recall.EmbedReport
	// Where says which conversations a search covers.
	Where = recall.Where
	// Scope says which conversations an answer covers.
	Scope = recall.Scope
	// SearchMode says how a pattern is read: words or a regular expression.
	SearchMode = store.Mode
	// GrepRequest is a search, with the arguments of lcm_grep as fields.
	GrepRequest = recall.GrepRequest
	// GrepAnswer is a page of Matches: Total counts all (TotalIsLowerBound: at
	// least so many), NextCursor leads to the next page. Pattern, Mode, Sort,
	// Kinds, Tier and Scope say how and where it searched, Unfinished that time
	// ran out, Elsewhere and Widened that other conversations match. Notes are
	// hints for the reader.
	GrepAnswer = recall.GrepAnswer
	// Match is a message, summary or file that a search found: ID, Type and the
	// Snippet around the MatchRanges (Truncated: not the whole text);
	// ConversationID, Host, Title, Project, CreatedAt and Role of a message.
	// Depth, Kind, SummaryID, EarliestAt and LatestAt describe a summary,
	// MessageID the message of a file. CoveredBy is the summary of a message,
	// FileIDs the files that match, Context the messages around it. Retired
	// matches were rewound, Beside ones stand next to matching messages, Damaged
	// ones differ from the message that arrived; an Instruction has none of the
	// words, and one by Meaning may have none. AlsoIn are summaries that match too. Score orders matches of a Type.
	Match = recall.Match
	// SearchSort is the order of matches.
	SearchSort = store.Sort
	// MatchContext has the messages around a Match.
	MatchContext = recall.Context
	// Widened says that matches come from outside the default scope.
	Widened = recall.Widened
	// Elsewhere counts the matches outside the scope.
	Elsewhere = recall.Elsewhere
	// DescribeRequest and DescribeAnswer look one summary, file or message up.
	DescribeRequest = recall.DescribeRequest
	DescribeAnswer  = recall.DescribeAnswer
	// SummaryDetail, FileDetail and MessageDetail are the parts of a
	// DescribeAnswer.
	SummaryDetail = recall.SummaryDetail
	FileDetail    = recall.FileDetail
	MessageDetail = recall.MessageDetail
	// PartInfo, SummaryBranch and Neighbour are parts of these.
	PartInfo      = recall.PartInfo
	SummaryBranch = recall.Branch
	Neighbour     = recall.Neighbour
	// ExpandRequest and ExpandAnswer open summaries down to their messages.
	ExpandRequest = recall.ExpandRequest
	ExpandAnswer  = recall.ExpandAnswer
	// Piece is one text of an ExpandAnswer.
	Piece = recall.Piece
)

// Values of [Question].Output.
const (
	OutputAnswer   = delegation.OutputAnswer   // a sub-agent's answer; the default
	OutputEvidence = delegation.OutputEvidence // verbatim passages, without a model
)

// The ways to read a pattern.
const (
	FullText = store.FullText // words, ranked
	Regex    = store.Regex    // a regular expression (RE2)
)

// The ways to treat secrets, see [Privacy].
const (
	RedactOff    = redact.Off    // they are kept and shown
	RedactSearch = redact.Search // only the original record keeps them
	RedactAll    = redact.All    // they are removed before anything is stored
)
