package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// notice is a notification that waits to be told.
type notice struct {
	tools.Notification
	At time.Time `json:"at"`
}

const noticesBucket = "notifications"

// noticesOf is the one owner of all notifications.
const noticesOf store.Text = "home"

var notices = store.NewTable[store.Seq[store.Text], notice](noticesBucket, store.ParseSeq(store.ParseText[store.Text]))

// gatherNotices is how long notifications wait for others, so that they are told together.
const gatherNotices = 200 * time.Millisecond

// Notify implements tools.AgentPort: it queues a notification for the home chat.
func (d *Driver) Notify(tx *store.Tx, call tools.Call, n tools.Notification) error {
	n.Source, n.Summary, n.EventType, n.EventTime = d.Mask(n.Source), d.Mask(n.Summary), d.Mask(n.EventType), d.Mask(n.EventTime)
	n.Refs = slices.Clone(n.Refs)
	for i, ref := range n.Refs {
		n.Refs[i] = d.Mask(ref)
	}
	if _, err := store.Append(tx, notices, noticesOf, notice{Notification: n, At: time.Now()}); err != nil {
		return fmt.Errorf("queueing a notification: %w", err)
	}
	tx.OnCommit(func() {
		store.Failpoint("agent.noted")
		d.poke()
	})
	return nil
}

// poke has tell look for notifications.
func (d *Driver) poke() {
	select {
	case d.noted <- struct{}{}:
	default:
	}
}

// tell brings notifications to the home chat until ctx ends: those that an earlier process left, and those that come.
func (d *Driver) tell(ctx context.Context) {
	d.poke()
	pause := gatherNotices
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.noted:
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if pause = gatherNotices; d.tellNow() != nil {
			pause = retryTime
			d.poke()
		}
	}
}

// tellNow moves all notifications that wait into the home chat's session, in one commit. An error is one to try again after.
func (d *Driver) tellNow() error {
	waiting := false
	err := d.DB.View(func(tx *store.Tx) error {
		return notices.Scan(tx, nil, func(store.Seq[store.Text], notice) (bool, error) {
			waiting = true
			return false, nil
		})
	})
	if err == nil && waiting {
		err = d.DB.Update(d.moveNotices)
	}
	if err != nil {
		d.Log.Error("telling notifications", "err", err)
	}
	return err
}

func (d *Driver) moveNotices(tx *store.Tx) error {
	all, err := notices.All(tx, nil)
	if err != nil || len(all) == 0 {
		return err
	}
	home, err := d.Home(tx)
	if err != nil {
		return err
	}
	in, err := noticeNews(home, all)
	if err != nil {
		return err
	}
	s, err := d.sessionAt(tx, home.Address)
	if err != nil {
		return err
	}
	_, entered := d.enter(tx, s, in)
	_, deleted := notices.DeletePrefix(tx, store.Prefix(noticesOf))
	return errors.Join(entered, deleted)
}

// noticeNews holds all notifications in one call of read_notification.
func noticeNews(home Home, all []notice) (Input, error) {
	result, err := json.Marshal(all)
	if err != nil {
		return Input{}, fmt.Errorf("writing notifications: %w", err)
	}
	var sources []string
	for _, n := range all {
		sources = append(sources, n.Source)
	}
	return Input{
		Address: home.Address, At: time.Now(), Deciders: home.Deciders, Cards: home.Address,
		News: &News{
			Tool: tools.ReadNotification, Args: json.RawMessage("{}"), Result: string(result), Lead: noteLead,
			Origin: approvals.Origin{Kind: approvals.FromNotification, Name: strings.Join(distinct(sources), ", ")},
		},
	}, nil
}

// distinct keeps the first of each.
func distinct(all []string) (kept []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			kept = append(kept, s)
		}
		seen[s] = true
	}
	return kept
}
