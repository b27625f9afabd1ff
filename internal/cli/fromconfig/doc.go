// Package fromconfig makes the engine of the command from the settings of package
// config:
//
//	cfg, err := config.Load(config.Options{})
//	counter, err := fromconfig.Counter(cfg)
//	engine, err := lcm.New(db, fromconfig.Options(cfg, db, counter)...)
//
// [Options] covers every setting that the engine has an option for. Models are
// made at their first call, so that reading the record does not need a key. The
// store counts their tokens and cost.
//
// The package links the providers and the tokenizers, and the engine does not.
// lcm.WithSettings gives embedders the other settings.
package fromconfig
