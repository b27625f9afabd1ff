package cli

import (
	"context"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/doctor"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/sqlite"
)

// hostFindings says whether the connection with each host is alive. db is nil
// where the database cannot be opened.
func (cmd *doctorCommand) hostFindings(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	m, err := machine()
	if err != nil {
		return nil // without a home there are no hosts
	}
	in := setup.Inspection{Machine: m, Tools: setup.ListTools, Clock: time.Now}
	if db != nil {
		in.State = db
		if feed, err := cmd.feedOf(cfg, db); err == nil {
			in.Feed = feed
		}
	}
	var found []doctor.Finding
	if connected, installed := setup.Connected(m); len(connected) == 0 {
		f := doctor.Finding{
			Code: "no-host", Severity: doctor.Warning, Where: "hosts", Message: "no agent is connected with lcm: sessions are stored only when you import them",
			Advice: "`lcm setup --all` connects the agents of this machine",
		}
		if len(installed) == 0 {
			f.Message = "no agent was found on this machine, so that none is connected with lcm"
			f.Advice = "start one of " + strings.Join(setup.Names(), ", ") + " once, then `lcm setup --all`; `lcm import FILE` needs none"
		}
		found = append(found, f)
	}
	for _, f := range setup.Check(ctx, in) {
		found = append(found, doctor.Finding{Code: f.Code, Severity: doctor.Severity(f.Severity), Where: f.Host, Message: f.Message, Advice: f.Fix})
	}
	return found
}

func (cmd *doctorCommand) feedOf(cfg *config.Config, db *sqlite.DB) (*hosts.Feed, error) {
	ar, err := assembleArchive(cfg, db, cmd.logger(cfg))
	if err != nil {
		return nil, err
	}
	return newFeed(ar.engine, cmd.logger(cfg))
}

// waiting counts the sessions on this machine that are not stored wholly.
func (cmd *doctorCommand) waiting(ctx context.Context, cfg *config.Config, db *sqlite.DB) (n int, err error) {
	feed, err := cmd.feedOf(cfg, db)
	if err != nil {
		return 0, err
	}
	found, err := feed.Recent(ctx, hosts.Filter{})
	if err != nil {
		return 0, err
	}
	for _, t := range found {
		lag, err := feed.Lag(ctx, t)
		if err != nil {
			return n, err
		}
		if lag.Behind {
			n++
		}
	}
	return n, nil
}
