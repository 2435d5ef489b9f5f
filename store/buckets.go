package store

// buckets lists every bucket with its key and its owner. Open makes those that are missing.
//
//	bucket           key                    record                               owner
//	meta             name                   schema version                       store
//	approvals        approval id            request to a person                  approvals
//	approvals_live   approval id            expiry of a request not yet over     approvals
//	approvals_calls  call id                the call's newest request            approvals
//	rules            rule id                rule                                 approvals
//	rule_groups      group                  group of rules                       approvals
//	rule_seeds       rule id                when a default was put down          approvals
//	bypasses         session NUL grant id   bypass with its uses                 approvals
//	jobs             job id                 job                                  scheduler
//	job_runs         job id NUL due (ms)    run of a job, the last 20 of each    scheduler
//	executions       call id                a tool call from intent to outcome   tools
//	known_tools      tool name              when a tool was first offered        tools
//	scratchpads      session id             the agents' shared notes             tools/chat
//	active_groups    session id             lazy tool groups in use              tools/chat
//	sessions         session id             session                              agent
//	turns            turn id                turn                                 agent
//	transcripts      session id NUL number  line of a transcript                 agent
//	mailboxes        session id NUL number  message that waits for its turn      agent
//	addresses        chat, topic            its present session                  agent
//	offspring        session NUL session    who works for it at present          agent
//	notifications    number                 what the home chat is to be told     agent
//	contexts         name                   run context made in a chat           agent
//	profiles         chat, topic            the name of its run context          agent
//	spending         day, run               what its answers have cost, in USD   agent
//	inbox            update id              raw update, tries, stopped since     bot/inbox
//	inbox_dead       update id              raw update that was given up         bot/inbox
//	inbox_seen       bot's user id          last update id received; last poll   bot/inbox
//	outbox           chat NUL number        item that waits                      bot/outbox
//	outbox_slots     slot                   the message it holds                 bot/outbox
//	outbox_places    chat, message          its slot                             bot/outbox
//	outbox_dead      number                 item that was given up               bot/outbox
//	outages          kind                   what keeps jobs from being done      bot
//	mounts           chat                   why no files can be sent there       bot
//	recent_messages  chat, topic            what a model can refer to            bot
//	people           user id                owner, guest or stranger             bot
//	invitations      hash of a code         open pairing code                    bot
//	settings         name                   home chat, enrolled groups           bot
//	secrets          name                   encrypted value                      tools/secrets
//	plugins          plugin                 settings                             tools/plugins
//	ref_key          "key"                  key of sealed references             tools/refs
//	groups           chat                   group that the bot has been in       bot
//	galleries        chat, name             gallery                              tools/gallery
//	gallery_waiting  chat, person           addition that waits for a yes        tools/gallery
//	gallery_latest   chat, person           files of the newest message          tools/gallery
//	join_links       link                   whom a link into a group is for      bot
//	mcp_servers      name                   server registered in the chat        tools/mcp
//	mcp_switches     name                   whether it was switched on or off    tools/mcp
//	mcp_known        name                   its tools, as last heard             tools/mcp
var buckets = []string{
	metaBucket,
	"approvals", "approvals_live", "approvals_calls", "rules", "rule_groups", "rule_seeds", "bypasses",
	"jobs", "job_runs",
	"executions", "known_tools", "scratchpads", "active_groups",
	"sessions", "turns", "transcripts", "mailboxes", "addresses", "spending", "offspring", "notifications", "contexts", "profiles",
	"inbox", "inbox_dead", "inbox_seen",
	"outbox", "outbox_slots", "outbox_places", "outbox_dead",
	"outages", "mounts", "recent_messages", "people", "invitations", "settings",
	"plugins", "secrets", "ref_key",
	"groups", "join_links", "galleries", "gallery_waiting", "gallery_latest",
	"mcp_servers", "mcp_switches", "mcp_known",
}
