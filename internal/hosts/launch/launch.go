// Package launch prepares the start of an agent program behind the proxy: which model
// APIs it uses, and the arguments and environment with which it uses the proxy instead.
//
// Nothing is written to the program's settings: the changes hold for one process.
// The proxy's secret is passed in the environment, never in the arguments, which other
// users of the machine can see.
package launch

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Host is a host that `lcm run` can start.
type Host interface {
	hosts.Host
	// Prepare reads the program's settings. An error means that it is not certain which
	// model APIs the program uses, or that the proxy does not know them: the program is
	// then started without the proxy, because lcm never chooses where requests go.
	Prepare(p Program) (Start, error)
	// Session returns the session of a request, as the transcripts name it, or "".
	Session(h http.Header) string
}

// Program is a program to be started.
type Program struct {
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Machine is where its settings are; Dir is the working directory.
	Machine hosts.Machine
	Dir     string
	// Server is the command of lcm's MCP server, if it has to be connected for the run.
	Server []string
	// Allow are the tools of Server that the program may call without asking.
	Allow []string
	// Observe says that its requests will not be changed.
	Observe bool
}

// Start is how a program is started behind the proxy.
type Start struct {
	// Routes are the model APIs that the program uses. With the key route+[Login] it
	// has where requests of a route with a subscription login go, if that is elsewhere.
	Routes map[string]*url.URL
	// Windows are the windows of models that the program's settings name, in tokens,
	// with the name "" for all models.
	Windows map[string]int
	// ByCalls says that no header names the session of a request: it is found by the ids of
	// the request's tool calls, among the sessions that are written to during the run.
	ByCalls bool
	// Child returns how the program is started when the proxy listens.
	Child func(x Proxy) (Child, error)
}

// Proxy is the part of the proxy that a program has to know.
type Proxy interface {
	// URL is the base URL of a route, with the secret.
	URL(route string) string
	// BareURL is the same without the secret, which goes into [SecretHeader].
	BareURL(route string) string
	Secret() string
}

// Child is a process.
type Child struct {
	Path string
	Args []string
	Env  []string // added to the environment
	// Files are made for the process and removed after it.
	Files []string
}

const (
	// Login is added to the name of a route: see [Start].Routes.
	Login = " with a login"
	// SecretHeader may carry the proxy's secret instead of the path.
	SecretHeader = "X-Lcm-Secret"
)

// The model APIs.
const (
	AnthropicAPI = "https://api.anthropic.com"
	OpenAIAPI    = "https://api.openai.com/v1"
	ChatGPTAPI   = "https://chatgpt.com/backend-api/codex" // OpenAI's, with a ChatGPT login
)

// HostOf returns the host of a program, by its file name or by that of a link's target.
func HostOf(program string, known []Host) (Host, error) {
	path := program
	if found, err := exec.LookPath(program); err == nil {
		path = found
	}
	for range maxLinks {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if i := slices.IndexFunc(known, func(h Host) bool { return h.About().Name == name }); i >= 0 {
			return known[i], nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	var names []string
	for _, h := range known {
		names = append(names, h.About().Name)
	}
	return nil, hint.New("programs: "+strings.Join(names, ", ")+"; `lcm run --listen` passes the requests of other clients on, but folds none of them: it has no transcript of theirs. Programs on the Go library fold by themselves",
		"lcm does not know how to run %q", program)
}

// maxLinks is the longest chain of links that is followed, as in Linux.
const maxLinks = 40

// RunEnv names the host behind the proxy in its environment: lcm's adapter in it stands back.
const RunEnv = "LCM_RUN"

// Prepare prepares the start of a program.
func Prepare(h Host, p Program) (Start, error) {
	s, err := h.Prepare(p)
	child := s.Child
	s.Child = func(x Proxy) (Child, error) {
		c, err := child(x)
		c.Path = p.Path
		c.Env = append(c.Env, RunEnv+"="+h.About().Name)
		// A proxy for the rest of the network must not be asked for loopback.
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			c.Env = append(c.Env, name+"="+strings.TrimPrefix(p.Machine.Env(name, "")+",127.0.0.1,localhost", ","))
		}
		return c, err
	}
	return s, err
}

// ParseBase parses the base URL of a model API. source is where it was found.
func ParseBase(source, base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, hint.New("unset it, or set it to the address of the model API", "%s is %q, which is not an http or https address", source, base)
	}
	return u, nil
}

// FlagValues returns the values of a flag, in the forms "--flag value", "--flag=value",
// "-f value", "-fvalue" and "-f=value", and the index after the last of them. Arguments
// after "--" are no flags.
func FlagValues(args []string, names ...string) (values []string, end int) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		for _, name := range names {
			rest, ok := strings.CutPrefix(args[i], name)
			switch {
			case ok && rest == "" && i+1 < len(args):
				i++
				values = append(values, args[i])
			case ok && rest != "" && (rest[0] == '=' || len(name) == 2):
				values = append(values, strings.TrimPrefix(rest, "="))
			default:
				continue
			}
			end = i + 1
			break
		}
	}
	return values, end
}

// Merge puts the values of one object into another, deeply.
func Merge(into, from map[string]any) {
	for key, value := range from {
		inner, ok := value.(map[string]any)
		there, also := into[key].(map[string]any)
		if ok && also {
			Merge(there, inner)
			continue
		}
		into[key] = value
	}
}
