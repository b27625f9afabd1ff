package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Answer is why a line of a file is there, or which prompts changed a file.
type Answer struct {
	File   string  `json:"file"`           // below the project's directory
	Line   int     `json:"line,omitempty"` // 0: the file was asked for
	Text   string  `json:"text,omitempty"` // without secrets, and only if there is an origin
	Commit *Commit `json:"commit,omitempty"`
	// Origins are the change behind the line, or those of the file, one for each prompt, newest first.
	Origins []Origin `json:"origins"`
	Note    string   `json:"note,omitempty"` // why there is no origin
}

// Origin is a change with what led to it.
type Origin struct {
	ID           store.MessageID      `json:"id"` // of the call
	Conversation store.ConversationID `json:"conversationId"`
	At           time.Time            `json:"at"`
	Tool         string               `json:"tool"`
	Changes      int                  `json:"changes,omitempty"` // of the file after this prompt
	PromptID     store.MessageID      `json:"promptId,omitempty"`
	Prompt       string               `json:"prompt,omitempty"`
	Asked        string               `json:"asked,omitempty"` // by the agent at the end, which a short prompt answers
	Said         string               `json:"said,omitempty"`  // by the agent, before the call
}

// Commit is the commit that has a line.
type Commit struct {
	Hash    string    `json:"hash"`
	At      time.Time `json:"at"`
	Author  string    `json:"author"`
	Subject string    `json:"subject"`
	// File is what the commit calls the file, where it is called otherwise now.
	File string `json:"file,omitempty"`
}

// maxFile bounds the files that are read, and maxOrigins how many changes of a file are named.
const (
	maxFile    = 8 << 20
	maxOrigins = 20
)

// Ask answers why line n (0: all) of the file at a path is there, as seen from a directory. Only
// files of the directory's project are read.
func Ask(ctx context.Context, s Store, dir, name string, n int) (Answer, error) {
	root, err := project.WorkTree(dir)
	if err != nil {
		return Answer{}, err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	rel, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(rel) {
		return Answer{}, refuse("name a file below "+root, "%s is not a file of this project", name)
	}
	here, err := project.Of(root)
	if err != nil {
		return Answer{}, err
	}
	conversations, err := s.Conversations(ctx, store.ConversationQuery{Project: &here})
	if err != nil {
		return Answer{}, err
	}
	a, err := AskIn(ctx, s, root, rel, n, conversations)
	if _, gone := os.Lstat(name); err == nil && len(a.Origins) == 0 && errors.Is(gone, fs.ErrNotExist) {
		err = refuse("name a file that is there, or that a session changed", "%s: %w", a.File, fs.ErrNotExist)
	}
	return a, err
}

// AskIn is Ask for a file below a work tree, among given conversations.
func AskIn(ctx context.Context, s Store, root, rel string, n int, conversations []store.Conversation) (Answer, error) {
	a := Answer{File: filepath.ToSlash(rel), Line: n, Origins: []Origin{}}
	if n == 0 {
		return OfFile(ctx, s, root, a.File, conversations)
	}
	lines, err := read(ctx, root, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, refuse("without a line, `lcm why` names the prompts that changed a file, also one that is gone", "%s: %w", a.File, fs.ErrNotExist)
	case errors.Is(err, recall.ErrRefused):
		return a, err
	case err != nil:
		return a, refuse("name a text file of the project", "%w", err)
	case n > len(lines):
		return a, refuse("name a line up to "+strconv.Itoa(len(lines)), "%s has %d lines", a.File, len(lines))
	}
	if len(conversations) == 0 {
		a.Note = noSession
		return a, nil
	}
	began := time.Now()
	for _, c := range conversations {
		if c.CreatedAt.Before(began) {
			began = c.CreatedAt
		}
	}
	names := []string{a.File}
	if a.Commit = blame(ctx, root, a.File, n); a.Commit != nil && a.Commit.File != "" {
		names = append(names, a.Commit.File)
	}
	in := ids(conversations)
	all, err := Changes(ctx, s, in, root, names)
	if err != nil {
		return a, err
	}
	return a.ofLine(ctx, s, in, all, lines, began)
}

const noSession = "the record has no session of this project"

func ids(conversations []store.Conversation) (in []store.ConversationID) {
	for _, c := range conversations {
		in = append(in, c.ID)
	}
	return in
}

// OfFile lists the prompts that changed a file below a project's directory, among given
// conversations. It reads no file.
func OfFile(ctx context.Context, s Store, root, file string, conversations []store.Conversation) (Answer, error) {
	a := Answer{File: file, Origins: []Origin{}}
	if len(conversations) == 0 {
		a.Note = noSession
		return a, nil
	}
	all, err := Changes(ctx, s, ids(conversations), root, []string{file})
	if err != nil {
		return a, err
	}
	for _, c := range slices.Backward(all) {
		if failed, err := Failed(ctx, s, c); err != nil || failed {
			if err != nil {
				return a, err
			}
			continue
		}
		o, err := origin(ctx, s, c)
		if err != nil {
			return a, err
		}
		if last := len(a.Origins) - 1; last >= 0 && o.PromptID != 0 && a.Origins[last].PromptID == o.PromptID {
			a.Origins[last].Changes++
			continue
		}
		if len(a.Origins) == maxOrigins {
			a.Note = fmt.Sprintf("these are the newest %d prompts that changed the file; there are more", maxOrigins)
			break
		}
		o.Changes = 1
		a.Origins = append(a.Origins, o)
	}
	if len(a.Origins) == 0 {
		a.Note = "no session of the record changed this file under its present name (a line, as in FILE:12, is followed through renames)"
	}
	return a, nil
}

// ofLine adds the change behind the line.
func (a Answer) ofLine(ctx context.Context, s Store, in []store.ConversationID, all []Change, lines []string, began time.Time) (Answer, error) {
	before := time.Now()
	if a.Commit != nil {
		before = a.Commit.At
	}
	text := strings.TrimSpace(lines[a.Line-1])
	behind := Behind(all, lines, a.Line-1, before, 0)
	if len(behind) == 0 && len(text) >= rare && before.After(began) {
		moved, err := elsewhere(ctx, s, in, a.File, text, before)
		if err != nil {
			return a, err
		}
		behind = Behind(moved, lines, a.Line-1, before, surely)
	}
	for _, c := range behind {
		if failed, err := Failed(ctx, s, c); err != nil || failed {
			if err != nil {
				return a, err
			}
			continue
		}
		o, err := origin(ctx, s, c)
		a.Text, a.Origins = text, append(a.Origins, o)
		return a, err
	}
	switch {
	case text == "":
		a.Note = "the line is empty"
	case a.Commit != nil && a.Commit.At.Before(began):
		a.Note = "the line is from before the record began, on " + began.Format(time.DateOnly)
	default:
		a.Note = "no change in the record surely brought this line: a person or a command may have written it"
	}
	return a, nil
}

func origin(ctx context.Context, s Store, c Change) (Origin, error) {
	o := Origin{ID: c.Message.ID, Conversation: c.Message.Conversation, At: c.Message.Body.Time, Tool: c.Tool}
	r, err := Before(ctx, s, c)
	o.PromptID, o.Prompt, o.Asked, o.Said = r.Prompt.ID, r.Prompt.Body.PlainText(), ending(r.Asked), r.Said
	return o, err
}

// ending returns the last words of a text.
func ending(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	_, rest, _ := strings.Cut(text[len(text)-most:], " ") // a word that is cut could be half a secret
	return "…" + rest
}

// isFile reports whether a path leads to a file of the project, or of another work tree of it:
// not to a file of the same name in another directory.
func isFile(root, file, name string) bool {
	name = filepath.ToSlash(name)
	if name == file {
		return true
	}
	above, ok := strings.CutSuffix(name, "/"+file)
	if !ok || !path.IsAbs(above) && !filepath.IsAbs(above) {
		return false
	}
	if below, ok := strings.CutPrefix(above, filepath.ToSlash(root)+"/"); ok {
		_, err := os.Lstat(filepath.Join(root, below, ".git"))
		return err == nil // a work tree inside the project
	}
	return true
}

// read returns the lines of a file as they may be shown.
func read(ctx context.Context, root, rel string) ([]string, error) {
	if err := shown(ctx, root, rel); err != nil {
		return nil, err
	}
	f, err := os.OpenInRoot(root, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a file of at most 8 MB", rel)
	}
	text, err := io.ReadAll(f)
	return masked(strings.TrimSuffix(string(text), "\n")), err
}

// shown refuses what git ignores, and git's own files.
func shown(ctx context.Context, root, rel string) error {
	real, err := filepath.EvalSymlinks(filepath.Join(root, rel))
	if err != nil {
		return err
	}
	if real, err = filepath.Rel(root, real); err != nil || !filepath.IsLocal(real) {
		return refuse("name a file below "+root, "%s is not a file of this project", rel)
	}
	for part := range strings.SplitSeq(filepath.ToSlash(real), "/") {
		if strings.EqualFold(part, ".git") {
			return refuse("name a file that is worked on", "%s is git's own", rel)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err = exec.CommandContext(ctx, "git", "-C", root, "-c", "core.fsmonitor=false", "check-ignore", "-q", "--", real).Output()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return refuse("name a file that git keeps: `lcm why FILE` names the prompts that changed any file", "git ignores %s", rel)
	case !errors.As(err, &ended):
		return refuse("install git", "it is not known whether git ignores %s: %w", rel, err)
	case ended.ExitCode() != 1:
		return refuse("ask in a repository that git can read", "it is not known whether git ignores %s: %s", rel, safetext.Line(strings.TrimSpace(string(ended.Stderr))))
	}
	return nil
}

// masked returns the lines of a text without secrets, line for line.
func masked(text string) []string {
	lines, clean := strings.Split(text, "\n"), strings.Split(mask(text), "\n")
	if len(lines) == len(clean) {
		return clean
	}
	kept := map[string]bool{} // a secret has several lines
	for _, line := range clean {
		kept[line] = true
	}
	for i, line := range lines {
		if !kept[line] {
			lines[i] = privacy.SecretMark + "secret]"
		}
	}
	return lines
}

func mask(text string) string {
	if clean, _ := (privacy.Redactor{Secrets: true}).Text([]byte(text)); clean != nil {
		return string(clean)
	}
	return text
}

// blame returns the commit that brought a line, also where a later one moved or indented it, or
// nil: for a line that is not committed, and without git.
func blame(ctx context.Context, root, file string, line int) *Commit {
	at := fmt.Sprintf("-L%d,%d", line, line)
	out, err := exec.CommandContext(ctx, "git", "-C", root, "-c", "core.fsmonitor=false", "blame", "--no-textconv", "-w", "--porcelain", at, "--", file).Output()
	if err != nil {
		return nil
	}
	c := &Commit{}
	for text := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		switch word {
		case "author":
			c.Author = mask(rest)
		case "committer-time":
			seconds, _ := strconv.ParseInt(rest, 10, 64)
			c.At = time.Unix(seconds, 0).UTC()
		case "summary":
			c.Subject = mask(rest)
		case "filename":
			if rest != file {
				c.File = rest
			}
		default:
			if c.Hash == "" {
				c.Hash = word
			}
		}
	}
	if strings.Trim(c.Hash, "0") == "" {
		return nil
	}
	return c
}

func refuse(advice, format string, args ...any) error {
	return &hint.Error{Err: fmt.Errorf(format, args...), Hint: advice, Kind: recall.ErrRefused}
}

// ForModel is the answer as a text for a model. What it quotes is cut to keep it short.
func (a Answer) ForModel() string {
	var b strings.Builder
	b.WriteString(a.File)
	switch {
	case a.Line > 0 && a.Text != "":
		fmt.Fprintf(&b, ":%d %q", a.Line, prose.Clip(a.Text, 120))
	case a.Line > 0:
		fmt.Fprintf(&b, ":%d", a.Line)
	}
	for _, o := range a.Origins {
		fmt.Fprintf(&b, "\n%s, %s, %s", o.ID, o.At.UTC().Format("2006-01-02 15:04"), safetext.Line(o.Tool))
		if o.Prompt != "" {
			fmt.Fprintf(&b, "\n  the user asked (%s): %q", o.PromptID, prose.Clip(o.Prompt, 300))
		}
		if o.Asked != "" {
			fmt.Fprintf(&b, "\n  in answer to the agent: %q", o.Asked)
		}
		if o.Said != "" && a.Line > 0 {
			fmt.Fprintf(&b, "\n  the agent said before the call: %q", prose.Clip(o.Said, 300))
		}
	}
	if c := a.Commit; c != nil {
		fmt.Fprintf(&b, "\ncommit %.10s, %s: %q", c.Hash, c.At.Format("2006-01-02 15:04"), prose.Clip(c.Subject, 120))
	}
	if a.Note != "" {
		b.WriteString("\n" + a.Note)
	}
	return b.String()
}
