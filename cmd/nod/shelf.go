package main

import (
	"time"

	"nod/agent"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/agents"
	"nod/tools/chat"
	"nod/tools/fs"
	"nod/tools/gallery"
	"nod/tools/groups"
	"nod/tools/image"
	"nod/tools/jobs"
	"nod/tools/mcp"
	"nod/tools/outline"
	"nod/tools/plugins"
	"nod/tools/refs"
	"nod/tools/secrets"
	"nod/tools/shell"
	"nod/tools/telegram"
)

// shelf is what the built-in tools are made of.
type shelf struct {
	db        *store.DB
	book      *scheduler.Jobs
	workspace *tools.Workspace
	vault     *secrets.Vault
	runner    *shell.Runner
	box       *refs.Box
	gallery   *gallery.Desk
	groups    func() []tools.Group // the lazy groups that there are at the time
	servers   *mcp.Manager
	plugins   *plugins.Book
	zone      *time.Location
}

// tools are the built-in tools of this program.
func (s *shelf) tools() []tools.Tool {
	var all []tools.Tool
	all = append(all, fs.Tools(s.workspace)...)
	all = append(all, outline.Tools(s.workspace)...)
	all = append(all, shell.Tools(s.runner)...)
	all = append(all, chat.Tools(s.workspace, s.groups)...)
	all = append(all, secrets.Tools(s.db, s.vault)...)
	all = append(all, s.gallery.Tools()...)
	all = append(all, groups.Tools(s.db, s.box)...)
	all = append(all, jobs.Tools(s.db, s.book, s.zone, agent.MainAgent)...)
	all = append(all, agents.Tools()...)
	all = append(all, s.servers.BuiltIn()...)
	all = append(all, s.plugins.Tools()...)
	all = append(all, image.Tools()...)
	all = append(all, telegram.Tools(s.db)...)
	all = append(all, jobs.ItemTools(s.db, s.servers.Items(), s.plugins.Items(), jobs.Cron(s.db, s.book, s.zone, agent.MainAgent), agents.Items())...)
	return all
}
