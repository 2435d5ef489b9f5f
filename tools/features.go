// # What the two specifications ask for, and where it lives
//
// nod follows two descriptions of tool systems: Skald's tools page (S) and Arkme's tool registry (A). Each of their
// features, in the order of their pages, with its place here or the reason why it is not carried over; a tool that neither
// of them has is marked with N:
//
//	S  tool trait: name, description, schema         Tool, Spec, New: the schema comes from the type of the arguments
//	S  describe (labels), truncate_label             Spec.Label, label.go: 60 and 120 characters, cut at rune edges
//	S  target_path, clickable                        Spec.Target, Execution.Target; the 📎 button of bot (bot/view.go)
//	S  execute and execute_async                     Spec.Run: one way, in a goroutine of its own
//	S  run, ToolExecution: wait, stop                Invocation.Start, Work
//	S  category                                      Traits.Category, Entry.Category
//	S  sub_agents_only, root_agent_only              Traits.SubAgentsOnly, Traits.RootOnly; both at once are refused
//	S  openai_definition                             agent/llm, from Tool.Schema
//	S  execution states and their words on disk      State, execution.go; the diagram in this package's doc
//	S  cancelled and rejected are no errors          Outcome.State
//	S  purity: an execution touches no database      Work; the executor alone records
//	S  SimpleExecution, drive_execution              work.go, run.startAndWait
//	S  a stop of its own for remote work             Spec.Halt
//	S  rehydration: re-run from intent               reads only; a write's unknown outcome is asked about (interrupted.go)
//	S  registry: register, definitions, list, run    Registry, NewCatalogue, Executor
//	S  category_of, describe_call                    EntryOf, Registry.DescribeCall
//	S  catalogue of built-in, synthetic, MCP tools   Registry.All; /tools and nod check show it
//	S  discovery, known_tools                        Discovery, KnownTools; /rules adds rules for all of them
//	S  name constants                                names.go
//	S  execute_task: cron, sync, async               tools/jobs, tools/agents; sub-agents in agent
//	S  execute_subtask, read_agent_result            tools/agents
//	S  update_scratchpad, write_todos                tools/chat
//	S  ask_user_clarification                        tools/chat, run.ask; from background runs in the home chat
//	S  activate_tools, lazy config group, MCP grants tools/chat, Registry.Groups; /resettools puts them away
//	S  notify, read_notification                     tools/agents; answered by the main agent in the home chat
//	S  show_file_to_user                             not carried, because there is no viewer: send_attachment sends the file
//	S  LaTeX, the web viewers and their events       not carried, because Telegram shows files itself
//	S  visibility by permission group                Visibility.Denied from approvals.Rules; MCP tools pass it too
//	S  approval rules, seeded denies, fast paths     approvals, rules.go
//	S  list_files, read_file, search_file            tools/fs
//	S  grep_files                                    tools/fs
//	S  get_ast_outline                               tools/outline
//	S  write_file, edit_file                         tools/fs; the card shows a diff
//	S  insert_at_line, replace_lines                 tools/fs
//	S  memory/ writes are free                       SeededRules
//	S  path resolution, canonical prefixes           Workspace, place.go, on os.Root
//	S  secrets/ closed to file tools                 SeededRules, Workspace.BuiltInDeny; also never listed
//	S  execute_cmd, audit of every command           tools/shell; the executor logs each call that runs
//	S  restart                                       tools/shell
//	S  list_items, toggle_item, delete_cron_job      tools/jobs
//	S  register_mcp, delete_mcp, MCP tools           tools/mcp
//	S  configure_plugin                              tools/plugins
//	S  set_secret, list_secrets                      tools/secrets
//	S  image_generate, image_generate_providers_list tools/image
//	S  send_attachment, send_voice_message           tools/chat; speech itself in agent/llm
//	A  profiles business, atomic, hybrid, disabled   Profile, NewCatalogue; tools.profile in nod.yaml
//	A  internal versioned ids, static catalogue      Entry, Catalogue
//	A  what the catalogue refuses                    Entry.check, Entry.fits, prompt.Check; TestAStartRefusesASpoiltCatalogue in tools
//	A  phases core and attachments                   Phase, Ports; withdrawn and restored round by round
//	A  definitions checked against the catalogue     Entry.fits
//	A  shared typed ports, no tool runs another      Ports; TestNoToolRunsAnother in cmd/nod
//	A  guidance by profile and phase                 agent/prompt, composed for each request
//	A  prompt visibility is not authorisation        run.decode; TestWhatIsNotOfferedDoesNotRun in cmd/nod
//	A  writes need explicit-user-write               Entry.Grant, approvals.Origin
//	A  gallery_list, gallery_add, gallery_delete     tools/gallery: prepare and confirm
//	A  gallery_reorder, gallery_send                 tools/gallery
//	A  group_list, group_member_candidates           tools/groups: signed refs
//	A  group_member_add                              tools/groups
//	A  telegram_send_message, telegram_react         tools/telegram
//	A  telegram_pin, telegram_send_poll              tools/telegram
//	A  telegram_send_location, telegram_create_topic tools/telegram
//	A  the one-time account id                       not carried, because a bot has no accounts to name
//	A  signed URLs and headers of images             not carried, because pictures stay on the owner's machine
package tools
