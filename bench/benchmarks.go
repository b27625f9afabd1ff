package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/lossless-context/lcm/bench/answer"
	"github.com/lossless-context/lcm/bench/cache"
	"github.com/lossless-context/lcm/bench/carry"
	"github.com/lossless-context/lcm/bench/compare"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/bench/imports"
	"github.com/lossless-context/lcm/bench/pages"
	"github.com/lossless-context/lcm/bench/proxy"
	evidence "github.com/lossless-context/lcm/bench/recall"
	"github.com/lossless-context/lcm/bench/scale"
	"github.com/lossless-context/lcm/bench/soak"
	"github.com/lossless-context/lcm/bench/why"
)

type measure = func(context.Context, harness.Progress) (report, error)

var benchmarks = []benchmark{{
	"carry", `Count the facts of real work that a folded view holds.

Import the transcripts that --facts names from --transcripts, fold each for every budget, and count the facts in the view, beside the newest
messages, the user's prompts, prompts with closing answers and changed files, and the host's own compaction. The package bench/carry documents the file.`, benchCarry,
}, {
	"why", `Ask for the origin of lines whose origin is known.

Ask for every line of --lines in the work tree --repo, among all sessions of --db. The package bench/why documents the file.`, benchWhy,
}, {
	"scale", `Time storing, appending, folding and contexts as the record grows.

Make databases of the given sizes in a temporary directory and time storing in batches, beside hand-written SQL that inserts the same
rows; durable appends; compaction with a summariser that takes no time; contexts. The default takes about two minutes.`, benchScale,
}, {
	"recall", `Count how much of the evidence a question's search finds.

Ask every question of a data set and count how much of its evidence is among the first 5, 10 and 20 messages found, and how often a
session that holds evidence comes first: by the index alone, by two plain full-text searches, and by lcm grep on a database with the whole
data set in it. The bundled set has 2,211 messages and 342 questions;
--data takes LoCoMo's JSON, or the evidence format that the package bench/recall documents.`, benchRecall,
}, {
	"answer", `Measure how much evidence an answer without a model holds.

Ask every question through lcm_expand_query with output "evidence", and count the messages known to hold the answer that stand word for
word in the result. With --identifiers, ask for twenty identifiers of the bundled session, each with four prompts about something else.`, benchAnswer,
}, {
	"soak", `Append, search and fold for an hour and watch memory and latency.

Append at a steady rate to a database in a temporary directory, with searches, contexts and compaction beside. At the end every message is
proved. Ctrl-C ends it with the report of the time it had.`, benchSoak,
}, {
	"import", `Time the import of transcripts, once and again.

Write transcripts in the formats of the agents, import them into a fresh database, and import them again. Printed are the rate beside that
of storing the same records from memory, and the most memory that was held.`, benchImport,
}, {
	"cache", `Compare the cost of input at a provider with a prompt cache.

Replay the bundled session and a generated one against a simulated provider that caches the beginning of prompts (reads cost 0.1, writes
1.25 for five minutes and 2 for an hour): the plain history until its window ends, a host that compacts when the window is almost full,
lcm when it folds a little in each turn, and lcm as it is by default.`, benchCache,
}, {
	"proxy", `Measure the time that lcm run adds to a request.

Play sessions of 1,000 and 10,000 messages in the request, and of 100,000 behind a checkpoint, against a model on this machine that
answers at once, through the proxy of lcm run and directly.`, benchProxy,
}, {
	"ui", `Time the pages of lcm ui on one long session.

Make a session of the given length, fold it, serve it as lcm ui does and ask for each page over a real connection. The time is that to
the first byte of the answer.`, benchPages,
}, {
	"compare", `Compare two programs lcm by what people and agents wait for.

Run searches over MCP and as commands, hooks, requests through lcm run, an import, a fold and lcm version with both programs, in turns,
on the same generated sessions, and print processor time. "make bench-compare BASE=COMMIT" builds both.`, benchCompare,
}}

// dirFlag adds the flag for the directory of a benchmark's files.
func dirFlag(f *flag.FlagSet, dir *string, of string) {
	f.StringVar(dir, "dir", "", "directory for "+of+" (default: a temporary one)")
}

func benchScale(f *flag.FlagSet) measure {
	var o scale.Options
	sizes, spreads := numbers{1_000, 10_000, 100_000}, numbers{1, 1_000}
	f.Var(&sizes, "sizes", "numbers of messages")
	f.Var(&spreads, "spread", "numbers of conversations they are spread over")
	f.IntVar(&o.Budget, "budget", 128_000, "size of the context window in tokens")
	f.IntVar(&o.Samples, "samples", 200, "how often appends and contexts are timed")
	f.IntVar(&o.Expressions, "expressions", 100, "how many are compared with a loop over all texts, -1 for none")
	dirFlag(f, &o.Dir, "the databases")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Sizes, o.Spreads, o.Progress = sizes, spreads, p
		return scale.Measure(ctx, o)
	}
}

func benchSoak(f *flag.FlagSet) measure {
	var o soak.Options
	f.DurationVar(&o.Duration, "duration", time.Hour, "how long it lasts")
	f.Float64Var(&o.Rate, "rate", 50, "appends a second")
	f.Float64Var(&o.Searches, "searches", 2, "searches a second")
	f.Float64Var(&o.Contexts, "contexts", 1, "contexts a second")
	f.IntVar(&o.Sessions, "sessions", 4, "number of sessions the appends are spread over")
	f.IntVar(&o.Budget, "budget", 16_000, "size of each session's context window in tokens")
	dirFlag(f, &o.Dir, "the database")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		return soak.Measure(ctx, o)
	}
}

func benchWhy(f *flag.FlagSet) measure {
	var o why.Options
	f.StringVar(&o.DB, "db", "", "the record")
	f.StringVar(&o.Repo, "repo", "", "work tree with the files")
	f.StringVar(&o.Lines, "lines", "", "file of lines, JSON lines")
	answers := f.String("answers", "", "file to write the answers to")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		if *answers != "" {
			out, err := os.Create(*answers)
			if err != nil {
				return nil, err
			}
			defer out.Close()
			o.Answers = out
		}
		return why.Measure(ctx, o)
	}
}

func benchCarry(f *flag.FlagSet) measure {
	var o carry.Options
	budgets := numbers([]int{120_000, 60_000, 30_000})
	f.Var(&budgets, "budgets", "sizes of the views in tokens")
	f.StringVar(&o.Transcripts, "transcripts", "", "directory of the transcripts, SESSION.jsonl each")
	f.StringVar(&o.Facts, "facts", "", "file of facts, JSON lines")
	f.Float64Var(&o.Low, "low", 0, "level that folding aims at, as a share of the budget (default: that of lcm)")
	f.StringVar(&o.Views, "views", "", "directory to write the views to")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Budgets, o.Progress = budgets, p
		return carry.Measure(ctx, o)
	}
}

func benchImport(f *flag.FlagSet) measure {
	var o imports.Options
	megabytes := f.Int64("size", 100, "size of the transcripts in MB")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the generated content")
	dirFlag(f, &o.Dir, "the files")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Bytes, o.Progress = *megabytes*1_000_000, p
		return imports.Measure(ctx, o)
	}
}

func benchPages(f *flag.FlagSet) measure {
	var o pages.Options
	f.IntVar(&o.Messages, "messages", 100_000, "number of messages in the session")
	f.IntVar(&o.Runs, "runs", 100, "how often each page is asked for")
	dirFlag(f, &o.Dir, "the database, which is kept and used again")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		return pages.Measure(ctx, o)
	}
}

func benchRecall(f *flag.FlagSet) measure {
	path := f.String("data", "", "data set (default: the bundled one)")
	typos := f.Bool("typos", false, "put one typing mistake into each question")
	ablate := f.Bool("ablate", false, "measure the ranking without each of its parts")
	var real evidence.Transcripts
	f.StringVar(&real.Dir, "transcripts", "", "directory of Claude Code's transcripts to search instead; needs --questions")
	f.StringVar(&real.Questions, "questions", "", "file of questions about the transcripts, as the package bench/recall documents them")
	f.StringVar(&real.Record, "record", "", "database of the transcripts, which is made if it does not exist, and kept")
	f.BoolVar(&real.Each, "each", false, "say the place of the answer to each question about transcripts")
	prompts := f.String("prompts", "", "file of prompts, like that of the questions: count what the prompt hook shows, as sessions are added that only ask lcm")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		if real.Questions != "" {
			real.Ablate, real.Progress = *ablate, p
			if *prompts != "" {
				return evidence.MeasurePrompts(ctx, real, *prompts)
			}
			return evidence.MeasureTranscripts(ctx, real)
		}
		data, err := dataset(*path)
		if err != nil {
			return nil, err
		}
		if *typos {
			data = data.WithTypos()
		}
		if *ablate {
			return evidence.Ablate(ctx, data)
		}
		return evidence.Measure(ctx, data)
	}
}

func dataset(path string) (evidence.Dataset, error) {
	if path == "" {
		return evidence.Bundled()
	}
	data, err := evidence.Load(path)
	if err != nil {
		return data, fmt.Errorf("%w (`go doc ./bench/recall` describes the formats)", err)
	}
	return data, nil
}

func benchAnswer(f *flag.FlagSet) measure {
	var o answer.Options
	path := f.String("data", "", "data set, as in recall (default: the bundled questions)")
	identifiers := f.Bool("identifiers", false, "ask for identifiers with prompts about something else")
	f.IntVar(&o.MaxTokens, "max-tokens", 0, "length of the answers (0: the default)")
	dirFlag(f, &o.Dir, "the database")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		switch {
		case *identifiers:
			return answer.Identifiers(ctx, o, 250, 500, 2000, 16_000)
		case *path == "":
			return answer.Bundled(ctx, o)
		}
		data, err := dataset(*path)
		if err != nil {
			return nil, err
		}
		return answer.Dataset(ctx, data, o)
	}
}

func benchCache(f *flag.FlagSet) measure {
	var o cache.Options
	f.IntVar(&o.Budget, "budget", 128_000, "size of lcm's context window in tokens")
	f.IntVar(&o.Tokens, "tokens", 1_000_000, "size of the generated session in tokens")
	f.IntVar(&o.System, "system", 4_000, "size of the system prompt and the tools in tokens")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the generated session")
	f.Float64Var(&o.Low, "low", 0, "level that folding aims at, as a share of the budget (default: that of lcm)")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		return cache.Measure(ctx, o)
	}
}

func benchCompare(f *flag.FlagSet) measure {
	var o compare.Options
	f.StringVar(&o.Base, "base", "", "the program to compare with")
	f.StringVar(&o.Binary, "binary", "bin/lcm", "the program")
	f.IntVar(&o.Records, "records", 6_000, "number of records in the transcripts")
	f.IntVar(&o.Rounds, "rounds", 3, "how often each row is measured; the least counts")
	f.StringVar(&o.Only, "only", "", "only rows whose name has this")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		return compare.Measure(ctx, o)
	}
}

func benchProxy(f *flag.FlagSet) measure {
	var o proxy.Options
	f.IntVar(&o.Requests, "requests", 100, "number of requests of each size")
	dirFlag(f, &o.Dir, "the databases")
	return func(ctx context.Context, p harness.Progress) (report, error) {
		o.Progress = p
		return proxy.Measure(ctx, o)
	}
}
