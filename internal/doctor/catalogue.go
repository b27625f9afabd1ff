package doctor

import (
	"cmp"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// entry describes a code.
type entry struct {
	severity Severity
	fix      string // what Treat does
	advice   string // what a person can do if Treat cannot
}

const (
	fromBackup = "restore these messages from a backup; everything else stays readable"
	salvage    = "restore a backup, or save all that can be read into a new database: `lcm doctor --salvage NEW.db`, then `lcm restore --force NEW.db`"
	rebuilt    = "the edges, the view and the numbers are derived anew from the messages"
)

// catalogue gives the severity, the fix and the advice of every code.
var catalogue = map[string]entry{
	// The file.
	"absent":       {Note, "", "`lcm import` or the first session makes it"},
	"file":         {Problem, "", salvage},
	"header":       {Problem, "the first bytes are written anew", ""},
	"truncated":    {Problem, "", salvage},
	"wal-orphan":   {Problem, "the database is made from its log, if all of it is in there", ""},
	"page":         {Problem, "", salvage},
	"unreadable":   {Problem, "", salvage},
	"permissions":  {Problem, "the rights of others are taken away", ""},
	"directory":    {Warning, "the others' right to write is taken away", ""},
	"disk-full":    {Problem, "", "free some space; the next hook or `lcm import` then stores what waits"},
	"table-index":  {Problem, "the indexes are built anew from the tables", ""},
	"schema-newer": {Problem, "", "upgrade lcm; the database was not touched"},

	// The schema.
	"schema-version":     {Problem, "the version that the tables have is written into the file", ""},
	"schema-index":       {Problem, "the index is made anew", ""},
	"schema-table":       {Problem, "the table is made anew and filled from the others", ""},
	"schema-column":      {Problem, "the column is added and filled anew", ""},
	"schema-table-bare":  {Problem, "the table is made anew, with what the others tell; what is lost stays lost", "restore a backup to have what was in it"},
	"schema-table-lost":  {Problem, "", "restore a backup: what was in it is in no other table"},
	"schema-column-lost": {Problem, "", "restore a backup: what was in it is in no other column"},
	"schema-code":        {Problem, "a trigger or view is removed; nothing of it has run", "restore a backup"},
	"schema-changed":     {Problem, "", "restore a backup; `lcm export` and `lcm import` make a database with lcm's own definitions"},
	"schema-foreign":     {Warning, "", "find out what put it there; lcm does not use it"},

	// The record, which is never changed.
	"record":      {Problem, "", fromBackup},
	"body":        {Problem, "", fromBackup},
	"chain":       {Problem, "", fromBackup},
	"sequence":    {Problem, "", fromBackup},
	"missing":     {Problem, "a view or branch lets go of what is not there; the message itself is not brought back", fromBackup},
	"erased":      {Problem, "", "something wrote to it after it was erased: repeat `lcm forget` for it, or restore a backup"},
	"erased-mark": {Problem, "the mark is taken off: an erasure takes every message with it", ""},
	"payload":     {Problem, "", "restore a backup; messages that refer to it are readable without it"},

	"conversation-missing": {Problem, "the conversation is made anew from its messages; where nobody remembers its session key it gets one when the session is read again", fromBackup},
	"dangling":             {Problem, "content and conversations get their rows back where they can be derived; derived rows that lead nowhere are removed", fromBackup},

	// Data derived from the record.
	"head":             {Problem, "the end of the chain is taken from the last message, where the chain proves that none is missing", fromBackup},
	"totals":           {Problem, "the messages are counted anew, where the chain proves that none is missing", fromBackup},
	"base":             {Problem, rebuilt, ""},
	"times":            {Problem, "the time is taken from the last message", ""},
	"view-order":       {Problem, rebuilt, ""},
	"view-totals":      {Problem, rebuilt, ""},
	"view-item":        {Problem, rebuilt, ""},
	"cycle":            {Problem, rebuilt, ""},
	"doubly-covered":   {Problem, rebuilt, ""},
	"uncovered":        {Problem, rebuilt, ""},
	"no-sources":       {Problem, rebuilt, ""},
	"orphan":           {Problem, rebuilt, ""},
	"retired":          {Problem, rebuilt, ""},
	"foreign":          {Problem, rebuilt, ""},
	"inherited":        {Problem, "the messages that the fork started with are put back, where the original still leads to them", fromBackup},
	"source-order":     {Problem, rebuilt, ""},
	"branch-order":     {Problem, rebuilt, ""},
	"summary":          {Problem, rebuilt, ""},
	"summary-numbers":  {Problem, rebuilt, ""},
	"summary-text":     {Problem, "it is written anew from its sources; the text as it is stays as a revision", "its sources are not there any more: the text is all that is left of them"},
	"summary-broken":   {Problem, "it is written anew from its sources; the text as it is stays as a revision", ""},
	"summary-fallback": {Warning, "it is written anew from its sources, if anything shorter can be said", ""},
	"payload-numbers":  {Problem, "size, hash and name are taken from the content", ""},
	"payload-link":     {Problem, "the payload is linked to the message again", ""},
	"payload-about":    {Problem, "name and description are taken from the message that it came with", ""},
	"search-index":     {Problem, "it is built anew from the record", ""},
	"search-behind":    {Warning, "it is brought up to date", ""},

	// Leftovers of processes.
	"erasure-missing":    {Problem, "it is noted anew, without when and why, and completed; what was erased stays refused", ""},
	"erasure-unfinished": {Problem, "it is completed: summaries and the search index are made anew, free space and the log are overwritten", "end the processes that use the database, make room for a copy of it, then run `lcm forget --finish`"},
	"lease-stuck":        {Problem, "it is given back", ""},
	"lease-expired":      {Note, "", "there is nothing to do: the next process that needs it takes it over"},
	"part-file":          {Warning, "it is removed with the logs beside it, once the database has no problem", "remove it, if no backup, restore, export or import is at work"},
	"part-file-young":    {Note, "", "it is left alone: if it is still there in an hour, `lcm doctor --fix` removes it"},
	"maintenance-stuck":  {Warning, "what is remembered of the failures is forgotten, and it is tried again", ""},
}

// Codes lists every code, for the docs.
func Codes() []Finding {
	var all []Finding
	for code, e := range catalogue {
		all = append(all, Finding{Code: code, Severity: e.severity, Fix: e.fix, Advice: e.advice})
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// add adds the faults that the store found.
func (r *Report) add(faults []store.Fault) {
	for _, f := range faults {
		e, known := catalogue[f.Code]
		if !known {
			e = entry{severity: Problem, advice: fromBackup}
		}
		found := Finding{Code: f.Code, Severity: e.severity, Where: f.Node, Message: f.Detail, Fix: e.fix, Advice: e.advice}
		if !slices.Contains(r.Findings, found) {
			r.Findings = append(r.Findings, found)
		}
	}
}

// ranks orders the severities.
var ranks = map[Severity]int{Problem: 0, Warning: 1, Note: 2}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(ranks[a.Severity], ranks[b.Severity]) })
}
