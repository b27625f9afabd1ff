package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
)

// entry describes a code.
type entry struct {
	severity Severity
	fix      string // the fix of Treat
	advice   string // for a person, if Treat cannot fix it
}

const (
	fromBackup = "restore these messages from a backup"
	comeBack   = "restore a backup; or lift the erasure (`lcm forget --lift`) and forget its messages again"
	rebuilt    = "everything that can be read goes into a new database"
	rewritten  = "it is rewritten from its sources; the old text stays as a revision"
)

// catalogue gives the severity, the fix and the advice of the codes that are not derived.
var catalogue = map[string]entry{
	// The file.
	"absent":       {Note, "", "`lcm import` or the first session makes it"},
	"empty":        {Problem, "", "restore a backup with `lcm db restore --force FILE`, or remove the file to begin anew"},
	"permissions":  {Problem, "the permissions of other users are removed", ""},
	"directory":    {Warning, "the write permission of other users is removed", ""},
	"disk-full":    {Problem, "", "free some space; the next hook or `lcm import` then stores the waiting sessions"},
	"read-only":    {Problem, "", "give yourself the right to write there, or set storage.database_path (LCM_DATABASE_PATH) to another place"},
	"schema-newer": {Problem, "", "upgrade lcm; the database was not touched"},

	// The schema.
	"schema-code":    {Problem, rebuilt + "; the trigger or view has not run", ""},
	"schema-foreign": {Warning, "", "find out what put it there, and remove it: lcm does not use it"},

	// The record, which is never changed.
	"record":            {Problem, "", fromBackup},
	"body":              {Problem, "", fromBackup},
	"chain":             {Problem, "", fromBackup},
	"row":               {Problem, "", fromBackup},
	"sequence":          {Problem, "", fromBackup},
	"erased":            {Problem, "", "something wrote to it after it was erased: repeat `lcm forget` for it, or restore a backup"},
	"payload":           {Problem, "", "restore a backup; messages that refer to it are readable without it"},
	"branch":            {Problem, "", "restore a backup to get when and why it was left; its messages stay readable"},
	"state":             {Problem, "", "restore a backup, or let transcripts be read again from their beginning: nothing is stored twice"},
	"session":           {Problem, rebuilt, "restore a backup to get its name and project; its messages stay readable"},
	"conversation-list": {Problem, "", "restore the missing conversations from a backup"},
	"revision":          {Problem, "", "restore a backup to get the earlier text of the summary"},
	"tombstones":        {Problem, "", comeBack},
	"tombstone-salt":    {Problem, "a new one is made, if nothing was ever erased", comeBack},

	"map": {Problem, rebuilt + "; damaged items are asked about again", ""},

	// Summaries and the search index.
	"summary-text":     {Problem, rewritten, "its sources are missing, only its text is left"},
	"summary-broken":   {Problem, rewritten, ""},
	"summary-fallback": {Warning, "it is rewritten from its sources, if that makes it shorter", ""},
	"search-index":     {Problem, "it is rebuilt from the record", ""},
	"search-behind":    {Warning, "it is brought up to date", ""},

	// Leftovers of processes.
	"erasure-unfinished": {Problem, "", "end the processes that use the database, make room for a copy of it, then `lcm forget --finish`"},
}

// derived are the codes of what a new database has right, by what they are about: its pages
// and schema, and rows that follow from the messages.
var derived = [...]struct{ about, codes string }{
	{"the file", " file truncated appended wal-orphan wal-damaged page unreadable schema "},
	{"messages and conversations", " missing erased-mark conversation-missing project lease dangling head totals foreign inherited erasure-missing "},
	{"views and branches", " base view-order view-totals view-item branch-order "},
	{"summaries", " cycle doubly-covered uncovered no-sources orphan retired source-order summary summary-numbers "},
	{"payloads", " payload-numbers payload-link payload-about "},
}

// explain returns the entry of a code.
func explain(code string) entry {
	if e, known := catalogue[code]; known {
		return e
	}
	e := entry{severity: Problem, advice: fromBackup}
	for _, d := range derived {
		if strings.Contains(d.codes, " "+code+" ") {
			e.fix = rebuilt
		}
	}
	return e
}

// add adds the faults that the store found.
func (r *Report) add(faults []store.Fault) {
	for _, f := range faults {
		e := explain(f.Code)
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
