package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/doctor"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/store"
)

// quietRun is how long a run may last without a request before it is reported.
const quietRun = 2 * time.Minute

// recentRuns is how old a run may be to be reported.
const recentRuns = 7 * 24 * time.Hour

// runFindings reports recent runs of agents behind lcm whose requests passed unchanged, and
// agents whose newest run had none.
func runFindings(ctx context.Context, db store.State, now time.Time) (found []doctor.Finding) {
	runs, err := proxy.Runs(ctx, db)
	if err != nil {
		return []doctor.Finding{{Code: "runs-unknown", Severity: doctor.Warning, Where: "lcm run", Message: err.Error(), Advice: "`lcm doctor` says more about the database"}}
	}
	warn := func(r proxy.Run, code, advice, format string, args ...any) {
		where := "lcm run -- " + r.Host + ", " + r.Started.Local().Format(time.DateTime)
		found = append(found, doctor.Finding{Code: code, Severity: doctor.Warning, Where: where, Message: fmt.Sprintf(format, args...), Advice: advice})
	}
	seen := map[string]bool{}
	for _, r := range runs { // the newest first
		newest := !seen[r.Host]
		seen[r.Host] = true
		switch {
		case now.Sub(r.Started) > recentRuns:
		case r.Requests == 0 && newest && (!r.Ended.IsZero() || now.Sub(r.Started) > quietRun):
			warn(r, "run-no-request", "if the agent did ask its model, look for a base URL in its own settings, which goes before the one of lcm run; docs/hosts says more",
				"no request of a session arrived at the proxy")
		case r.PassedUnchanged() > 0:
			warn(r, "run-passed", "`lcm status --runs` says why", "%d of %d requests passed unchanged because something failed", r.PassedUnchanged(), r.Requests)
		case len(r.Problems) > 0:
			warn(r, "run-behind", "`lcm status --runs` says why", "the record could not always be brought up to date")
		}
	}
	return found
}
