package verify

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// rowChanged describes a conversation whose row is not the one that was written.
const rowChanged = "its session key, agent, title, project, times or numbers are not those that were written"

// rows checks the seals of the conversation and of its branches.
func (v *verifier) rows() error {
	broken, err := seal.Conversations.Broken(v.Conn, "c.id = ?", int64(v.Row.ID))
	if len(broken) > 0 {
		v.Fault("session", v.name(), "%s", rowChanged)
	}
	if err != nil {
		return err
	}
	broken, err = seal.Branches.Broken(v.Conn, "b.conversation = ?", int64(v.Row.ID))
	for _, key := range broken {
		v.Fault("branch", fmt.Sprintf("branch %d of %s", key[0], v.name()), "its beginning, its cause or its time is not the one that was written")
	}
	return err
}

// revisions checks the earlier texts of a summary.
func (v *verifier) revisions(n SummaryNode) error {
	broken, err := seal.Revisions.Broken(v.Conn, "r.summary = ?", n.Num)
	for _, key := range broken {
		v.Fault("revision", string(n.ID), "its earlier text %d is not the one that was written", key[1])
	}
	if err != nil {
		return err
	}
	kept, err := sqldb.Value[int](v.Conn, `SELECT count(*) FROM revisions WHERE summary = ?`, n.Num)
	if err == nil && kept != n.Earlier {
		v.Fault("revision", string(n.ID), "%d earlier texts of it were kept, there are %d", n.Earlier, kept)
	}
	return err
}
