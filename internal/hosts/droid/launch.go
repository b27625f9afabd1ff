package droid

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// runtimeEnv is the variable with the path of settings for one process, which go before the
// user's.
const runtimeEnv = "FACTORY_RUNTIME_SETTINGS_PATH"

// Session implements [launch.Host]: no header names it.
func (Host) Session(http.Header) string { return "" }

// Prepare implements [launch.Host]. The models of the user's own have base URLs; Factory's
// models are behind Factory's server.
func (h Host) Prepare(p launch.Program) (s launch.Start, err error) {
	if given, _ := launch.FlagValues(p.Args, "--settings"); len(given) > 0 || p.Machine.Env(runtimeEnv, "") != "" {
		return s, errors.New("settings for one process are given, and Droid takes only one file of them")
	}
	models, err := customModels(filepath.Join(h.Settings(p.Machine), "settings.json"))
	if err != nil {
		return s, err
	}
	for _, file := range h.otherSettings(p) {
		if more, err := customModels(file); err != nil || len(more) > 0 {
			return s, errors.Join(err, fmt.Errorf("%s names models, whose order with the user's lcm does not know", file))
		}
	}
	if len(models) == 0 {
		return s, hint.New("add a model of your own (customModels in ~/.factory/settings.json); docs/hosts/RUN.md says more",
			"Droid has no models of the user's own, and lcm does not know Factory's model API")
	}
	s.Routes, s.Windows, s.ByCalls = map[string]*url.URL{}, map[string]int{}, true
	for i, m := range models {
		base, _ := m["baseUrl"].(string)
		if s.Routes[route(i)], err = launch.ParseBase(fmt.Sprintf("customModels[%d].baseUrl", i), base); err != nil {
			return s, err
		}
		name, _ := m["model"].(string)
		if window, ok := m["maxContextLimit"].(float64); ok {
			s.Windows[name] = int(window)
		}
	}
	s.Child = func(x launch.Proxy) (launch.Child, error) { return child(p, models, x) }
	return s, nil
}

// otherSettings returns the files of settings that go before or beside the user's: those of the
// working directory and of the directories above it, up to the root of the repository.
func (h Host) otherSettings(p launch.Program) []string {
	own := h.Settings(p.Machine)
	files := []string{filepath.Join(own, "settings.local.json")}
	users, _ := os.Stat(own) // nil if it is not there, and no directory is the same
	for dir := p.Dir; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".factory")
		if info, err := os.Stat(at); err == nil && !os.SameFile(info, users) {
			files = append(files, filepath.Join(at, "settings.json"), filepath.Join(at, "settings.local.json"))
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return files
		}
	}
}

func route(i int) string { return fmt.Sprintf("%s-%d", Name, i) }

// customModels reads the user's models from a file of settings.
func customModels(file string) (models []map[string]any, err error) {
	err = launch.ReadSettings([]string{file}, func(_ string, d *edit.JSON) error {
		raw := d.Get("customModels")
		if raw == nil || json.Unmarshal(raw, &models) == nil {
			return nil
		}
		return fmt.Errorf("%s: customModels is no list of models", file)
	})
	return models, err
}

// child returns how the program is started: with a file of settings that has the same models
// behind the proxy. It has their keys, as the user's own file: every command that the model runs
// would inherit them from the environment.
func child(p launch.Program, models []map[string]any, x launch.Proxy) (c launch.Child, err error) {
	c.Args = p.Args
	for i, m := range models {
		m["baseUrl"] = x.URL(route(i))
	}
	settings := map[string]any{"customModels": models}
	if !p.Observe {
		settings["compactionThresholdCheckEnabled"] = false
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return c, err
	}
	file, err := os.CreateTemp("", "lcm-droid-*.json") // readable by the user alone
	if err != nil {
		return c, err
	}
	c.Env, c.Files = []string{runtimeEnv + "=" + file.Name()}, []string{file.Name()}
	_, err = file.Write(text)
	return c, errors.Join(err, file.Close())
}
