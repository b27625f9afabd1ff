// Package settings is a folder: config is the table of settings, engineconfig
// the part of it that an engine takes. The command makes models and stores from it.
package settings
