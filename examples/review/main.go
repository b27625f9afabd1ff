// Command review has a model review every Go file of a directory, and prints its findings as a table.
// If it is stopped, the next run goes on where it was; if no file has changed, it asks nothing.
//
//	go run ./examples/review [DIRECTORY]
//
// With ANTHROPIC_API_KEY or OPENAI_API_KEY set it sends the files to a real model, else to a scripted one.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
	"github.com/lossless-context/lcm/store/sqlite"
)

// file is an item of the map.
type file struct{ Path, Content string }

// review is the reply to an item. The JSON Schema of replies is made from it.
type review struct{ Findings []finding }

type finding struct {
	Severity string `json:"severity" enum:"low,high"`
	Quote    string `json:"quote" description:"The line, exactly as in the file"`
	Problem  string `json:"problem" description:"What is wrong with it, in one sentence"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	llm, err := model()
	if err == nil {
		err = run(ctx, llm, "review.db", append(os.Args, ".")[1], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "review:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, llm llms.Model, database, dir string, out io.Writer) (err error) {
	files, err := goFiles(os.DirFS(dir))
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, database, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	job := lcm.MapJob{Items: files, Model: llm, Prompt: "Review the file. Report bugs and unfinished work; there may be none."}
	job.Key = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", files))) // other files are another job
	table, n := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), 0
	for r, err := range lcm.MapInto[review](ctx, engine.Session("review"), job) {
		if failure, ok := errors.AsType[*lcm.MapFailure](err); ok {
			r.Findings = []finding{{Severity: "failed", Problem: failure.Reason}}
		} else if err != nil {
			return err
		}
		for _, f := range r.Findings {
			if before, _, ok := strings.Cut(files[n].(file).Content, f.Quote); ok { // else the model made it up
				fmt.Fprintf(table, "%s:%d\t%s\t%s\n", files[n].(file).Path, strings.Count(before, "\n")+1, f.Severity, f.Problem)
			}
		}
		n++
	}
	return table.Flush()
}

func goFiles(dir fs.FS) (files []any, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || !d.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(dir, name)
		files = append(files, file{name, string(content)})
		return err
	})
	return files, err
}

// model is a real one if there is a key, else a script that reports what is marked as unfinished.
func model() (llms.Model, error) {
	switch {
	case os.Getenv("ANTHROPIC_API_KEY") != "":
		return anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"})
	case os.Getenv("OPENAI_API_KEY") != "":
		return openai.New(openai.Config{Model: "gpt-5-mini"})
	}
	return llmtest.New(func(r llms.Request) llmtest.Reply {
		var found []string
		for _, mark := range regexp.MustCompile(`TODO[^\\"]*`).FindAllString(r.Messages[0].PlainText(), -1) { // the item, as JSON
			found = append(found, fmt.Sprintf(`{"severity": "low", "quote": "%s", "problem": "Unfinished: %[1]s"}`, mark))
		}
		return llmtest.Say(`{"Findings": [` + strings.Join(found, ", ") + `]}`)
	}), nil
}
