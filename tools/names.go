package tools

// Names of the built-in tools. Everything that refers to a tool uses these.
const (
	ListFiles     = "list_files"
	ReadFile      = "read_file"
	WriteFile     = "write_file"
	EditFile      = "edit_file"
	InsertAtLine  = "insert_at_line"
	ReplaceLines  = "replace_lines"
	SearchFile    = "search_file"
	GrepFiles     = "grep_files"
	GetASTOutline = "get_ast_outline"

	ExecuteCmd = "execute_cmd"
	Restart    = "restart"

	ExecuteTask     = "execute_task"
	ExecuteSubtask  = "execute_subtask"
	ReadAgentResult = "read_agent_result"

	AskUserClarification = "ask_user_clarification"
	WriteTodos           = "write_todos"
	UpdateScratchpad     = "update_scratchpad"
	ActivateTools        = "activate_tools"
	Notify               = "notify"
	ReadNotification     = "read_notification"

	ListItems       = "list_items"
	ToggleItem      = "toggle_item"
	DeleteCronJob   = "delete_cron_job"
	RegisterMCP     = "register_mcp"
	DeleteMCP       = "delete_mcp"
	ConfigurePlugin = "configure_plugin"
	SetSecret       = "set_secret"
	ListSecrets     = "list_secrets"

	SendAttachment             = "send_attachment"
	SendVoiceMessage           = "send_voice_message"
	ImageGenerate              = "image_generate"
	ImageGenerateProvidersList = "image_generate_providers_list"

	GalleryList    = "gallery_list"
	GalleryAdd     = "gallery_add"
	GalleryDelete  = "gallery_delete"
	GalleryReorder = "gallery_reorder"
	GallerySend    = "gallery_send"

	GroupList             = "group_list"
	GroupMemberCandidates = "group_member_candidates"
	GroupMemberAdd        = "group_member_add"

	TelegramSendMessage  = "telegram_send_message"
	TelegramReact        = "telegram_react"
	TelegramPin          = "telegram_pin"
	TelegramSendPoll     = "telegram_send_poll"
	TelegramSendLocation = "telegram_send_location"
	TelegramCreateTopic  = "telegram_create_topic"
)

// TaskCompleted names the synthetic call as which an async task's result enters the session that began it. It is never
// offered.
const TaskCompleted = "task_completed"

// ConfigGroup is the lazy group of tools that change nod's configuration.
const ConfigGroup = "config"
