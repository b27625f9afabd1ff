// Package recall is a folder: the packages below it find stored messages again. search
// ranks texts, lookup answers the requests of the public package recall, delegation answers
// questions with a sub-agent, secondhand tells which messages only repeat others. They
// import the record and kit.
package recall
