// Package fromconfig makes an engine as the settings of package config want it:
// the bridge between the two. The command lcm uses it, and a program that
// embeds the engine may use it too, so that one setting means the same in both:
//
//	cfg, err := config.Load(config.Options{})
//	counter, err := fromconfig.Counter(cfg)
//	engine, err := lcm.New(db, fromconfig.Options(cfg, db, counter)...)
//
// [Options] covers every setting that the engine has an option for. Models are
// made when they are first asked, so that reading the record never fails for
// want of a key, and what they cost is counted in the store.
//
// It links the providers and the tokenizers. The engine itself links neither:
// a program that brings its own model sets its options by hand.
package fromconfig
