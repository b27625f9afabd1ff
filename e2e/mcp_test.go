//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const mcpManifest = "testdata/mcp/package.json"

// machine is a home directory with a project in it, and a record of what was
// said there.
type machine struct {
	lcm, home, project string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{lcm: buildLCM(t), home: t.TempDir(), project: t.TempDir()}
	said := `{"role":"user","content":"How do we deploy?"}
{"role":"assistant","content":"We deploy with make ship, after the checks are green."}
`
	if err := os.WriteFile(filepath.Join(m.project, "talk.jsonl"), []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := run(t, m.command(m.lcm, "import", "./talk.jsonl")); err != nil {
		t.Fatalf("lcm import: %v\n%s", err, errs)
	}
	return m
}

// command is one that sees the machine and nothing of the real one.
func (m machine) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = m.project
	c.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
	return c
}

var serving = regexp.MustCompile(`serving MCP at (http://\S+)`)

// serveHTTP starts a server and returns its address.
func (m machine) serveHTTP(t *testing.T) string {
	t.Helper()
	c := m.command(m.lcm, "mcp", "--http", "0")
	c.Env = append(c.Env, "LCM_MCP_TOKEN="+mcpToken)
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
	})
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		if at := serving.FindStringSubmatch(lines.Text()); at != nil {
			go io.Copy(io.Discard, errs)
			return at[1]
		}
	}
	t.Fatal("the server does not say where it is")
	return ""
}

// inspector runs the inspector's command line on a server.
type inspector struct {
	machine
	node, script string
	target       []string // a command or an address
	flags        []string
}

func (i inspector) ask(t *testing.T, args ...string) (answer map[string]any, failed bool) {
	t.Helper()
	all := append([]string{i.script, "--cli"}, i.flags...)
	all = append(append(all, args...), "--")
	out, errs, err := run(t, i.command(i.node, append(all, i.target...)...))
	if jsonErr := json.Unmarshal([]byte(out), &answer); jsonErr != nil && err == nil {
		t.Fatalf("%v: %v\n%s\n%s", args, jsonErr, out, errs)
	}
	return answer, err != nil
}

func (i inspector) mustAsk(t *testing.T, args ...string) map[string]any {
	t.Helper()
	answer, failed := i.ask(t, args...)
	if failed {
		t.Fatalf("%v failed: %v", args, answer)
	}
	return answer
}

// mcpToken is the token of servers over HTTP.
const mcpToken = "0123456789abcdef0123456789abcdef0123456789abcdef"

// withToken stands between a server and clients that cannot be told a token. It
// adds the token to what is sent to this machine by its name, and to nothing
// else: a page that reaches the server by another name does not have it.
func (m machine) withToken(t *testing.T, at string) string {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
		r.Out.Host = r.In.Host
		if strings.HasPrefix(r.In.Host, "localhost:") {
			r.Out.Header.Set("Authorization", "Bearer "+mcpToken)
		}
	}})
	t.Cleanup(proxy.Close)
	return strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1) + to.Path
}

// TestInspector lists, calls and reads with MCP's own inspector, which checks
// structured content against the tools' schemas.
func TestInspector(t *testing.T) {
	dir := npmInstall(t, mcpManifest)
	m := newMachine(t)
	base := inspector{machine: m, node: node(t, dir), script: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")}
	stdio, guarded := base, base
	stdio.target, stdio.flags = []string{m.lcm, "mcp"}, []string{"--cwd", m.project}
	guarded.target, guarded.flags = []string{m.serveHTTP(t)}, []string{"--header", "Authorization: Bearer " + mcpToken}
	for name, i := range map[string]inspector{"stdio": stdio, "http": guarded} {
		t.Run(name, func(t *testing.T) { inspect(t, i) })
	}
	t.Run("http without the token", func(t *testing.T) {
		i := guarded
		i.flags = nil
		if answer, failed := i.ask(t, "--method", "tools/list"); !failed {
			t.Errorf("answered: %v", answer)
		}
	})
}

func inspect(t *testing.T, i inspector) {
	var names []string
	for _, tool := range i.mustAsk(t, "--method", "tools/list")["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	if got := strings.Join(names, " "); got != strings.Join(slices.Sorted(slices.Values(everyTool())), " ") {
		t.Errorf("tools: %s", got)
	}
	call := func(tool string, args ...string) string {
		all := []string{"--method", "tools/call", "--tool-name", tool}
		for _, a := range args {
			all = append(all, "--tool-arg", a)
		}
		raw, err := json.Marshal(i.mustAsk(t, all...))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, test := range []struct {
		got, want string
	}{
		{call("lcm_grep", "pattern=make ship"), `"id":"msg_2"`},
		{call("lcm_describe", "id=msg_2"), "after the checks are green"},
		{call("lcm_expand_query", "prompt=How do we deploy?", "query=deploy"), "make ship"},
		{call("expand", "subject_type=tool", "subject_name=lcm_grep"), "=== TOOL: lcm_grep ==="},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s does not hold %q", test.got, test.want)
		}
	}
	failed, _ := i.ask(t, "--method", "tools/call", "--tool-name", "lcm_describe", "--tool-arg", "id=msg_99")
	if failed["isError"] != true {
		t.Errorf("an id that is not there: %v", failed)
	}
}

// TestConformance runs every scenario of MCP's conformance suite. Those that
// need the suite's own example server are listed with the reason, and the
// suite fails if one of them passes.
func TestConformance(t *testing.T) {
	dir := npmInstall(t, mcpManifest)
	m := newMachine(t)
	expected, err := filepath.Abs("testdata/mcp/conformance.yml")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	url := m.withToken(t, m.serveHTTP(t))
	out, errs, err := run(t, m.command(node(t, dir), script, "server", "--url", url, "--suite", "all", "--expected-failures", expected))
	_, summary, _ := strings.Cut(out, "=== SUMMARY ===")
	t.Log(summary)
	if err != nil {
		t.Fatalf("the suite is not content: %v\n%s\n%s", err, out, errs)
	}
	for _, must := range []string{"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams", "dns-rebinding-protection"} {
		if !strings.Contains(summary, "✓ "+must+":") {
			t.Errorf("%s did not pass", must)
		}
	}
}
