package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// ReadSettings gives the files of settings that exist, in JSON with comments, in their order.
func ReadSettings(files []string, give func(file string, d *edit.JSON) error) error {
	for _, file := range files {
		src, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var d *edit.JSON
		if err == nil {
			d, err = edit.ParseJSON(src)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", file, err)
		}
		if err := give(file, d); err != nil {
			return err
		}
	}
	return nil
}

// EnvFileWith returns the file of variables that has a variable, or "". Gemini CLI and programs
// made from it read one in or beside the directory of the user's settings, or of those with the
// same name in the working directory and above it.
func EnvFileWith(variable string, p Program, settings, name string) string {
	roots := []string{settings, filepath.Dir(settings), p.Machine.Home}
	for at := p.Dir; ; at = filepath.Dir(at) {
		if roots = append(roots, at); at == filepath.Dir(at) {
			break
		}
	}
	for _, root := range roots {
		for _, file := range []string{filepath.Join(root, name, ".env"), filepath.Join(root, ".env")} {
			if src, err := os.ReadFile(file); err == nil && bytes.Contains(src, []byte(variable)) {
				return file
			}
		}
	}
	return ""
}

// sandboxFlag matches the flags of the sandbox, also among other short flags ("-sp").
var sandboxFlag = lazyregexp.New(`^(-[A-Za-z]*s|--s$|--s=|--sandbox)`)

// CheckSandbox returns an error if Gemini CLI, or a program made from it, may start in its
// sandbox, which does not reach lcm. The variable turns the sandbox on.
func CheckSandbox(p Program, variable, settings, name string, files []string) error {
	where := ""
	for _, arg := range p.Args {
		if arg == "--" {
			break
		}
		if sandboxFlag().MatchString(arg) && arg != "--sandbox=false" {
			where = arg
		}
	}
	if p.Machine.Env(variable, "") != "" {
		where = variable
	}
	if file := EnvFileWith(variable, p, settings, name); file != "" {
		where = variable + " in " + file
	}
	err := ReadSettings(files, func(file string, d *edit.JSON) error {
		for _, path := range [][]string{{"sandbox"}, {"tools", "sandbox"}, {"env", variable}} {
			if value := string(d.Get(path...)); value != "" && value != "false" {
				where = path[len(path)-1] + " in " + file
			}
		}
		return nil
	})
	if err == nil && where != "" {
		err = fmt.Errorf("the program may start in its sandbox, which does not reach lcm: %s", where)
	}
	return err
}
