// Package fromconfig makes an engine from the settings of package config. The
// command lcm uses it, and a program that embeds the engine may use it too, so
// that a setting means the same in both:
//
//	cfg, err := config.Load(config.Options{})
//	counter, err := fromconfig.Counter(cfg)
//	engine, err := lcm.New(db, fromconfig.Options(cfg, db, counter)...)
//
// [Options] covers every setting that the engine has an option for. Models are
// made at their first call, so that reading the record does not need a key. The
// store counts their tokens and cost.
//
// The package links the providers and the tokenizers, and the engine does not: a
// program with its own model sets the options by hand.
package fromconfig
