package jobs_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/jobs"
	"nod/tools/tooltest"
)

type args = map[string]any

type bench struct {
	*tooltest.Rig
	book *scheduler.Jobs
}

func newBench(t *testing.T) *bench {
	t.Helper()
	zone, err := scheduler.Zone("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{}
	db := store.OpenTest(t)
	b.book = scheduler.NewJobs(db)
	b.Rig = tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool {
		return append(jobs.Tools(db, b.book, zone, "main", "researcher"), jobs.ItemTools(db, jobs.Cron(db, b.book, zone, "main", "researcher"))...)
	})
	b.OnCard = tooltest.Approve
	return b
}

func (b *bench) jobs() []scheduler.Job {
	b.T.Helper()
	var all []scheduler.Job
	err := b.DB.View(func(tx *store.Tx) (err error) {
		all, err = b.book.List(tx)
		return err
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return all
}

func (b *bench) subject() approvals.Subject {
	cards := b.Cards()
	return cards[len(cards)-1].Request.Subject
}

func TestExecuteTaskRecurring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is 1 January 2000, 00:00 UTC, a Saturday
		b := newBench(t)
		out := b.Call(tools.ExecuteTask, args{
			"mode": "cron", "title": "News", "prompt": "Collect the news.\nReport five lines.", "agent_id": "researcher",
			"description": "for breakfast", "cron": "0 9 * * 1-5",
		})
		if out.State != tools.Completed {
			t.Fatal(out.Text)
		}
		want := approvals.Subject{
			Kind:    approvals.Words,
			Text:    "News\nevery weekday at 09:00 (Europe/Rome)\nAgent: researcher\nfor breakfast\n\nCollect the news.\nReport five lines.",
			Unbound: []string{"Next: Mon 3 Jan 2000 09:00 · Tue 4 Jan 2000 09:00 · Wed 5 Jan 2000 09:00"},
		}
		if diff := cmp.Diff(want, b.subject()); diff != "" {
			t.Error(diff)
		}
		all := b.jobs()
		if len(all) != 1 || all[0].Spec != "0 9 * * 1-5" || all[0].Zone != "Europe/Rome" || all[0].Agent != "researcher" || all[0].CreatedBy != tooltest.Owner {
			t.Errorf("the book has %+v", all)
		}
		if !all[0].NextAt.Equal(time.Date(2000, 1, 3, 8, 0, 0, 0, time.UTC)) {
			t.Errorf("the next time is %v", all[0].NextAt)
		}
	})
}

func TestExecuteTaskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		out := b.Call(tools.ExecuteTask, args{
			"mode": "cron", "title": "Call", "prompt": "Remind me to call.", "agent_id": "", "at": "2000-01-02 10:30", "timezone": "Asia/Tokyo",
		})
		if out.State != tools.Completed || !strings.Contains(b.subject().Text, "once, on Sunday 2 January 2000 at 10:30 (Asia/Tokyo)") {
			t.Fatalf("%s %v", out.Text, b.subject())
		}
		if job := b.jobs()[0]; !job.At.Equal(time.Date(2000, 1, 2, 1, 30, 0, 0, time.UTC)) || job.Agent != "main" {
			t.Errorf("the job is %+v", job)
		}
	})
}

// TestExecuteTaskWaitsForItsNod: a due time that passes while the card waits changes nothing of what was nodded to.
func TestExecuteTaskWaitsForItsNod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.OnCard = func(approvals.Pending) approvals.Decision {
			time.Sleep(10 * time.Minute)
			return approvals.Decision{Verb: approvals.VerbApprove}
		}
		out := b.Call(tools.ExecuteTask, args{"mode": "cron", "title": "x", "prompt": "x", "agent_id": "main", "cron": "* * * * *"})
		if out.State != tools.Completed || len(b.Cards()) != 1 || len(b.jobs()) != 1 {
			t.Errorf("the call is %s after %d cards: %s", out.State, len(b.Cards()), out.Text)
		}
		if diff := cmp.Diff([]string{"Next: Sat 1 Jan 2000 01:01 · 01:02 · 01:03"}, b.subject().Unbound); diff != "" {
			t.Error(diff)
		}
		out = b.Call(tools.ExecuteTask, args{"mode": "cron", "title": "x", "prompt": "x", "agent_id": "main", "at": "2000-01-01 01:15"})
		if out.State != tools.Failed || !strings.Contains(out.Text, "not in the future") || len(b.jobs()) != 1 {
			t.Errorf("a time that passed meanwhile is %s: %s", out.State, out.Text)
		}
	})
}

func TestExecuteTaskRefuses(t *testing.T) {
	b := newBench(t)
	good := args{"mode": "cron", "title": "x", "prompt": "x", "agent_id": "main", "cron": "@daily"}
	for name, tt := range map[string]struct {
		change args
		want   string
	}{
		"async":              {args{"mode": "async"}, "mode"},
		"unknown agent":      {args{"agent_id": "ghost"}, `there is no agent "ghost" for jobs; these there are: main, researcher`},
		"no schedule":        {args{"cron": ""}, "either cron"},
		"two schedules":      {args{"at": "2100-01-01 00:00"}, "either cron"},
		"bad zone":           {args{"timezone": "Mars/Olympus"}, "is not known"},
		"CLOCK-7 impossible": {args{"cron": "0 0 30 2 *"}, "schedule"},
		"CLOCK-7 zone":       {args{"cron": "TZ=UTC"}, "time zone is not a part"},
		"past":               {args{"cron": "", "at": "2001-01-01 00:00"}, "not in the future"},
		"empty title":        {args{"title": " "}, "title"},
		"long title":         {args{"title": strings.Repeat("x", 121)}, "title"},
		"empty prompt":       {args{"prompt": ""}, "prompt is empty"},
		"long prompt":        {args{"prompt": strings.Repeat("x", 20_001)}, "it takes 20000"},
	} {
		a := args{}
		for k, v := range good {
			a[k] = v
		}
		for k, v := range tt.change {
			a[k] = v
		}
		if out := b.Call(tools.ExecuteTask, a); out.State != tools.Failed || !strings.Contains(out.Text, tt.want) {
			t.Errorf("%s is %s: %s", name, out.State, out.Text)
		}
	}
	if len(b.Cards()) > 0 || len(b.jobs()) > 0 {
		t.Errorf("%d cards, %d jobs", len(b.Cards()), len(b.jobs()))
	}
	b.Scope.Source = approvals.Cron
	if out := b.Call(tools.ExecuteTask, good); !strings.Contains(out.Text, "not available") {
		t.Errorf("in a job the tool is %s: %s", out.State, out.Text)
	}
}

func TestJobItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if out := b.Call(tools.ListItems, args{"type": "cron"}); out.Text != "There are no scheduled jobs. execute_task makes one." {
			t.Error(out.Text)
		}
		b.Call(tools.ExecuteTask, args{"mode": "cron", "title": "News", "prompt": "x", "agent_id": "main", "cron": "@daily"})
		id := string(b.jobs()[0].ID)
		if out := b.Call(tools.ToggleItem, args{"kind": "cron", "id": id, "enabled": false}); !strings.Contains(out.Text, "not available") {
			t.Errorf("without the config group: %s", out.Text)
		}
		b.Groups = []string{tools.ConfigGroup}
		list := func(state string) {
			t.Helper()
			want := id + ": News\n  every day at 00:00 (Europe/Rome); " + state + "; agent main\n"
			if out := b.Call(tools.ListItems, args{"type": "cron"}); out.Text != want {
				t.Error(cmp.Diff(want, out.Text))
			}
		}
		list("next Sun 2 Jan 2000 00:00:00")
		if out := b.Call(tools.ToggleItem, args{"kind": "cron", "id": id, "enabled": false}); out.Text != "Paused the job "+id+" (News)." {
			t.Error(out.Text)
		}
		if subject := b.subject(); subject.Kind != approvals.Words || !strings.HasPrefix(subject.Text, "Pause the job "+id+": News\nevery day") {
			t.Errorf("the card says %v", subject)
		}
		list("paused")
		b.Call(tools.ToggleItem, args{"kind": "cron", "id": id, "enabled": true})
		list("next Sun 2 Jan 2000 00:00:00")
		for _, card := range b.Cards()[1:] {
			if !card.Request.NoBypass {
				t.Error("a bypass would cover a change of a job")
			}
		}
		if out := b.Call(tools.DeleteCronJob, args{"id": id}); out.Text != "Deleted the job "+id+" (News)." || len(b.jobs()) > 0 {
			t.Error(out.Text, b.jobs())
		}
		asked := len(b.Cards())
		if out := b.Call(tools.DeleteCronJob, args{"id": id}); out.State != tools.Failed || len(b.Cards()) > asked {
			t.Errorf("deleting a job that is gone is %s: %s", out.State, out.Text)
		}
	})
}

func TestLabels(t *testing.T) {
	b := newBench(t)
	for raw, want := range map[string]string{
		`{"mode":"cron","title":"News","prompt":"x","agent_id":"main","cron":"@daily","description":"for breakfast"}`: "execute_task 📅 → main: for breakfast",
		`{"mode":"cron","title":"News","prompt":"x","agent_id":"main","cron":"@daily"}`:                               "execute_task 📅 → main: News",
	} {
		if got := b.Registry.DescribeCall(tools.ExecuteTask, []byte(raw), tools.LabelShort); got != want {
			t.Errorf("the label is %q, not %q", got, want)
		}
	}
}
