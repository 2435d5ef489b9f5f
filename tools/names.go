package tools

// Names of the built-in tools. Everything that refers to a tool uses these.
const (
	ListFiles    = "list_files"
	ReadFile     = "read_file"
	WriteFile    = "write_file"
	EditFile     = "edit_file"
	InsertAtLine = "insert_at_line"
	ReplaceLines = "replace_lines"
	SearchFile   = "search_file"
	GrepFiles    = "grep_files"

	ExecuteCmd = "execute_cmd"
	Restart    = "restart"

	ExecuteTask   = "execute_task"
	ListItems     = "list_items"
	ToggleItem    = "toggle_item"
	DeleteCronJob = "delete_cron_job"

	SendAttachment       = "send_attachment"
	AskUserClarification = "ask_user_clarification"
	WriteTodos           = "write_todos"
	UpdateScratchpad     = "update_scratchpad"
	ActivateTools        = "activate_tools"

	SetSecret   = "set_secret"
	ListSecrets = "list_secrets"
)

// ConfigGroup is the lazy group of tools that change nod's configuration.
const ConfigGroup = "config"
