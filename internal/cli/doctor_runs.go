package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
)

// quietRun is how long a run may last without a request before it is reported.
const quietRun = 2 * time.Minute

// recentRuns is how old a run may be to be reported.
const recentRuns = 7 * 24 * time.Hour

// overAdvice says what to do about requests above the budget, by reason.
var overAdvice = map[string]string{
	proxy.NotFolded:           "before you resume a long session that lcm does not have yet, read it with `lcm import`; in other sessions the next request is smaller",
	proxy.NoTranscript:        "let the agent keep its sessions (no --no-session-persistence); the first request of a session has no transcript yet",
	proxy.KeptOut:             "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns: sessions that are not recorded cannot be folded",
	proxy.InstructionsTooLong: "raise --budget, or give the agent fewer tools and instructions",
	proxy.NewestTooLong:       "raise --budget, or have the agent read less at a time: the newest messages are never folded",
	proxy.SummariesUnfit:      "a later fold may fit; if none does, something changes the messages between the agent and lcm: start a new session",
	proxy.CountedMore:         "nothing: later requests are estimated by the API's own counts",
}

// runFindings reports recent runs of agents behind lcm whose requests passed unchanged, and
// agents whose newest run had none.
func runFindings(ctx context.Context, db store.State, now time.Time) (found []doctor.Finding) {
	runs, err := proxy.Runs(ctx, db)
	if err != nil {
		return []doctor.Finding{{Code: "runs-unknown", Severity: doctor.Warning, Where: "lcm run", Message: err.Error(), Advice: "`lcm doctor` says more about the database"}}
	}
	warn := func(r proxy.Run, code, advice, format string, args ...any) {
		where := "lcm run -- " + r.Host
		if r.Host == proxyHost {
			where = "lcm run --listen"
		}
		where += ", " + r.Started.Local().Format(time.DateTime)
		found = append(found, doctor.Finding{Code: code, Severity: doctor.Warning, Where: where, Message: fmt.Sprintf(format, args...), Advice: advice})
	}
	seen := map[string]bool{}
	for _, r := range runs { // the newest first
		newest := !seen[r.Host]
		seen[r.Host] = true
		switch {
		case now.Sub(r.Started) > recentRuns:
		case r.Requests == 0 && newest && (!r.Ended.IsZero() || now.Sub(r.Started) > quietRun):
			advice := "if the agent did ask its model, look for a base URL in its own settings, which goes before the one of lcm run; docs/hosts says more"
			if r.Host == proxyHost {
				advice = "give a client the base URL that `lcm run --listen` prints; it changes with each start"
			}
			warn(r, "run-no-request", advice, "no request of a session arrived at the proxy")
		case r.PassedUnchanged() > 0:
			warn(r, "run-passed", "`lcm run --list` says why", "%d of %d requests passed unchanged because something failed", r.PassedUnchanged(), r.Requests)
		case r.Unknown > 0:
			warn(r, "run-unknown-client", "lcm folds requests of "+all.Titles()+", whose transcripts it reads; programs on the Go library fold by themselves; docs/hosts/RUN.md says more",
				"%d of %d requests passed unchanged: %s", r.Unknown, r.Requests, proxy.NoKnownAgent)
		case r.OverBudget() > r.Over[proxy.CountedMore]:
			why := slices.MaxFunc(slices.Sorted(maps.Keys(r.Over)), func(a, b string) int { return r.Over[a] - r.Over[b] })
			warn(r, "run-over-budget", cmp.Or(overAdvice[why], "`lcm run --list` says why"), "%d of %d requests were sent above the budget, %d of them because: %s", r.OverBudget(), r.Requests, r.Over[why], why)
		case len(r.Problems) > 0:
			warn(r, "run-behind", "`lcm run --list` says why", "the record could not always be brought up to date")
		}
	}
	return found
}
