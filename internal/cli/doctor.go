package cli

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/settings/config"
)

type doctorCommand struct {
	*program
	fix, vacuum, mask, deep bool
}

// doctorTime is how long the checks may take, unless --deep is given. The rest of five
// seconds is for opening, closing and printing.
const doctorTime = 4 * time.Second

type doctorReport struct {
	Database  string           `json:"database"`
	Healthy   bool             `json:"healthy"`
	Complete  bool             `json:"complete"`
	Unchecked []string         `json:"unchecked,omitempty"`
	Findings  []doctor.Finding `json:"findings"`
	Fixed     []doctor.Finding `json:"fixed"`
	Failures  []string         `json:"failures,omitempty"`
	Backup    string           `json:"backup,omitempty"`
	Reclaimed int64            `json:"reclaimedBytes,omitempty"`
	Masked    int              `json:"masked,omitempty"`
	Seconds   float64          `json:"seconds"`
}

func newDoctor(p *program) *cobra.Command {
	cmd := &doctorCommand{program: p}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems and repair them",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return cmd.doctor(c.Context()) },
	}
	c.Flags().BoolVar(&cmd.deep, "deep", false, "check everything, however long it takes; --fix, --vacuum and --mask imply it")
	c.Flags().BoolVar(&cmd.fix, "fix", false, "repair what can be repaired: small things in place, the rest in a new database; the old one is kept")
	c.Flags().BoolVar(&cmd.vacuum, "vacuum", false, "give unused space back to the disk")
	c.Flags().BoolVar(&cmd.mask, "mask", false, "mask the secrets of older messages; their records stay")
	return cmd.jsonFlag(c)
}

func (cmd *doctorCommand) doctor(ctx context.Context) error {
	begun := time.Now()
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	p, err := cmd.patient(cfg)
	if err != nil {
		return err
	}
	if _, err := os.Stat(p.Path); errors.Is(err, fs.ErrNotExist) && cmd.database != "" {
		if _, err := os.Stat(p.Path + "-wal"); err != nil {
			return failed(exitNotFound, "--db, LCM_DATABASE_PATH and `lcm config` say where it is", "there is no database at %s", p.Path)
		}
	}
	if !cmd.deep && !cmd.fix && !cmd.vacuum && !cmd.mask {
		p.Limit = doctorTime
	}
	look := doctor.Examine
	if cmd.fix {
		look = doctor.Treat
	}
	found, err := look(ctx, p)
	if err != nil {
		return databaseFailure(err)
	}
	r := doctorReport{
		Database: p.Path, Healthy: !slices.ContainsFunc(found.Findings, serious), Complete: len(found.Unchecked) == 0, Unchecked: found.Unchecked,
		Findings: found.Findings, Fixed: found.Fixed, Failures: found.Failures, Backup: found.Backup,
	}
	if cmd.vacuum && !found.Healthy() {
		cmd.note("no space was reclaimed: that is only done to a database without problems")
	} else if cmd.vacuum && found.Opened {
		r.Reclaimed, err = cmd.reclaim(ctx, cfg)
	}
	if cmd.mask && !found.Healthy() {
		cmd.note("nothing was masked: that is only done to a database without problems")
	} else if cmd.mask && found.Opened && err == nil {
		r.Masked, err = cmd.maskOlder(ctx, cfg)
		r.Findings = slices.DeleteFunc(r.Findings, func(x doctor.Finding) bool { return x.Code == "unmasked" })
	}
	if err != nil {
		return err
	}
	r.Seconds = time.Since(begun).Seconds()
	return cmd.printDoctor(r, found)
}

// doctorInstead names the tools that check and restore a PostgreSQL database.
const doctorInstead = "`lcm verify` proves the record; amcheck checks the server's pages, and a backup (pg_dump, PITR) brings them back"

// patient returns the input of package doctor.
func (cmd *doctorCommand) patient(cfg *config.Config) (doctor.Patient, error) {
	if postgres.IsURL(cfg.Storage.DatabasePath) {
		return doctor.Patient{}, notInFile(doctorInstead)
	}
	// The engine's counter keeps views within a budget, so it counts rewritten summaries too.
	counter, err := fromconfig.Counter(cfg)
	return doctor.Patient{
		Path:    dbfile.Resolve(cfg.Storage.DatabasePath),
		Options: sqlite.Options{BusyTimeout: cfg.Storage.BusyTimeout, Log: cmd.logger(cfg)},
		Counter: counter,
		Also:    func(ctx context.Context, db *sqlite.DB) []doctor.Finding { return cmd.surroundings(ctx, cfg, db) },
	}, err
}

func (cmd *doctorCommand) reclaim(ctx context.Context, cfg *config.Config) (bytes int64, err error) {
	err = cmd.useWith(ctx, cfg, toRead, func(rec *openRecord) error {
		db, err := rec.inFile(doctorInstead)
		if err != nil {
			return err
		}
		before, err := db.Stats(ctx)
		bytes = before.FileBytes
		if err == nil {
			err = db.File().Vacuum(ctx)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(cfg.Storage.DatabasePath)
	if err != nil {
		return 0, err
	}
	return max(0, bytes-info.Size()), nil
}

func (cmd *doctorCommand) printDoctor(r doctorReport, found doctor.Report) error {
	r.Findings, r.Fixed = list(r.Findings), list(r.Fixed)
	cmd.printFindingsOf(r)
	if err := cmd.emit(r); err != nil || found.Healthy() {
		return err
	}
	problems := len(r.Failures)
	for _, x := range r.Findings {
		if x.Severity == doctor.Problem {
			problems++
		}
	}
	hint := "below each problem is what to do about it"
	if !cmd.fix && found.Fixable() {
		hint = "`lcm doctor --fix` mends what can be mended, and keeps a backup"
	}
	return failed(exitFaults, hint, "%s", prose.Count(problems, "problem", "problems")+" found")
}

// serious reports whether a finding is more than a note.
func serious(x doctor.Finding) bool { return x.Severity != doctor.Note }

// maxShown is how many findings of one code are printed in full.
const maxShown = 5

func (cmd *doctorCommand) printFindingsOf(r doctorReport) {
	cmd.printf("%s\n", safetext.Line(r.Database))
	if r.Backup != "" {
		cmd.printf("backup: %s\n", safetext.Line(r.Backup))
	}
	for _, x := range r.Fixed {
		cmd.printf("%s  %s  %s: %s\n", cmd.paint(green, "mended "), x.Code, safetext.Line(x.Where), safetext.Line(x.Message))
	}
	shown := map[string]int{}
	for _, x := range r.Findings {
		if shown[x.Code]++; shown[x.Code] > maxShown {
			continue
		}
		style := map[doctor.Severity]string{
			doctor.Problem: cmd.paint(red, "problem"), doctor.Warning: cmd.paint(yellow, "warning"), doctor.Note: cmd.paint(dim, "note   "),
		}[x.Severity]
		cmd.printf("%s  %s  %s: %s\n", style, x.Code, safetext.Line(x.Where), safetext.Line(x.Message))
		switch {
		case x.Fix != "" && !cmd.fix:
			cmd.printf("         --fix: %s\n", safetext.Line(x.Fix))
		case x.Advice != "":
			cmd.printf("         %s\n", safetext.Line(x.Advice))
		}
	}
	for _, code := range slices.Sorted(maps.Keys(shown)) {
		if n := shown[code]; n > maxShown {
			cmd.printf("         and %s of %s; --json lists them all\n", prose.Count(n-maxShown, "more", "more"), code)
		}
	}
	for _, why := range r.Failures {
		cmd.warn("%s", safetext.Line(why))
	}
	if r.Masked > 0 {
		cmd.printf("%s masked; their records are as they were\n", prose.Count(r.Masked, "message", "messages"))
	}
	if r.Reclaimed > 0 {
		cmd.printf("%s reclaimed\n", prose.Size(r.Reclaimed))
	}
	if r.Healthy && r.Complete {
		cmd.printf("%s: nothing is wrong\n", cmd.paint(green, "healthy"))
	} else if r.Healthy {
		cmd.printf("%s: nothing is wrong in what was checked\n", cmd.paint(green, "healthy"))
	}
	if !r.Complete {
		cmd.printf("%s in %s: %s; `lcm doctor --deep` checks everything\n", cmd.paint(yellow, "not checked"), doctorTime, strings.Join(r.Unchecked, ", "))
	}
}

// surroundings checks the settings and the hosts.
func (cmd *doctorCommand) surroundings(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	var found []doctor.Finding
	if wasHere(cfg.Storage.DatabasePath) {
		found = append(found, doctor.Finding{
			Code: "gone", Severity: doctor.Warning, Where: cfg.Storage.DatabasePath, Message: "there was a database, and it is gone",
			Advice: "`lcm db restore FILE` puts a backup in its place; `lcm import` makes a new one of the agents' transcripts",
		})
	}
	if len(cfg.Retired) > 0 {
		found = append(found, doctor.Finding{
			Code: "retired-settings", Severity: doctor.Note, Where: cfg.File, Message: "nothing reads " + strings.Join(cfg.Retired, ", ") + " any more",
			Advice: "remove them from the file; CHANGELOG.md says what to use instead",
		})
	}
	found = append(found, cmd.hostFindings(ctx, cfg, db)...)
	if db == nil {
		return found
	}
	for _, part := range []struct {
		name string
		look func() []doctor.Finding
	}{
		{"the last sync", func() []doctor.Finding { return syncFindings(ctx, cfg, db) }},
		{"the runs", func() []doctor.Finding { return runFindings(ctx, db, time.Now()) }},
		{"deleted sessions", func() []doctor.Finding { return cmd.deleted(ctx, cfg, db) }},
		{"older messages for secrets", func() []doctor.Finding { return cmd.unmasked(ctx, cfg, db) }},
	} {
		more := part.look()
		if ctx.Err() != nil { // what failed for lack of time says nothing
			more = []doctor.Finding{{Code: doctor.Unchecked, Where: part.name}}
		}
		found = append(found, more...)
	}
	return found
}

// deleted counts the sessions that agents have deleted and lcm has.
func (cmd *doctorCommand) deleted(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	feed, err := cmd.feedOf(cfg, db)
	if err != nil {
		return nil // the checks of the settings say why
	}
	lost, _ := feed.Lost(ctx) // an error is one of the database
	n := len(hosts.Resumable(lost))
	if n == 0 {
		return nil
	}
	return []doctor.Finding{{
		Code: "deleted-sessions", Severity: doctor.Note, Where: "hosts", Message: prose.Count(n, "stored session was", "stored sessions were") + " deleted since by the agents",
		Advice: "`lcm undelete` lists them and writes them back",
	}}
}

// hostFindings checks the connection with each host. db is nil if it cannot be opened.
func (cmd *doctorCommand) hostFindings(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	m, err := machine()
	if err != nil {
		return nil // without a home there are no hosts
	}
	in := setup.Inspection{Machine: m, Hosts: all.Those[setup.Host](), Tools: setup.ListTools, Clock: time.Now}
	in.Self, _ = os.Executable() // "" if the system does not say
	if db != nil {
		in.State = db
		if feed, err := cmd.feedOf(cfg, db); err == nil {
			in.Feed = feed
		}
	}
	var found []doctor.Finding
	if connected, installed := setup.Connected(m, in.Hosts); len(connected) == 0 {
		f := doctor.Finding{
			Code: "no-host", Severity: doctor.Warning, Where: "hosts", Message: "no agent is connected with lcm: sessions are stored only when you import them",
			Advice: "`lcm setup --all` connects the agents of this machine",
		}
		if len(installed) == 0 {
			f.Message = "no agent was found on this machine, so that none is connected with lcm"
			f.Advice = "start one of " + strings.Join(all.Names[setup.Host](), ", ") + " once, then `lcm setup --all`; `lcm import FILE` needs none"
		}
		found = append(found, f)
	}
	for _, f := range setup.Check(ctx, in) {
		if f.Code == setup.Unchecked {
			f.Code = doctor.Unchecked
		}
		found = append(found, doctor.Finding{Code: f.Code, Severity: doctor.Severity(f.Severity), Where: f.Host, Message: f.Message, Advice: f.Fix})
	}
	return found
}

func (cmd *doctorCommand) feedOf(cfg *config.Config, db *sqlite.DB) (*hosts.Feed, error) {
	rec, err := newOpenRecord(cfg, db, cmd.logger(cfg))
	if err != nil {
		return nil, err
	}
	return newFeed(rec.engine, cmd.logger(cfg))
}
