// Package settings is a folder: config is the table of settings, engineconfig
// the part of it that an engine takes, fromconfig makes models and stores from
// it. Only fromconfig imports the engine.
package settings
