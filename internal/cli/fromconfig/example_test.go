package fromconfig_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// A program that embeds the engine reads the same settings as the command.
func Example() {
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg, err := config.Load(config.Options{ // config.Options{} reads the real file and environment
		Home:     dir,
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		log.Fatal(err)
	}
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "lcm.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	counter, err := fromconfig.Counter(cfg)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := lcm.New(db, fromconfig.Options(cfg, db, counter)...)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(context.Background())
	fmt.Println(engine.Session("support-bot/42").Key())
	// Output: support-bot/42
}
