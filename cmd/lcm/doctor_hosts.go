package main

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/config"
	"github.com/lossless-context/lcm/doctor"
	"github.com/lossless-context/lcm/hosts"
	"github.com/lossless-context/lcm/hosts/all"
	"github.com/lossless-context/lcm/hosts/setup"
	"github.com/lossless-context/lcm/store/sqlite"
)

// hostFindings says whether the connection with each host is alive. db is nil
// where the database cannot be opened.
func (a *app) hostFindings(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	m, err := machine()
	if err != nil {
		return nil // without a home there are no hosts
	}
	in := setup.Inspection{Machine: m, Tools: setup.ListTools, Clock: time.Now}
	if db != nil {
		in.State = db
		if ar, err := assembleArchive(cfg, db, a.logger(cfg)); err == nil {
			if feed, err := hosts.New(ar.engine, all.Hosts(), m, hosts.Options{Log: a.logger(cfg)}); err == nil {
				in.Feed = feed
			}
		}
	}
	var found []doctor.Finding
	for _, f := range setup.Check(ctx, in) {
		found = append(found, doctor.Finding{Code: f.Code, Severity: doctor.Severity(f.Severity), Where: f.Host, Message: f.Message, Advice: f.Fix})
	}
	return found
}
