package config_test

import (
	"fmt"
	"io/fs"

	"github.com/lossless-context/lcm/internal/settings/config"
)

func ExampleLoad() {
	c, err := config.Load(config.Options{
		Home:     "/home/ada",
		Flags:    map[string]string{"log.level": "debug"},
		Getenv:   func(name string) string { return map[string]string{"LCM_FRESH_TAIL_COUNT": "32"}[name] },
		ReadFile: func(string) ([]byte, error) { return []byte("[context]\ntoken_budget = 64000\n"), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Log.Level, c.Origin("log.level"))
	fmt.Println(c.Context.FreshTailCount, c.Origin("context.fresh_tail_count"))
	fmt.Println(c.Context.TokenBudget, c.Origin("context.token_budget"))
	fmt.Println(c.Context.HardThreshold, c.Origin("context.hard_threshold"))
	// Output:
	// debug flag
	// 32 environment
	// 64000 file
	// 0.95 default
}

func ExampleLoad_error() {
	_, err := config.Load(config.Options{
		Home:     "/home/ada",
		Getenv:   func(name string) string { return map[string]string{"LCM_CONTEXT_THRESHOLD": "75"}[name] },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	})
	fmt.Println(err)
	// Output:
	// environment variable LCM_CONTEXT_THRESHOLD: context.context_threshold: 75 is out of range; give a number from 0.01 to 1
}

func ExampleSet() {
	src := []byte("# quiet on the build machine\n[log]\nlevel = \"error\" # was warn\n")
	edited, err := config.Set(src, "log.level", "info")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(edited))
	// Output:
	// # quiet on the build machine
	// [log]
	// level = "info" # was warn
}
