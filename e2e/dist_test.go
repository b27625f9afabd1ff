//go:build dist

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dist is what `make dist` made; its version and platforms come from the Makefile.
const dist = "../dist"

var distVersion = os.Getenv("LCM_DIST_VERSION")

// program is the name in packages of the program for a platform such as linux/amd64.
func program(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "lcm.exe"
	}
	return "lcm"
}

// distNames names a platform as archives and as npm do.
func distNames(platform string) (archive, npm string) {
	archive = strings.ReplaceAll(strings.Replace(platform, "amd64", "x64", 1), "/", "-")
	return archive, strings.Replace(archive, "windows", "win32", 1)
}

// TestDistFiles compares every package with the list of files that it should have.
func TestDistFiles(t *testing.T) {
	common := []string{"LICENSE", "README.md", "THIRD-PARTY.txt", "completions/_lcm", "completions/lcm.bash", "completions/lcm.fish", "completions/lcm.ps1", "lcm.1"}
	want := map[string][]string{
		"server.json": nil,
		"npm/lossless-context-lcm-" + distVersion + ".tgz":      {"package/LICENSE", "package/README.md", "package/bin/lcm.js", "package/package.json"},
		"npm/lossless-context-opencode-" + distVersion + ".tgz": {"package/LICENSE", "package/index.js", "package/package.json"},
		"npm/lossless-context-pi-" + distVersion + ".tgz":       {"package/LICENSE", "package/index.js", "package/package.json"},
		"npm/lossless-context-openclaw-" + distVersion + ".tgz": {"package/LICENSE", "package/index.js", "package/openclaw.plugin.json", "package/package.json"},
	}
	for _, f := range []string{"claude/.claude-plugin/marketplace.json", "claude/lcm/.claude-plugin/plugin.json", "claude/lcm/.mcp.json", "claude/lcm/commands/recall.md",
		"claude/lcm/commands/status.md", "claude/lcm/hooks/hooks.json", "claude/lcm/lcm.sh", "claude/lcm/skills/lcm-memory/SKILL.md",
		"gemini/gemini-extension.json", "gemini/commands/lcm/recall.toml", "gemini/commands/lcm/status.toml", "gemini/hooks/hooks.json", "gemini/lcm.sh",
		"gemini/skills/lcm-memory/SKILL.md"} {
		want["plugins/"+f] = nil
	}
	for _, platform := range strings.Fields(os.Getenv("LCM_DIST_PLATFORMS")) {
		archive, npm := distNames(platform)
		name := "lcm-" + distVersion + "-" + archive
		var files []string
		for _, f := range append(slices.Clone(common), program(platform)) {
			files = append(files, name+"/"+f)
		}
		slices.Sort(files)
		if strings.HasPrefix(platform, "windows/") {
			want[name+".zip"] = files
		} else {
			want[name+".tar.gz"] = files
			if man := unpacked(t, readDist(t, name+".tar.gz"))[name+"/lcm.1"]; !bytes.Contains(man, []byte("\n.SH lcm grep\n.nf\nFind where ")) {
				t.Errorf("the manual page in %s does not explain lcm grep", name)
			}
		}
		want[name+".cdx.json"] = nil
		want[name+".mcpb"] = []string{"LICENSE", "THIRD-PARTY.txt", "manifest.json", "server/" + program(platform)}
		want["npm/lossless-context-lcm-"+npm+"-"+distVersion+".tgz"] = []string{"package/LICENSE", "package/THIRD-PARTY.txt", "package/bin/" + program(platform), "package/package.json"}
		if strings.HasPrefix(platform, "linux/") {
			want[name+".deb"] = []string{
				"./usr/bin/lcm", "./usr/share/bash-completion/completions/lcm", "./usr/share/doc/lcm/THIRD-PARTY.txt", "./usr/share/doc/lcm/copyright",
				"./usr/share/fish/vendor_completions.d/lcm.fish", "./usr/share/man/man1/lcm.1.gz", "./usr/share/zsh/vendor-completions/_lcm",
			}
		}
	}
	got := map[string][]string{}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		raw := readDist(t, name)
		if is := sha256.Sum256(raw); hex.EncodeToString(is[:]) != sum {
			t.Errorf("%s has another sum than SHA256SUMS says", name)
		}
		got[name] = listed(t, name, raw)
	}
	readme := unpacked(t, readDist(t, "npm/lossless-context-lcm-"+distVersion+".tgz"))["package/README.md"]
	if wrong := regexp.MustCompile(`(?i)\bclone\b|\bgo install\b|\bdocs/`).FindAll(readme, -1); len(wrong) > 0 {
		t.Errorf("the README of the npm package is about what it does not have: %s", wrong)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the packages have other files (-want +got):\n%s", diff)
	}
}

func readDist(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dist, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// listed returns the sorted names of the files in a package, each of which must have content.
func listed(t *testing.T, name string, raw []byte) (names []string) {
	t.Helper()
	switch {
	case strings.HasSuffix(name, "gz"):
		for n := range unpacked(t, raw) {
			names = append(names, n)
		}
	case strings.HasSuffix(name, ".zip"), strings.HasSuffix(name, ".mcpb"):
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(name, err)
		}
		for _, f := range z.File {
			names = append(names, f.Name)
		}
	case strings.HasSuffix(name, ".deb"):
		out, err := exec.Command("dpkg-deb", "--contents", filepath.Join(dist, name)).Output()
		if err != nil {
			t.Fatal(name, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); !strings.HasSuffix(f[5], "/") {
				names = append(names, f[5])
			}
		}
	}
	slices.Sort(names)
	return names
}

// unpacked returns the files of a .tar.gz.
func unpacked(t *testing.T, raw []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if files[h.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDistNames checks what the MCP registry compares, and what it limits.
func TestDistNames(t *testing.T) {
	var server struct {
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version string }
	}
	if err := json.Unmarshal(readDist(t, "server.json"), &server); err != nil {
		t.Fatal(err)
	}
	var wrapper struct {
		Name, Version, McpName string
	}
	if err := json.Unmarshal(unpacked(t, readDist(t, "npm/lossless-context-lcm-"+distVersion+".tgz"))["package/package.json"], &wrapper); err != nil {
		t.Fatal(err)
	}
	p := server.Packages[0]
	if server.Name != wrapper.McpName || p.Identifier != wrapper.Name || p.Version != wrapper.Version || server.Version != distVersion || p.RegistryType != "npm" ||
		len(server.Description) > 100 || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(server.Name) {
		t.Errorf("server.json %+v does not fit package.json %+v", server, wrapper)
	}
}

// TestDistBundle has the manifests of the MCP bundles validated by the program of those who
// defined them (network).
func TestDistBundle(t *testing.T) {
	bundles, err := filepath.Glob(filepath.Join(dist, "*.mcpb"))
	if err != nil || len(bundles) == 0 {
		t.Fatal("no bundles", err)
	}
	for _, bundle := range bundles {
		z, err := zip.OpenReader(bundle)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		f, err := z.Open("manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(t.TempDir(), "manifest.json")
		if err := os.WriteFile(manifest, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("npm", "exec", "--yes", "--", "@anthropic-ai/mcpb@2.1.2", "validate", manifest).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", bundle, err, out)
		}
	}
}

// registry serves the npm packages in dist as a registry does, and says at what version.
func registry(t *testing.T, version string) (url string) {
	t.Helper()
	tarballs := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if raw, ok := tarballs[path.Base(r.URL.Path)]; ok {
			w.Write(raw)
			return
		}
		file := "lossless-context-" + path.Base(r.URL.Path) + "-"
		raw, err := os.ReadFile(filepath.Join(dist, "npm", file+distVersion+".tgz"))
		if err != nil {
			http.NotFound(w, r) // a platform that was not made
			return
		}
		raw, manifest := atVersion(t, raw, version)
		tarballs[file+version+".tgz"] = raw
		sum := sha512.Sum512(raw)
		manifest["dist"] = map[string]any{"tarball": url + "/" + file + version + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		json.NewEncoder(w).Encode(map[string]any{"name": manifest["name"], "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: manifest}})
	}))
	t.Cleanup(server.Close)
	url = server.URL
	return url
}

// atVersion makes another version of an npm package.
func atVersion(t *testing.T, raw []byte, version string) ([]byte, map[string]any) {
	t.Helper()
	files := unpacked(t, raw)
	files["package/package.json"] = bytes.ReplaceAll(files["package/package.json"], []byte(distVersion), []byte(version))
	var manifest map[string]any
	if err := json.Unmarshal(files["package/package.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		w.Write(content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), manifest
}

// user is somebody with a session of Claude Code, without lcm and without Go.
type user struct {
	t        *testing.T
	home     string
	path     string
	commands int
}

func newUser(t *testing.T, bin string) *user {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the packages for linux/amd64 are installed")
	}
	u := &user{t: t, home: t.TempDir(), path: bin + ":/usr/bin:/bin"}
	t.Cleanup(u.leave)
	for _, dir := range strings.Split(u.path, ":") {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
			t.Fatalf("%s has Go", dir)
		}
	}
	sessions := filepath.Join(u.home, ".claude", "projects", "-work-attic")
	if err := os.MkdirAll(sessions, 0o755); err != nil {
		t.Fatal(err)
	}
	line := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"the xylophone is in the attic"},"uuid":"0b7f1f3e-0000-4000-8000-000000000002","timestamp":"2026-03-04T12:00:00.000Z","cwd":"/work/attic","sessionId":"5ef1c2aa-0000-4000-8000-000000000001","version":"2.1.197"}` + "\n"
	if err := os.WriteFile(filepath.Join(sessions, "5ef1c2aa-0000-4000-8000-000000000001.jsonl"), []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	return u
}

// leave waits for the processes that hooks have left in the background, which write into the
// user's home until they end.
func (u *user) leave() {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		left := ""
		found, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range found {
			if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), "HOME="+u.home+"\x00") { // others have ended
				left = file
			}
		}
		if left == "" {
			return
		}
	}
	u.t.Errorf("a process of the user in %s has not ended within a minute", u.home)
}

// start runs a command line as a host would.
func (u *user) start(stdin, line string) (string, error) {
	c := exec.CommandContext(u.t.Context(), "/bin/sh", "-c", line)
	c.Env, c.Dir, c.Stdin = []string{"HOME=" + u.home, "PATH=" + u.path, "no_proxy=127.0.0.1"}, u.home, strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// types runs a command line that the user types.
func (u *user) types(line string) string {
	u.t.Helper()
	u.commands++
	out, err := u.start("", line)
	u.t.Logf("$ %s\n%s", line, out)
	if err != nil {
		u.t.Fatal(err)
	}
	return out
}

// programs returns the commands of lcm's hooks and MCP server in the settings.
func (u *user) programs() (hook, server string) {
	u.t.Helper()
	var settings struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	var servers struct {
		McpServers map[string]struct{ Command string }
	}
	for file, into := range map[string]any{".claude/settings.json": &settings, ".claude.json": &servers} {
		raw, err := os.ReadFile(filepath.Join(u.home, file))
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			u.t.Fatal(err)
		}
	}
	return settings.Hooks["SessionStart"][0].Hooks[0].Command, servers.McpServers["lcm"].Command
}

// recalls goes from an installed lcm to the first recall, as docs/INSTALL.md does, and connects
// Claude Code, which starts a session. It returns the program in the settings.
func (u *user) recalls() string {
	u.t.Helper()
	u.types("lcm import")
	if out := u.types("lcm grep xylophone"); !strings.Contains(out, "the xylophone is in the attic") {
		u.t.Errorf("lcm grep found nothing: %s", out)
	}
	if u.commands > 3 {
		u.t.Errorf("%d commands to the first recall", u.commands)
	}
	u.types("lcm setup --all --yes")
	hook, server := u.programs()
	raw, err := os.ReadFile(server)
	if err != nil || !bytes.HasPrefix(raw, []byte("\x7fELF")) || !strings.Contains(hook, server) || strings.Contains(server, distVersion) {
		u.t.Fatalf("the settings start %s and %s: want the program itself, without a version (%v)", hook, server, err)
	}
	event := `{"hook_event_name":"SessionStart","source":"startup","session_id":"5ef1c2aa-0000-4000-8000-000000000009","transcript_path":"","cwd":"/work/attic"}`
	if out, err := u.start(event, hook); err != nil || !strings.Contains(out, "the xylophone is in the attic") {
		u.t.Errorf("the session is told %s, %v", out, err)
	}
	return server
}

// TestDistNpm installs lcm with npm, and updates it.
func TestDistNpm(t *testing.T) {
	prefix := t.TempDir()
	u := newUser(t, filepath.Join(prefix, "bin"))
	install := func(version string) {
		u.types(fmt.Sprintf("npm install -g @lossless-context/lcm --prefix=%s --registry=%s --no-audit --no-fund", prefix, registry(t, version)))
	}
	install(distVersion)
	program := u.recalls()
	install("99.0.0")
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "package.json"))
	if err != nil || !strings.Contains(string(raw), "99.0.0") {
		t.Errorf("after an update %s is not the new program: %v", program, err)
	}
	if out := u.types("lcm setup --all --dry-run"); !strings.Contains(out, "Claude Code: nothing to change") {
		t.Errorf("the settings change with an update: %s", out)
	}
	if out, err := u.start("", "lcm nonsense"); err == nil || err.Error() != "exit status 2" {
		t.Errorf("the wrapper does not pass on the exit code: %v %s", err, out)
	}
}

// TestDistPlugins starts the program that npm installed as the plugins do: without Node.js.
func TestDistPlugins(t *testing.T) {
	prefix := t.TempDir()
	u := newUser(t, filepath.Join(prefix, "bin"))
	npm := fmt.Sprintf(" --prefix=%s --registry=%s --no-audit --no-fund", prefix, registry(t, distVersion))
	u.types("npm install -g @lossless-context/lcm" + npm)
	script, err := filepath.Abs(filepath.Join(dist, "plugins/claude/lcm/lcm.sh"))
	if err != nil {
		t.Fatal(err)
	}
	// The first node on the PATH fails.
	u.types("mkdir bin && ln -s /bin/false bin/node && PATH=$PWD/bin:$PATH && export PATH && ! lcm version && " + script + " version")
	if out, err := u.start(`{"hook_event_name":"SessionStart"}`, "PATH=/usr/bin:/bin "+script+" hook claude"); err != nil || !strings.Contains(out, `{"systemMessage":"lcm is not installed`) {
		t.Errorf("without lcm the plugin says %q, %v", out, err)
	}
	u.types("npm install @lossless-context/opencode" + npm)
	out := u.types("cd " + prefix + ` && node -e 'import("@lossless-context/opencode").then(async (m) => { const c = {}; await (await m.LCM({})).config(c); console.log(c.mcp.lcm.command.join(" ")) })'`)
	if want := filepath.Join(prefix, "node_modules/@lossless-context/lcm-linux-x64/bin/lcm") + " mcp --plugin opencode\n"; out != want {
		t.Errorf("the plugin for opencode starts %q, not %q", out, want)
	}
}

// TestDistDebian installs lcm with dpkg into an empty root.
func TestDistDebian(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deb, err := filepath.Abs(filepath.Join(dist, "lcm-"+distVersion+"-linux-x64.deb"))
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t, filepath.Join(root, "usr/bin"))
	u.types("PATH=$PATH:/usr/sbin:/sbin dpkg --root=" + root + " --force-not-root --log=/dev/null --install " + deb)
	if program := u.recalls(); program != filepath.Join(root, "usr/bin/lcm") {
		t.Errorf("the settings start %s", program)
	}
}
