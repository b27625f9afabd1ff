package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// someMessage draws a message of the sequence, in any conversation.
func (m *machine) someMessage(rt *rapid.T) store.MessageID {
	ids := slices.Sorted(maps.Keys(m.model.messages))
	if len(ids) == 0 {
		rt.Skip("no message")
	}
	return rapid.SampledFrom(ids).Draw(rt, "message")
}

func (m *machine) rewind(rt *rapid.T) {
	c := m.pick(true)
	to := m.someMessage(rt)
	if rapid.IntRange(0, 9).Draw(rt, "to the beginning") == 0 {
		to = 0
	}
	err := m.f.Update(m.ctx, c.ID, func(w store.Writer) error {
		_, err := w.Rewind(m.ctx, to, "model")
		return err
	})
	if to != 0 && !m.model.reachable(c, to) {
		if !errors.Is(err, store.ErrOffBranch) {
			rt.Fatalf("rewind of conversation %d to %s, which is on no branch of it: %v", c.ID, to, err)
		}
		return
	}
	m.must(fmt.Sprintf("rewind to %s", to), err)
	before, after := m.model.path(c.tip), m.model.path(to)
	c.tip = to
	if len(after) <= len(before) && slices.Equal(before[:len(after)], after) {
		c.view = m.model.cut(c.view, len(after))
		return
	}
	// A kept branch became active again, with its summaries: check compares the
	// messages that the view leads to.
	v, err := m.f.View(m.ctx, c.ID, store.Window{})
	m.must("view", err)
	c.view = v.Items
}

func (m *machine) fork(rt *rapid.T) {
	c, at := m.pick(true), m.someMessage(rt)
	if len(m.model.conversations) > 6 {
		rt.Skip("enough conversations")
	}
	key := fmt.Sprintf("%s/fork-%d", m.name, len(m.model.conversations))
	made, err := m.f.Fork(m.ctx, c.ID, at, store.NewConversation{Key: key})
	path := m.model.path(c.tip)
	n := slices.Index(path, at) + 1
	if n == 0 {
		if !errors.Is(err, store.ErrOffBranch) {
			rt.Fatalf("fork of conversation %d at %s, which is not on its active branch: %v", c.ID, at, err)
		}
		return
	}
	m.must("fork", err)
	fork := m.add(made)
	fork.base, fork.tip, fork.view = m.model.messages[at].pos, at, slices.Clone(m.model.cut(c.view, n))
	if fork.ForkedFrom != c.ID || fork.ForkedAt != at || fork.Agent != c.Agent {
		rt.Fatalf("a fork of %d at %s is %+v", c.ID, at, made)
	}
}

func (m *machine) archive(rt *rapid.T) {
	c := m.pick(true)
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		rt.Skip("not now")
	}
	cause := rapid.SampledFrom([]string{"reset", "cron"}).Draw(rt, "cause")
	m.must("archive", m.f.Archive(m.ctx, c.ID, cause))
	if c.Active() {
		c.ArchivedAt, c.ArchiveCause = m.now(), cause
	}
	err := m.f.Update(m.ctx, c.ID, func(w store.Writer) error {
		_, err := w.Append(m.ctx, row(llms.RoleUser, "too late"))
		return err
	})
	if !errors.Is(err, store.ErrArchived) {
		rt.Fatalf("append to an archived conversation: %v", err)
	}
}

// errChanged rolls a transaction back.
var errChanged = errors.New("changed my mind")

// rollBack does several things in a transaction that fails: none of them may be visible.
func (m *machine) rollBack(rt *rapid.T) {
	c := m.pick(false)
	err := m.f.Update(m.ctx, c.ID, func(w store.Writer) error {
		if _, err := w.PutPayload(m.ctx, store.NewPayload{Data: []byte("never " + m.name)}); err != nil {
			return err
		}
		if _, err := w.Append(m.ctx, m.draw(rt)); err != nil {
			return err
		}
		if len(c.view) > 0 {
			if _, err := w.Fold(m.ctx, store.NewSummary{Over: c.view[:1], Wording: wording("never")}); err != nil {
				return err
			}
		}
		if _, err := w.Rewind(m.ctx, 0, "never"); err != nil {
			return err
		}
		return errChanged
	})
	if !errors.Is(err, errChanged) {
		rt.Fatalf("a transaction that fails: %v", err)
	}
}

func (m *machine) moveClock(rt *rapid.T) {
	m.f.now = m.f.now.Add(time.Duration(rapid.IntRange(-3600, 7200).Draw(rt, "seconds")) * time.Second)
}

// space is a space of State that only this run uses.
func (m *machine) space() string { return store.ScopePrefix + m.name + "/" + store.HookShownSpace }

func (m *machine) putState(rt *rapid.T) {
	key := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "key")
	v := m.model.state[key]
	if v == nil {
		v = &modelValue{}
		m.model.state[key] = v
	}
	version := rapid.SampledFrom([]int64{0, v.version, v.version, v.version + 1}).Draw(rt, "version")
	current := int64(0)
	if v.live(m.now()) {
		current = v.version
	}
	remove := rapid.IntRange(0, 3).Draw(rt, "delete") == 0
	data := []byte(fmt.Sprint(m.said, version))
	var expires time.Time
	if rapid.Bool().Draw(rt, "expires") {
		expires = m.now().Add(time.Duration(rapid.IntRange(1, 3600).Draw(rt, "in")) * time.Second)
	}
	var got int64
	var err error
	if remove {
		err = m.f.Delete(m.ctx, m.space(), key, version)
	} else {
		got, err = m.f.Put(m.ctx, m.space(), key, data, version, expires)
	}
	switch {
	case version != current:
		if !errors.Is(err, store.ErrConflict) {
			rt.Fatalf("state %s has version %d, %d was given: %v", key, current, version, err)
		}
	case err != nil:
		rt.Fatalf("state: %v", err)
	case remove:
		v.data, v.expires = nil, time.UnixMilli(0)
	default:
		if got <= v.version {
			rt.Fatalf("state %s: version %d follows %d", key, got, v.version)
		}
		*v = modelValue{data: data, version: got, expires: expires}
	}
	m.checkState()
}

func (m *machine) checkState() {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m.model.state)), func(key string) bool { return !m.model.state[key].live(m.now()) })
	list, err := m.f.List(m.ctx, m.space())
	m.must("state", err)
	if len(list) != len(keys) {
		m.Fatalf("the state has %d values, the model %v", len(list), keys)
	}
	for i, got := range list {
		v := m.model.state[keys[i]]
		if got.Key != keys[i] || got.Version != v.version || !bytes.Equal(got.Data, v.data) || !got.Expires.Equal(v.expires) {
			m.Fatalf("the state has %+v, the model %s %+v", got, keys[i], v)
		}
	}
}
