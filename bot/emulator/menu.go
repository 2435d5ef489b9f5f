package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of the command menu.
const (
	maxCommands           = 100
	maxCommandName        = 32
	maxCommandDescription = 256
)

// menu is what the bot registered for the "/" menu, by scope and language.
type menu struct {
	commands map[menuKey][]Command
	button   json.RawMessage
}

type menuKey struct{ scope, language string }

var commandName = regexp.MustCompile(`^[a-z0-9_]+$`)

func (q *request) menuKey() (menuKey, *apiError) {
	var scope struct {
		Type   string          `json:"type"`
		ChatID json.RawMessage `json:"chat_id"`
		UserID int64           `json:"user_id"`
	}
	if _, err := q.decode("scope", &scope); err != nil {
		return menuKey{}, badRequest("Can't parse BotCommandScope JSON object")
	}
	kind := cmp.Or(scope.Type, "default")
	switch kind {
	case "default", "all_private_chats", "all_group_chats", "all_chat_administrators":
	case "chat", "chat_administrators", "chat_member":
		kind = fmt.Sprintf("%s %s %d", kind, strings.Trim(string(scope.ChatID), `"`), scope.UserID)
	default:
		return menuKey{}, badRequest("Can't parse BotCommandScope: unsupported type specified")
	}
	return menuKey{kind, q.text("language_code")}, nil
}

func (s *Server) setMyCommands(q *request) (any, *apiError) {
	key, err := q.menuKey()
	if err != nil {
		return nil, err
	}
	commands, err := q.commands()
	if err != nil {
		return nil, err
	}
	s.menu.commands[key] = commands
	s.note()
	return true, nil
}

func (q *request) commands() ([]Command, *apiError) {
	raw := q.text("commands")
	if raw == "" {
		return nil, nil
	}
	if !json.Valid([]byte(raw)) {
		return nil, badRequest("Can't parse commands JSON object")
	}
	var list []fields
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil, badRequest("Expected an Array of BotCommand")
	}
	var commands []Command
	for _, item := range list {
		var c Command
		for name, to := range map[string]*string{"command": &c.Name, "description": &c.Description} {
			value, ok := item[name]
			if !ok {
				return nil, badRequestf("Can't parse BotCommand: Can't find field %q", name)
			}
			if json.Unmarshal(value, to) != nil {
				return nil, badRequestf("Can't parse BotCommand: Field %q must be of type String", name)
			}
		}
		c.Name = strings.TrimPrefix(strings.TrimSpace(c.Name), "/")
		c.Description = strings.TrimSpace(c.Description)
		if err := checkCommand(c); err != nil {
			return nil, err
		}
		commands = append(commands, c)
	}
	if len(commands) > maxCommands {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	return commands, nil
}

func checkCommand(c Command) *apiError {
	switch {
	case c.Name == "":
		return badRequest("Command must be non-empty")
	case utf8.RuneCountInString(c.Name) > maxCommandName:
		return badRequestf("Command length must not exceed %d", maxCommandName)
	case c.Description == "":
		return badRequest("Command description must be non-empty")
	case utf8.RuneCountInString(c.Description) > maxCommandDescription:
		return badRequestf("Command description length must not exceed %d", maxCommandDescription)
	case !commandName.MatchString(c.Name):
		return badRequest("BOT_COMMAND_INVALID")
	}
	return nil
}

func (s *Server) getMyCommands(q *request) (any, *apiError) {
	key, err := q.menuKey()
	if err != nil {
		return nil, err
	}
	if commands := s.menu.commands[key]; commands != nil {
		return commands, nil
	}
	return []Command{}, nil
}

func (s *Server) deleteMyCommands(q *request) (any, *apiError) {
	key, err := q.menuKey()
	if err != nil {
		return nil, err
	}
	delete(s.menu.commands, key)
	s.note()
	return true, nil
}

func (s *Server) setChatMenuButton(q *request) (any, *apiError) {
	var b struct {
		Type string `json:"type"`
	}
	ok, wrong := q.decode("menu_button", &b)
	switch {
	case wrong != nil:
		return nil, badRequest("Can't parse menu button JSON object")
	case ok && b.Type != "default" && b.Type != "commands" && b.Type != "web_app":
		return nil, badRequest("MenuButton has unsupported type")
	}
	s.menu.button = json.RawMessage(cmp.Or(q.text("menu_button"), `{"type":"default"}`))
	return true, nil
}

func (s *Server) getChatMenuButton(*request) (any, *apiError) {
	if s.menu.button == nil {
		return map[string]string{"type": "commands"}, nil
	}
	return s.menu.button, nil
}

// commandsFor returns the menu that a person sees: the narrowest scope wins, then the person's language.
func (s *Server) commandsFor(c *chat, u User) []Command {
	scopes := []string{"all_private_chats", "default"}
	if c.Type != "private" {
		scopes = []string{fmt.Sprintf("chat_member %d %d", c.ID, u.ID)}
		if isAdmin(c.members[u.ID]) {
			scopes = append(scopes, fmt.Sprintf("chat_administrators %d 0", c.ID), fmt.Sprintf("chat %d 0", c.ID), "all_chat_administrators")
		}
		scopes = append(scopes, "all_group_chats", "default")
	}
	scopes = append([]string{fmt.Sprintf("chat %d 0", c.ID)}, scopes...)
	for _, scope := range scopes {
		for _, language := range []string{u.Language, ""} {
			if commands := s.menu.commands[menuKey{scope, language}]; commands != nil {
				return commands
			}
		}
	}
	return nil
}
