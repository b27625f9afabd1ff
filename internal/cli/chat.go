package cli

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

//go:embed chat.md
var chatPrompt string

type chatCommand struct {
	*program
	model, key, system string
	budget             int
}

func newChat(p *program) *cobra.Command {
	cmd := &chatCommand{program: p}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a model that forgets nothing",
		Args:  usage(cobra.NoArgs),
		RunE:  cmd.run,
	}
	fl := c.Flags()
	fl.StringVarP(&cmd.model, "model", "m", "", "model to talk with (default: chat.model)")
	fl.IntVarP(&cmd.budget, "budget", "b", 0, "most tokens that the model is sent (default: context.token_budget)")
	fl.StringVarP(&cmd.key, "session", "s", "", "session key (default: the project's chat)")
	fl.StringVar(&cmd.system, "system", "", "system prompt")
	return c
}

// chat is a conversation in a terminal.
type chat struct {
	*chatCommand
	rec     *openRecord
	session *lcm.Session
	agent   *agents.Agent
	budget  int // of the messages
}

// run opens the database, but not before it is certain that there is a model.
func (cmd *chatCommand) run(c *cobra.Command, _ []string) error {
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if cmd.model, err = chosenModel(cfg, cmd.model, "chat"); err != nil {
		return err
	}
	return cmd.useWith(c.Context(), cfg, toWrite, func(rec *openRecord) error { return cmd.chat(c.Context(), rec) })
}

// chosenModel returns the model that a command names, or chat.model, if it can be asked.
func chosenModel(cfg *config.Config, model, command string) (string, error) {
	if model = cmp.Or(model, cfg.Agents.ChatModel); model == "" {
		return "", failed(exitConfig, "`lcm "+command+" --model NAME`, or `lcm config set chat.model NAME`; models of Anthropic, OpenAI and every server that speaks its protocol",
			"there is no model to talk with")
	}
	if _, err := fromconfig.Provided(cfg, "", model); err != nil {
		return "", advise(exitConfig, "set ANTHROPIC_API_KEY or OPENAI_API_KEY; OPENAI_BASE_URL names a server of your own", err)
	}
	return model, nil
}

func (cmd *chatCommand) chat(ctx context.Context, rec *openRecord) error {
	c, err := cmd.begin(ctx, rec)
	if err != nil {
		return err
	}
	cmd.note("%s · session %s · %s tokens · /help lists the commands", c.agent.Name(), safetext.Line(c.session.Key()), prose.Number(c.budget))
	if err := c.showPending(ctx); err != nil {
		return err
	}
	lines := bufio.NewReader(cmd.typed(ctx))
	for {
		if cmd.terminal {
			cmd.printf("%s ", cmd.paint(cyan, "›"))
		}
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			if quit := c.take(ctx, text); quit || ctx.Err() != nil {
				return ctx.Err()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading what was typed: %w", err)
		}
	}
}

func (cmd *chatCommand) begin(ctx context.Context, rec *openRecord) (*chat, error) {
	engine, err := fromconfig.Model(rec.cfg, rec.db, cmd.model, "chat")
	if err != nil {
		return nil, err
	}
	project, err := currentProject()
	if err != nil {
		return nil, err
	}
	key := cmp.Or(cmd.key, "chat/"+strings.TrimLeft(projectName(project), "/"))
	c := &chat{chatCommand: cmd, rec: rec, session: rec.engine.Session(key, lcm.WithAgent("lcm chat"), lcm.WithProject(project))}
	if err := c.session.CheckIgnored(); err != nil {
		return nil, err
	}
	return c, c.start(engine)
}

// start makes the agent. Its messages get the budget that the prompt and the tools leave.
func (c *chat) start(engine llms.Model) error {
	c.budget = cmp.Or(c.chatCommand.budget, c.rec.cfg.Context.TokenBudget)
	config := agents.AgentConfig{LLMEngine: engine, AgentName: c.model, SystemPrompt: cmp.Or(c.system, chatPrompt)}
	config.Memory = c.session.Memory(0, lcm.WithCallerModel(engine))
	probe, err := agents.New(config)
	if err != nil {
		return err
	}
	left := c.budget - c.overhead(probe)
	if left < lcm.MinBudget {
		return failed(exitUsage, "use a larger --budget", "a budget of %d tokens is too small: the prompt and the tools take %d of it", c.budget, c.budget-left)
	}
	c.budget = left
	config.Memory = c.session.Memory(left, lcm.WithCallerModel(engine))
	c.agent, err = agents.New(config)
	return err
}

// overhead counts the tokens of the system prompt and the tools.
func (c *chat) overhead(a *agents.Agent) int {
	n := c.rec.counter.Count(a.SystemPrompt())
	for _, t := range a.Tools() {
		s := llms.Spec(t)
		n += c.rec.counter.Count(s.Name) + c.rec.counter.Count(s.Description) + c.rec.counter.Count(string(s.Parameters))
	}
	return n
}

// take answers one line and reports whether it was the last.
func (c *chat) take(ctx context.Context, text string) (quit bool) {
	var err error
	switch command, reason, _ := strings.Cut(text, " "); {
	case command == "/quit" || command == "/exit":
		return true
	case command == "/continue":
		err = c.say(ctx, c.agent.Continue(ctx))
	case command == "/approve" || command == "/deny":
		err = c.decide(ctx, command == "/approve", reason)
	case command == "/help":
		c.printf("%s", chatHelp)
	case strings.HasPrefix(command, "/") && !strings.Contains(command[1:], "/"):
		c.warn("%s is not a command; /help lists them", safetext.Line(command))
	default:
		err = c.say(ctx, c.agent.ChatStream(text))
	}
	if err != nil && ctx.Err() == nil {
		c.report(err) // one failed turn does not end the conversation
	}
	return false
}

const chatHelp = "/quit leaves; the conversation stays. `lcm show --tree` and `lcm context` show it from another terminal\n" +
	"/continue goes on with a turn that broke off; /approve and /deny, with a reason, answer the calls that wait for it\n"

// showPending tells of a turn that is unfinished.
func (c *chat) showPending(ctx context.Context) error {
	pending, err := c.session.Pending(ctx)
	if err != nil || !pending.Unfinished {
		return err
	}
	for _, call := range pending.Waiting() {
		c.note("waits for approval: %s(%s)", call.Name, clip(safetext.Line(call.Arguments), 100))
	}
	c.note("the last turn is unfinished; /continue goes on with it")
	return nil
}

// decide approves or denies the calls that wait, and goes on with the turn.
func (c *chat) decide(ctx context.Context, approved bool, reason string) error {
	pending, err := c.session.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending.Waiting()) == 0 {
		return errors.New("no call waits for approval")
	}
	answer := c.session.Deny
	if approved {
		answer = c.session.Approve
	}
	for _, call := range pending.Waiting() {
		if err := answer(ctx, call.ID, currentUser(), reason); err != nil {
			return err
		}
	}
	return c.say(ctx, c.agent.Continue(ctx))
}

// currentUser names who decides.
func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "the user of lcm chat"
}

// say runs a turn, and prints text and tool calls as they arrive.
func (c *chat) say(ctx context.Context, turn core.IResponseChStarter) error {
	stream := turn.StartContext(ctx)
	defer stream.Stop()
	inText := false
	for e := range stream.EventsContext(ctx) {
		if e.Kind != core.EventText && inText {
			c.printf("\n")
			inText = false
		}
		switch e.Kind {
		case core.EventText:
			c.printf("%s", c.shown(e.Text))
			inText = true
		case core.EventToolCall:
			c.doing("→ %s%s(%s)", strings.Repeat("  ", len(e.From)), e.Call.Name, clip(safetext.Line(e.Call.Arguments), 100))
		case core.EventToolResult:
			c.doing("← %s: %s", e.Call.Name, clip(safetext.Line(e.Result.Text), 100))
		case core.EventApproval:
			c.note("waits for approval: %s(%s); /approve or /deny, with a reason", e.Call.Name, clip(safetext.Line(e.Call.Arguments), 100))
		case core.EventDone:
			if e.Stop == core.StopLength {
				c.warn("the model ran into the limit of its answer, which ends in the middle: ask it to go on")
			}
		case core.EventError:
			return e.Err
		}
	}
	return ctx.Err()
}

// doing prints a tool call or its result.
func (c *chat) doing(format string, args ...any) {
	fmt.Fprintln(c.err, c.paint(dim, fmt.Sprintf(format, args...)))
}
