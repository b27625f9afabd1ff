package doctor

import (
	"cmp"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// entry describes a code.
type entry struct {
	severity Severity
	fix      string // the fix of Treat
	advice   string // for a person, if Treat cannot fix it
}

const (
	fromBackup = "restore these messages from a backup; everything else stays readable"
	salvage    = "restore a backup, or save the readable part into a new database: `lcm doctor --salvage NEW.db`, then `lcm db restore --force NEW.db`"
	comeBack   = "restore a backup; or lift the erasure (`lcm forget --lift`) and forget its messages again"
	rebuilt    = "the edges, the view and the numbers are rebuilt from the messages"
)

// catalogue gives the severity, the fix and the advice of every code.
var catalogue = map[string]entry{
	// The file.
	"absent":       {Note, "", "`lcm import` or the first session makes it"},
	"file":         {Problem, "", salvage},
	"empty":        {Problem, "", "restore a backup with `lcm db restore --force FILE`, or remove the file to begin anew"},
	"header":       {Problem, "the first bytes are rewritten", ""},
	"truncated":    {Problem, "", salvage},
	"wal-orphan":   {Problem, "the database is rebuilt from its log, if the log is complete", ""},
	"page":         {Problem, "", salvage},
	"unreadable":   {Problem, "", salvage},
	"permissions":  {Problem, "the permissions of other users are removed", ""},
	"directory":    {Warning, "the write permission of other users is removed", ""},
	"disk-full":    {Problem, "", "free some space; the next hook or `lcm import` then stores the waiting sessions"},
	"table-index":  {Problem, "the indexes are rebuilt from the tables", ""},
	"schema-newer": {Problem, "", "upgrade lcm; the database was not touched"},

	// The schema.
	"schema-version":     {Problem, "the version that the tables have is written into the file", ""},
	"schema-index":       {Problem, "the index is rebuilt", ""},
	"schema-table":       {Problem, "the table is rebuilt from the others", ""},
	"schema-column":      {Problem, "the column is added and filled", ""},
	"schema-table-bare":  {Problem, "the table is rebuilt from the others as far as possible; the rest is lost", "restore a backup to get its content"},
	"schema-table-lost":  {Problem, "", "restore a backup: its content is in no other table"},
	"schema-column-lost": {Problem, "", "restore a backup: its content is in no other column"},
	"schema-code":        {Problem, "the trigger or view is removed; it has not run", "restore a backup"},
	"schema-changed":     {Problem, "", "restore a backup; `lcm db export` and `lcm import` make a database with lcm's own definitions"},
	"schema-foreign":     {Warning, "", "find out what put it there; lcm does not use it"},

	// The record, which is never changed.
	"record":      {Problem, "", fromBackup},
	"body":        {Problem, "", fromBackup},
	"chain":       {Problem, "", fromBackup},
	"sequence":    {Problem, "", fromBackup},
	"missing":     {Problem, "the missing message is removed from views and branches; the message itself is lost", fromBackup},
	"erased":      {Problem, "", "something wrote to it after it was erased: repeat `lcm forget` for it, or restore a backup"},
	"erased-mark": {Problem, "the mark is removed: a real erasure would have removed every message", ""},
	"payload":     {Problem, "", "restore a backup; messages that refer to it are readable without it"},

	"session":           {Problem, "", "restore a backup to get its name and project; its messages stay readable"},
	"conversation-list": {Problem, "", "restore the missing conversations from a backup; everything else stays readable"},
	"revision":          {Problem, "", "restore a backup to get the earlier text; the text of the summary is not affected"},
	"tombstones":        {Problem, "", comeBack},
	"tombstone-salt":    {Problem, "a new one is made, if nothing was ever erased", comeBack},

	"conversation-missing": {Problem, "the conversation is rebuilt from its messages; if its session key is unknown it gets one when the session is read again", fromBackup},
	"dangling":             {Problem, "rows of content and conversations are rebuilt if they can be derived; derived rows without a target are removed", fromBackup},

	// Data derived from the record.
	"head":             {Problem, "the end of the chain is taken from the last message, if the chain proves that none is missing", fromBackup},
	"totals":           {Problem, "the messages are counted again, if the chain proves that none is missing", fromBackup},
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
	"inherited":        {Problem, "the messages that the fork started with are restored, if the original still has them", fromBackup},
	"source-order":     {Problem, rebuilt, ""},
	"branch-order":     {Problem, rebuilt, ""},
	"summary":          {Problem, rebuilt, ""},
	"summary-numbers":  {Problem, rebuilt, ""},
	"summary-text":     {Problem, "it is rewritten from its sources; the old text stays as a revision", "its sources are missing: only the text is left of them"},
	"summary-broken":   {Problem, "it is rewritten from its sources; the old text stays as a revision", ""},
	"summary-fallback": {Warning, "it is rewritten from its sources, if that makes it shorter", ""},
	"payload-numbers":  {Problem, "size, hash and name are taken from the content", ""},
	"payload-link":     {Problem, "the payload is linked to the message again", ""},
	"payload-about":    {Problem, "name and description are taken from its message", ""},
	"search-index":     {Problem, "it is rebuilt from the record", ""},
	"search-behind":    {Warning, "it is brought up to date", ""},

	// Leftovers of processes.
	"erasure-missing":    {Problem, "it is recorded again, without time and cause, and completed; its messages stay refused", ""},
	"erasure-unfinished": {Problem, "it is completed: summaries and the search index are rebuilt, free space and the log are overwritten", "end the processes that use the database, make room for a copy of it, then run `lcm forget --finish`"},
	"lease-stuck":        {Problem, "it is released", ""},
	"lease-expired":      {Note, "", "nothing to do: the next process that needs it takes it over"},
	"part-file":          {Warning, "it is removed with the logs beside it, once the database has no problem", "remove it, if no backup, restore, export or import is running"},
	"part-file-young":    {Note, "", "it is kept: if it is still there in an hour, `lcm doctor --fix` removes it"},
	"maintenance-stuck":  {Warning, "the recorded failures are cleared, and it is tried again", ""},
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
