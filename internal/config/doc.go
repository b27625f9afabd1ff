// Package config is every setting of lcm in one table.
//
// [Table] lists the settings: key in the file, environment variable, kind,
// default, allowed values and a sentence of documentation. Everything else is
// derived from it: what [Load] accepts, the typed [Config] it returns, the
// errors, `lcm config` ([Config.Render]) and docs/CONFIG.md ([Markdown]).
//
// A value comes from a flag, else the environment, else the file, else the
// default, and the Config remembers which ([Config.Origin]). The file is
// $LCM_CONFIG, else lcm/config.toml in the XDG configuration directory; it need
// not exist. A key that is not in the table, a value of the wrong type or out of
// range is an error that says where it stands and what is allowed: a setting
// that is silently ignored is worse than one that is refused.
//
// The package reads and describes settings and acts on none of them. The
// engine takes functional options; package fromconfig translates.
package config

//go:generate go test -run ^TestDocumentationIsCurrent$ -update
