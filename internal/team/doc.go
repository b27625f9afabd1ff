// Package team is a folder: the packages below it share one record between
// people or machines. access holds tokens and rights, teamserver is lcm team serve, teamsync is
// lcm sync, and peersync is lcm sync with another machine. They import the engine, and are imported by ui and cli only.
package team
