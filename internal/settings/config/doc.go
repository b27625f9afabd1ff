// Package config defines every setting of lcm in one table.
//
// [Table] lists the settings: key in the file, environment variable, kind,
// default, allowed values and a sentence of documentation. Everything else is
// derived from it: the values that [Load] accepts, the typed [Config] that it
// returns, the errors, `lcm config` ([Config.Render]) and docs/CONFIG.md.
//
// A value comes from a flag, else the environment, else the file, else the
// default, and the Config remembers which ([Config.Origin]). The file is
// $LCM_CONFIG, else lcm/config.toml in the XDG configuration directory; it need
// not exist. An unknown key, and a value of the wrong type or out of range, is an
// error that names its position and the allowed values: silently ignoring a
// setting would be worse.
//
// The package acts on no setting. The engine takes functional options; package
// fromconfig translates.
package config

//go:generate go test -run ^TestDocumentationIsCurrent$ -update
