// Package launch prepares the start of an agent program behind the proxy: which model
// APIs it uses, and the arguments and environment with which it uses the proxy instead.
//
// Nothing is written to the program's settings: the changes hold for one process.
// The proxy's secret is passed in the environment, never in the arguments, which other
// users of the machine can see.
package launch

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Proxy is the part of the proxy that a program has to know.
type Proxy interface {
	// URL is the base URL of a route, with the secret.
	URL(route string) string
	// BareURL is the same without the secret, which goes into a header.
	BareURL(route string) string
	Secret() string
}

// Program is a program to be started.
type Program struct {
	Host string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Machine is where its settings are; Dir is the working directory.
	Machine hosts.Machine
	Dir     string
	// Server is the command of lcm's MCP server, which is connected for the run.
	Server []string
	// Allow are the tools of Server that the program may call without asking. Where it is
	// empty, a server in the program's settings goes before Server.
	Allow []string
}

// Child is how a program is started behind the proxy.
type Child struct {
	Path string
	Args []string
	Env  []string // added to the environment
}

// host knows one agent program.
type host struct {
	// routes returns the model APIs that the program uses.
	routes func(p Program) (map[string]*url.URL, error)
	// child returns the arguments and the environment for the program. connect says
	// that the MCP server has to be connected.
	child func(p Program, x Proxy, routes map[string]*url.URL, connect bool) (Child, error)
	// windows returns the windows of models in the program's settings; it may be nil.
	windows func(p Program) map[string]int
}

var known = map[string]host{"claude": claudeCode, "codex": codexCLI, "opencode": openCode}

// Hosts lists the programs that can be started.
func Hosts() []string { return slices.Sorted(maps.Keys(known)) }

// HostOf returns the host of a program, by its file name or by that of a link's target.
func HostOf(program string) (string, error) {
	path := program
	if found, err := exec.LookPath(program); err == nil {
		path = found
	}
	for range maxLinks {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if _, ok := known[name]; ok {
			return name, nil
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
	return "", hint.New("programs: "+strings.Join(Hosts(), ", ")+"; `lcm proxy` passes the requests of other clients on, but folds none of them: it has no transcript of theirs. Programs on the Go library fold by themselves",
		"lcm does not know how to run %q", program)
}

// maxLinks is the longest chain of links that is followed, as in Linux.
const maxLinks = 40

// Routes returns the model APIs that a program uses, by route. An error means that this is
// not certain, or that the proxy does not know the API: the program is then started without
// the proxy, because lcm never chooses where requests go. With the key route+[Login] it
// returns where requests of a route with a subscription login go, if that is elsewhere.
func (p Program) Routes() (map[string]*url.URL, error) { return known[p.Host].routes(p) }

// Windows returns the windows of models that the program's settings name, in tokens, with
// the name "" for all models.
func (p Program) Windows() map[string]int {
	if windows := known[p.Host].windows; windows != nil {
		return windows(p)
	}
	return nil
}

// Child returns how the program is started behind the proxy.
func (p Program) Child(x Proxy, routes map[string]*url.URL) (Child, error) {
	connect := len(p.Server) > 0 && (len(p.Allow) > 0 || !setup.HasServer(p.Machine, p.Host))
	c, err := known[p.Host].child(p, x, routes, connect)
	if err != nil {
		return c, err
	}
	// A proxy for the rest of the network must not be asked for loopback.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		c.Env = append(c.Env, name+"="+strings.TrimPrefix(p.Machine.Env(name, "")+",127.0.0.1,localhost", ","))
	}
	return c, nil
}

// ParseBase parses the base URL of a model API. source is where it was found.
func ParseBase(source, base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is %q, which is not an http or https address", source, base)
	}
	return u, nil
}

// flagValues returns the values of a flag, in the forms "--flag value", "--flag=value",
// "-f value", "-fvalue" and "-f=value", and the index after the last of them. Arguments
// after "--" are no flags.
func flagValues(args []string, names ...string) (values []string, end int) {
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

// merge puts the values of one object into another, deeply.
func merge(into, from map[string]any) {
	for key, value := range from {
		inner, ok := value.(map[string]any)
		there, also := into[key].(map[string]any)
		if ok && also {
			merge(there, inner)
			continue
		}
		into[key] = value
	}
}
