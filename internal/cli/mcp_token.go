package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
)

// mcpTokenFile is beside the database: its readers may ask the server.
func mcpTokenFile(database string) string {
	return filepath.Join(besideDatabase(database), "mcp-token")
}

// mcpToken returns the token in a file, and makes it the first time.
func mcpToken(path string) (token string, made bool, err error) {
	token, err = readMCPToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = writeNew(path, ".lcm-token-*", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%x\n", random)
			return err
		})
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false, fmt.Errorf("make a token for clients: %w", err)
	}
	made = err == nil
	token, err = readMCPToken(path) // perhaps that of a process that was faster
	return token, made, err
}

func readMCPToken(path string) (string, error) {
	content, info, err := regularfile.Read(path, 4<<10)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", failed(exitFailure, "remove it: a new one is made, and clients need the new token", "others may read the token in %s: its mode is %#o", path, info.Mode().Perm())
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", failed(exitFailure, "remove it: a new one is made", "there is no token in %s", path)
	}
	return token, nil
}
