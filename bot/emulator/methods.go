package emulator

import "strings"

// methods is the API by lower-case name. It is filled by init because handlers reach back to it through Server.
var methods map[string]method

func init() {
	methods = map[string]method{}
	for _, group := range [][]method{updateMethods, sendMethods, editMethods, chatMethods, menuMethods} {
		for _, m := range group {
			methods[strings.ToLower(m.name)] = m
		}
	}
}

var updateMethods = []method{
	{name: "getUpdates", waits: (*Server).getUpdates},
	{name: "setWebhook", run: (*Server).setWebhook},
	{name: "deleteWebhook", run: (*Server).deleteWebhook},
	{name: "getWebhookInfo", run: (*Server).getWebhookInfo},
	{name: "getMe", run: (*Server).getMe},
	{name: "answerCallbackQuery", run: (*Server).answerCallbackQuery},
	{name: "getFile", run: (*Server).getFile},
}

var sendMethods = []method{
	{name: "sendMessage", run: (*Server).sendMessage},
	{name: "sendRichMessage", run: (*Server).sendRichMessage},
	{name: "sendMessageDraft", run: (*Server).sendMessageDraft},
	{name: "sendRichMessageDraft", run: (*Server).sendRichMessageDraft},
	{name: "sendPhoto", run: sendFile(kindPhoto)},
	{name: "sendDocument", run: sendFile(kindDocument)},
	{name: "sendVideo", run: sendFile(kindVideo)},
	{name: "sendAudio", run: sendFile(kindAudio)},
	{name: "sendVoice", run: sendFile(kindVoice)},
	{name: "sendAnimation", run: sendFile(kindAnimation)},
	{name: "sendSticker", run: sendFile(kindSticker)},
	{name: "sendMediaGroup", run: (*Server).sendMediaGroup},
	{name: "sendLocation", run: (*Server).sendLocation},
	{name: "sendContact", run: (*Server).sendContact},
	{name: "sendPoll", run: (*Server).sendPoll},
	{name: "sendChatAction", run: (*Server).sendChatAction},
	{name: "forwardMessage", run: (*Server).forwardMessage},
	{name: "copyMessage", run: (*Server).copyMessage},
}

var editMethods = []method{
	{name: "editMessageText", run: (*Server).editMessageText},
	{name: "editMessageCaption", run: (*Server).editMessageCaption},
	{name: "editMessageReplyMarkup", run: (*Server).editMessageReplyMarkup},
	{name: "editMessageMedia", run: (*Server).editMessageMedia},
	{name: "deleteMessage", run: (*Server).deleteMessage},
	{name: "deleteMessages", run: (*Server).deleteMessages},
	{name: "setMessageReaction", run: (*Server).setMessageReaction},
	{name: "pinChatMessage", run: (*Server).pinChatMessage},
	{name: "unpinChatMessage", run: (*Server).unpinChatMessage},
	{name: "unpinAllChatMessages", run: (*Server).unpinAllChatMessages},
	{name: "stopPoll", run: (*Server).stopPoll},
}

var chatMethods = []method{
	{name: "getChat", run: (*Server).getChat},
	{name: "getChatMember", run: (*Server).getChatMember},
	{name: "getChatMemberCount", run: (*Server).getChatMemberCount},
	{name: "getChatAdministrators", run: (*Server).getChatAdministrators},
	{name: "leaveChat", run: (*Server).leaveChat},
	{name: "createForumTopic", run: (*Server).createForumTopic},
	{name: "createChatInviteLink", run: (*Server).createChatInviteLink},
	{name: "revokeChatInviteLink", run: (*Server).revokeChatInviteLink},
	{name: "approveChatJoinRequest", run: (*Server).approveChatJoinRequest},
	{name: "declineChatJoinRequest", run: (*Server).declineChatJoinRequest},
}

var menuMethods = []method{
	{name: "setMyCommands", run: (*Server).setMyCommands},
	{name: "getMyCommands", run: (*Server).getMyCommands},
	{name: "deleteMyCommands", run: (*Server).deleteMyCommands},
	{name: "setChatMenuButton", run: (*Server).setChatMenuButton},
	{name: "getChatMenuButton", run: (*Server).getChatMenuButton},
}
