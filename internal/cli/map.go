package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/mapjob"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

type mapCommand struct {
	*program
	job                    lcm.MapJob
	model, schema, session string
}

func newMap(p *program) *cobra.Command {
	cmd := &mapCommand{program: p}
	c := &cobra.Command{
		Use:   "map FILE|-",
		Short: "Ask a model the same about many items",
		Args:  usage(cobra.ExactArgs(1)),
		RunE:  cmd.run,
	}
	fl, j := c.Flags(), &cmd.job
	fl.StringVarP(&j.Prompt, "prompt", "p", "", "what the model is to do with an item")
	fl.StringVar(&cmd.schema, "schema", "", "`file` with the JSON Schema of a reply (default: a reply is any text)")
	fl.StringVarP(&cmd.model, "model", "m", "", "model to ask (default: subagents.model)")
	fl.StringVar(&j.Key, "key", "", "key by which the job is resumed (default: made from items, prompt, schema and model)")
	fl.IntVar(&j.Concurrency, "concurrency", lcm.DefaultMapConcurrency, "items that are asked about at once")
	fl.IntVar(&j.MaxAttempts, "attempts", lcm.DefaultMapAttempts, "how often an item is asked about until its reply fits")
	fl.BoolVar(&j.Retry, "retry", false, "ask again about the items of an ended job that failed")
	fl.DurationVar(&j.ItemTimeout, "timeout", lcm.DefaultMapItemTimeout, "how long all attempts of an item may take")
	fl.IntVarP(&j.Budget, "budget", "b", 0, "tokens, in and out, after which no item is begun (default: any number)")
	fl.StringVarP(&cmd.session, "session", "s", "", "session key (default: the project's maps)")
	return c
}

// run checks everything that the command line names before it opens the database.
func (cmd *mapCommand) run(c *cobra.Command, args []string) error {
	j := &cmd.job
	_, err := os.Stat(args[0])
	switch {
	case args[0] != "-" && err != nil:
		return advise(exitFailure, "check the path and that you may read it", err)
	case strings.TrimSpace(j.Prompt) == "":
		return wrongUsage(c, errors.New("--prompt is missing: it says what the model is to do with an item"))
	case min(j.Concurrency, j.MaxAttempts) < 1 || j.Budget < 0 || j.ItemTimeout <= 0:
		return wrongUsage(c, errors.New("--concurrency, --attempts and --timeout must be more than 0, and --budget not less"))
	}
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if cmd.model, err = chosenModel(cfg, cmd.model); err != nil {
		return err
	}
	if err := cmd.readSchema(); err != nil {
		return err
	}
	if err := cmd.readItems(c.Context(), args[0]); err != nil {
		return err
	}
	project, err := currentProject()
	if err != nil {
		return err
	}
	key := cmp.Or(cmd.session, "map/"+strings.TrimLeft(projectName(project), "/"))
	if err := checkIgnored(cfg, key, project); err != nil {
		return err
	}
	return cmd.useWith(c.Context(), cfg, toWrite, func(rec *openRecord) error {
		return cmd.work(c.Context(), rec, rec.engine.Session(key, lcm.WithAgent("lcm map"), lcm.WithProject(project)))
	})
}

// chosenModel returns the model that a command names, or subagents.model, if it can be asked.
func chosenModel(cfg *config.Config, model string) (string, error) {
	if model = cmp.Or(model, cfg.Agents.SubAgentModel); model == "" {
		return "", failed(exitConfig, "`lcm map --model NAME`, or `lcm config set subagents.model NAME`; models of Anthropic, OpenAI and every server that speaks its protocol",
			"there is no model to ask")
	}
	if _, err := fromconfig.Provided(cfg, "", model); err != nil {
		return "", advise(exitConfig, "set ANTHROPIC_API_KEY or OPENAI_API_KEY; OPENAI_BASE_URL names a server of your own", err)
	}
	return model, nil
}

func (cmd *mapCommand) readSchema() error {
	if cmd.schema == "" {
		return nil
	}
	text, err := os.ReadFile(cmd.schema)
	if err != nil {
		return advise(exitFailure, "check the path and that you may read it", err)
	}
	if cmd.job.Schema = bytes.TrimSpace(text); len(cmd.job.Schema) == 0 {
		err = errors.New("the file is empty")
	} else {
		_, err = mapjob.Checker(cmd.job.Schema)
	}
	if err != nil {
		return advise(exitFailure, "nothing was asked; a schema looks like {\"type\": \"object\", \"properties\": {\"kind\": {\"type\": \"string\"}}}", fmt.Errorf("%s: %w", cmd.schema, err))
	}
	return nil
}

// readItems reads a file, or standard input, and makes the key of the job.
func (cmd *mapCommand) readItems(ctx context.Context, path string) error {
	name, from := "standard input", cmd.typed(ctx)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return advise(exitFailure, "check the path and that you may read it", err)
		}
		defer file.Close()
		name, from = path, lasting{ctx, file}
	}
	lines, err := mapjob.Lines(from)
	if err == nil && len(lines) == 0 {
		err = errors.New("there are no items")
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return advise(exitFailure, "nothing was asked; an item is any JSON value on a line of its own, as `jq -c` prints it", fmt.Errorf("%s: %w", name, err))
	}
	for _, line := range lines {
		cmd.job.Items = append(cmd.job.Items, line)
	}
	if cmd.job.Key == "" {
		asked, err := json.Marshal([]any{lines, cmd.job.Prompt, cmd.job.Schema, cmd.model})
		if err != nil {
			return err
		}
		cmd.job.Key = fmt.Sprintf("%x", sha256.Sum256(asked))[:12]
	}
	return nil
}

// work has the model asked, and prints the output.
func (cmd *mapCommand) work(ctx context.Context, rec *openRecord, session *lcm.Session) (err error) {
	if cmd.job.Model, err = fromconfig.Model(rec.cfg, rec.db, cmd.model, "map"); err != nil {
		return err
	}
	bar := cmd.newBar("map")
	cmd.job.Progress = func(r lcm.MapReport) {
		bar.set(int64(r.Done+r.Failed), int64(r.Items), fmt.Sprintf("%s/%s, %s failed, %s tokens",
			prose.Number(r.Done), prose.Number(r.Items), prose.Number(r.Failed), prose.Number(r.TokensIn+r.TokensOut)))
	}
	report, err := session.Map(ctx, cmd.job)
	bar.clear()
	if err == nil {
		err = cmd.printOutput(ctx, rec, report)
	}
	if report.Items > 0 {
		cmd.summarise(report)
	}
	switch {
	case errors.Is(err, lcm.ErrMapBudget):
		return advise(exitFailure, "what is done is kept; the same command with a larger --budget goes on", err)
	case err != nil && ctx.Err() == nil && llms.ClassOf(err) != "":
		return advise(exitFailure, "what is done is kept, and the same command goes on; with --key "+cmd.job.Key+" another model can", err)
	case err != nil || report.Failed == 0:
		return err
	}
	return failed(exitFailure, "the lines of the output say why; --retry asks again about these items, another --key about all", "%s of %s failed", prose.Number(report.Failed), prose.Count(report.Items, "item", "items"))
}

// printOutput prints the output of a job, and the first failures.
func (cmd *mapCommand) printOutput(ctx context.Context, rec *openRecord, r lcm.MapReport) error {
	p, err := rec.db.Payload(ctx, r.FileID)
	if err != nil {
		return err
	}
	output, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
	switch {
	case err == nil && sha256.Sum256(output) != p.SHA256:
		err = fmt.Errorf("%s, the output of the map: %w", r.FileID, store.ErrDamaged)
	case err == nil && cmd.writeBytes(output) != nil:
		err = cmd.delivered()
	}
	for _, f := range r.Failures {
		cmd.warn("%s", clip(safetext.Line(cmd.hide(f.Error())), 300))
	}
	return err
}

// summarise tells how far a job is.
func (cmd *mapCommand) summarise(r lcm.MapReport) {
	output := "no output yet"
	if r.FileID != "" {
		output = "output in " + string(r.FileID)
	}
	cmd.note("%s of %s done, %s failed, %s, %s tokens; %s, key %s", prose.Number(r.Done), prose.Count(r.Items, "item", "items"), prose.Number(r.Failed),
		prose.Count(r.Calls, "call", "calls"), prose.Number(r.TokensIn+r.TokensOut), output, safetext.Line(r.Key))
}
