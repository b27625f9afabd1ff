package lcm

import (
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/redact"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// The record: conversations, messages and the summaries over them.
type (
	// Store keeps the record. Open one with package store/sqlite or store/postgres, pass
	// it to [New], and close it after the engine. Its methods, such as Update, Reindex
	// and ReleaseMemory, are for the engine.
	Store = store.Store
	// ConversationID is the number of a conversation in its store.
	ConversationID = store.ConversationID
	// MessageID is the number of a message in its store; its text is msg_….
	MessageID = store.MessageID
	// SummaryID names a summary, sum_….
	SummaryID = store.SummaryID
	// PayloadID names large content that is kept beside its message, file_….
	PayloadID = store.PayloadID
	// Node is a message or a summary, an entry of a view: one of Message and Summary is
	// set.
	Node = store.Node
	// Conversation is one segment of a session: its ID, the Key of the session, Segment
	// (1 for the first), Agent, Project and Title. Parent is the conversation that
	// started a sub-agent; ForkedFrom and ForkedAt say where a fork began. CreatedAt,
	// UpdatedAt, ArchivedAt (with ArchiveCause) and ErasedAt are times. Messages, Erased
	// and Summaries are counts, Tokens and Bytes those of all messages, ViewItems and
	// ViewTokens those of the view. Head is the last link of the hash chain.
	Conversation = store.Conversation
	// Project is the repository or directory that a session works in: Origin is the
	// address of its repository, Root its directory. Either is enough.
	Project = store.Project
	// Appended is the result for one appended message: its ID, its number Seq in the
	// conversation and the SHA256 of its record. Existed says that it was stored before,
	// Forgotten that it was erased and is not stored again.
	Appended = store.Appended
	// ConversationVerification is the proof of one conversation, see
	// [Session.Verify]. Conversation is its id; Messages, Summaries and Bytes
	// are counts; Digest is the same for the same messages in any database;
	// Faults are the defects found, none if the conversation is sound.
	ConversationVerification = store.Verification
	// Branch is a part of a conversation that was rewound and is kept: its ID and
	// Conversation, the message After which it begins, its Cause, the number of Items,
	// and CreatedAt.
	Branch = store.Branch
	// Fault is a defect that a verification found: a short Code, the id of the Node and
	// the Detail.
	Fault = store.Fault
	// Erasure names the Messages and whole Conversations to erase, see [Engine.Erase].
	// Quotes reports whether a text quotes them; without it titles, values and summaries
	// are compared with the messages. Cause says who ordered it.
	Erasure = store.Erasure
	// Erased counts the rows that an erasure removed, or would remove: Messages with
	// their Bytes, Conversations (whole ones), Summaries, Payloads with PayloadBytes,
	// Titles and Values. Unworded summaries are written anew. Affected are the
	// conversations that lost something, Tombstone is the number of the erasure.
	Erased = store.Erased
)

// Messages on their way into the record.
type (
	// Input is a message with Flags and origin, for [Session.AppendInputs].
	Input = ingest.Input
	// MessageFlag marks a message that a host wrote for itself, or that quotes
	// the record.
	MessageFlag = store.Flag
	// Synced is the result of [Session.Sync]: the messages that were Stored, and how
	// many were Existing. Rewound is the branch that the history left, Conversation the
	// conversation after the change. Loose messages were stored outside the view, Late
	// ones belong before a stored one.
	Synced = ingest.Synced
	// Privacy selects content to keep out of the record, see [WithPrivacy]: sessions
	// whose key matches a pattern of IgnoreSessions, projects that match one of
	// IgnoreProjects (* matches any characters), and secrets, see Redact.
	Privacy = ingest.Privacy
	// RedactMode says where secrets in messages are removed.
	RedactMode = redact.Mode
)

// ErrIgnored says that the [Privacy] settings keep a session out of the record.
var ErrIgnored = ingest.ErrIgnored

// Compaction: how older messages are folded into summaries.
type (
	// Policy says how a view is folded, see [WithPolicy]; zero fields have the defaults
	// given here. A leaf summary covers LeafChunkTokens (20,000) in LeafTargetTokens
	// (2,400), a condensed one has CondensedTargetTokens (2,000). LeafMinFanout (8) leaf
	// summaries are condensed together, CondensedMinFanout (4) deeper ones, and
	// CondensedMinFanoutHard (2) above the hard threshold. MaxDepth is the deepest
	// summary (0: any). Above SummaryPrefixTokens of summaries condensing comes first. A
	// summary may be MaxOverageFactor (1.5) times as long as its target.
	// ExtractiveOnAuth writes extractive summaries when a key is refused. The engine
	// sets SummaryFloor and SourceFloor. A [ViewPolicy] is embedded.
	Policy = compact.Policy
	// ViewPolicy says how much of a view is fresh and never folded: the newest FreshTail
	// messages (64), as far as they have at most FreshTailTokens (two thirds of the low
	// threshold, and at most half of the budget).
	ViewPolicy = assemble.Policy
	// Bounds limit one run of compaction, see [WithBounds]; zero fields have the
	// defaults given here. A run makes MaxPasses folds (12) within its Deadline (120 s);
	// a call of the summariser takes at most SummaryTimeout (60 s). A conversation may
	// cost MaxCalls calls (24) in CallWindow (10 minutes); then background runs pause
	// for SpendBackoff (30 minutes). LeaseTTL (90 s) is how long a conversation stays
	// taken when the process that compacts it dies.
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
	// Rewritten is the result of [Engine.Rewrite] for a Conversation: of the Candidates,
	// which no model has written, how many are Done, Kept (the new text was no better)
	// or Failed; TokensIn and TokensOut are the cost. Reason says why it ended, Cause is
	// the last error of the summariser.
	Rewritten = compact.Rewritten
	// Shown is one part of a [Context], with its cost in Tokens.
	Shown = assemble.Shown
)

// Summaries. Implement [Summariser] to write them your own way.
type (
	// Summariser writes a shorter text for a run of messages or summaries. Its one
	// method is Summarise(context.Context, SummaryRequest) (SummaryResult, error). It
	// must be safe for concurrent use.
	Summariser = summary.Summariser
	// SummaryRequest asks a Summariser for one summary of Sources: its Kind, Depth (0
	// for a leaf) and Level, and the Target length in tokens of Counter. Previous is the
	// summary before these sources, for continuity.
	SummaryRequest = summary.Request
	// SummarySource is a message or summary to be summarised: its ID and Text, its Kind
	// (empty for a message), Role, Time, place Seq in the conversation and cost in
	// Tokens. Tool says that Text is mostly tool traffic.
	SummarySource = summary.Source
	// SummaryKind says whether a summary is made from messages or summaries.
	SummaryKind = summary.Kind
	// SummaryLevel says how short a summary must be.
	SummaryLevel = summary.Level
	// SummaryResult is the Text of a summary, the Method and Model that made it, and its
	// cost TokensIn and TokensOut. If the last line of Text does not begin with "Expand
	// for details about:", the engine adds such a line.
	SummaryResult = summary.Result
)

// NewModelSummariser returns a Summariser that asks a model, for
// [WithSummariser].
func NewModelSummariser(m llms.Model) (Summariser, error) { return summary.NewModel(m) }

// Questions about the record, see [Session.Ask].
type (
	// Question is a question about the record: its Prompt; Query or SummaryIDs,
	// which find the summaries to read; Where to look; MaxTokens of the answer;
	// Output, see [OutputAnswer]; Model, on which a sub-agent answers where the
	// engine has no expansion model. Caller and Agent have defaults in a session.
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
	// QuestionLimits bound the cost of one question, see [WithExpansionLimits]; zero
	// fields have the defaults given here. All sub-agents together read ExpandTokens
	// (68,000), PageTokens of them (8,000) on a first page, Depth steps down (any), send
	// their models ModelTokens (160,000) and take Timeout (120 s). Parallel
	// conversations (3) are asked at once.
	QuestionLimits = delegation.Limits
	// ModelUsage is the cost of a question's model calls: Calls, InputTokens and
	// OutputTokens.
	ModelUsage = delegation.Usage
)

// Search: the calls behind the tools lcm_grep, lcm_describe and lcm_expand, see
// [Engine.Recall].
type (
	// Recall searches, describes and expands the record: Grep takes a [GrepRequest],
	// Describe a [DescribeRequest] and Expand an [ExpandRequest]. It has no current
	// conversation: a request says Where to look.
	Recall = recall.Service
	// EmbedLimits bound a call of [Engine.Embed]: Messages and Until; OnProgress
	// is called after each batch.
	EmbedLimits = recall.EmbedLimits
	// EmbedReport says how far [Engine.Embed] came: Messages were read, Sent texts
	// were sent and the model Refused some. Indexed messages have a vector, in
	// Bytes; Waiting is about how many have none.
	EmbedReport = recall.EmbedReport
	// Where says which conversations a search covers: ConversationID names one,
	// AllConversations covers all. Without both it is Current with its other segments
	// and origins (also those of Also), or all conversations of Projects unless
	// CurrentOnly is set, or nothing if the session is Unstored. Widen lets an answer with few matches go on to all
	// conversations. InTurn leaves the prompt of the current turn out, and its calls of
	// lcm's tools.
	Where = recall.Where
	// Scope says which conversations an answer covers: the Kind (conversation, current,
	// project or all), the name of the Project and its number of Conversations, the
	// ConversationIDs (none: all). Except are messages of the current turn that were
	// left out, OwnCalls those of them that call lcm's tools.
	Scope = recall.Scope
	// SearchMode says how a pattern is read: words or a regular expression.
	SearchMode = store.Mode
	// GrepRequest is a search, with the arguments of lcm_grep as fields; only Pattern is
	// required, and [Where] unless it is a session's. Mode is [Regex] (the default) or
	// [FullText]; Kinds is messages, summaries, both (the default) or files, of which
	// FileIDs selects some. Since and Before bound the time (ISO, or 7d, yesterday);
	// Role and Tool select messages. Limit (50) and Cursor page, Sort orders. Context
	// adds so many messages around each match, Fill so many tokens of them; Snippet is
	// the length of a text (240 characters). OrWords reads a regex that matches nothing
	// as words; Compact leaves out matches without text; Everything also finds the
	// records that searches leave out.
	GrepRequest = recall.GrepRequest
	// GrepAnswer is a page of Matches: Total counts all (TotalIsLowerBound: at
	// least so many), InSummaries those that are summaries, and NextCursor leads to the
	// next page. Pattern, Mode, Sort, Kinds, Tier and Scope say how and where it
	// searched, Unfinished that time ran out, Guessed that no match has a word of the
	// pattern, only words that may be meant, Elsewhere and Widened that other
	// conversations match. Notes are hints for the reader.
	GrepAnswer = recall.GrepAnswer
	// Match is a message, summary or file that a search found: ID, Type and the
	// Snippet around the MatchRanges (Truncated: not the whole text; CutBefore and
	// CutAfter say which end is missing);
	// ConversationID, Host, Title, Project, CreatedAt and Role of a message.
	// Depth, Kind, SummaryID, EarliestAt and LatestAt describe a summary,
	// MessageID the message of a file. CoveredBy is the summary of a message,
	// FileIDs the files that match, Context the messages around it. Retired
	// matches were rewound, Beside ones stand next to matching messages, Damaged
	// ones differ from the message that arrived; one by Meaning may have none of the
	// words. AlsoIn are summaries that match too. Score orders matches of a Type.
	Match = recall.Match
	// SearchSort is the order of matches.
	SearchSort = store.Sort
	// MatchContext has the messages Before and After a [Match].
	MatchContext = recall.Context
	// Widened says that matches come from outside the default scope From: InScope and
	// Elsewhere count them, AtLeast says that there may be more.
	Widened = recall.Widened
	// Elsewhere counts the matches outside the scope: Hits (AtLeast so many), and How to
	// ask for them.
	Elsewhere = recall.Elsewhere
	// DescribeRequest looks the summary, file or message with an ID up, see [Where].
	// Offset and Length select bytes, StartLine and EndLine lines of a file. MaxTokens
	// and MaxBytes bound the content of one answer, Limit (50) the list of nodes beneath
	// a summary, with messages if IncludeMessages is set; Cursor goes on where the
	// answer before ended.
	DescribeRequest = recall.DescribeRequest
	// DescribeAnswer is a summary, file or message: its ID and Type, ConversationID and
	// CreatedAt, and the Content from Offset on, the exact bytes (Truncated: not all;
	// NextCursor leads to the rest). TokenCount, ByteSize and SHA256 are those of the
	// whole; Damaged says that the stored bytes do not match it. FileIDs are its files,
	// Scope says where it looked, Notes are hints for the reader. One of
	// [SummaryDetail], [FileDetail] and [MessageDetail] is embedded.
	DescribeAnswer = recall.DescribeAnswer
	// SummaryDetail has the fields of a summary: Depth, Kind, Level, EarliestAt and
	// LatestAt; Method and Model that wrote it, its Revision, and Retired if it was
	// rewound. ParentIDs are the summaries it was made from, SourceMessageIDs the
	// messages, ChildIDs the summaries made from it. DescendantCount and MessageCount
	// count the nodes beneath; SourceTokens and MessageTokens are the cost of reading
	// them, and Manifest lists them.
	SummaryDetail = recall.SummaryDetail
	// FileDetail has the fields of a file: FileName, MIMEType, FileKind,
	// ExplorationSummary (a description of the content), StoragePath, OriginalPath, and
	// the MessageIDs that it belongs to.
	FileDetail = recall.FileDetail
	// MessageDetail has the fields of a message: Role, its place Seq, NativeID, Format
	// and Flags, StoredAt, ContentSize and Parts; Previous and Next are its neighbours,
	// CoveringIDs the summaries above it.
	MessageDetail = recall.MessageDetail
	// PartInfo describes a part of a message: its Kind and Bytes; Tool, CallID and
	// IsError of a call or result; FileID, FileName and MIMEType of a file.
	PartInfo = recall.PartInfo
	// SummaryBranch is a node beneath a summary: ID, Type, Level (steps below it),
	// Depth, Kind, Role, TokenCount, EarliestAt and LatestAt; SourceTokens,
	// MessageTokens, MessageCount and DescendantCount are the cost of expanding it.
	SummaryBranch = recall.Branch
	// Neighbour is a message next to another: ID, Role, CreatedAt, and how it begins in
	// Snippet (Truncated: not all).
	Neighbour = recall.Neighbour
	// ExpandRequest opens the summaries SummaryIDs down to their messages, see [Where]:
	// Depth steps (0: all), in pages of TokenCap tokens, from Cursor on.
	// IncludeMessages, unless false, returns the messages too; Raw returns their records
	// as they arrived.
	ExpandRequest = recall.ExpandRequest
	// ExpandAnswer is a page of Pieces beneath SummaryIDs, with the cost Tokens.
	// MessageCount and MessageTokens are those of all pages; Truncated and NextCursor
	// say that there is more. Scope says where it looked, Notes are hints for the
	// reader.
	ExpandAnswer = recall.ExpandAnswer
	// Piece is one text of an ExpandAnswer: ID, Type, Role, ConversationID, CreatedAt,
	// Depth and Level; Text begins at Offset of the whole, which has Size bytes, and is
	// Complete if it reaches the end. Tokens is its cost, Damaged says that the bytes
	// are not those that arrived.
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
