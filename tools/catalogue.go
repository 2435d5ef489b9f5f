package tools

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind is whose words a tool is in.
type Kind string

const (
	System   Kind = "system"   // files, commands, agents and nod itself
	Business Kind = "business" // what a person wants done in a chat
	Atomic   Kind = "atomic"   // single acts of Telegram
)

// Profile says which kinds of tools there are (`tools.profile` in nod.yaml). It is chosen at the start.
type Profile string

const (
	BusinessProfile Profile = "business" // system and business: the default
	AtomicProfile   Profile = "atomic"   // system and atomic
	HybridProfile   Profile = "hybrid"   // all
	DisabledProfile Profile = "disabled" // none: plain chat, without a word about tools
)

// Profiles are all profiles.
var Profiles = []Profile{BusinessProfile, AtomicProfile, HybridProfile, DisabledProfile}

// holds says which kinds a profile may have.
var holds = map[Profile][]Kind{
	BusinessProfile: {System, Business},
	AtomicProfile:   {System, Atomic},
	HybridProfile:   {System, Business, Atomic},
	DisabledProfile: {},
}

// Phase says what a tool depends on beside the program itself.
type Phase string

const (
	Core Phase = "core" // nothing
	// Attachments is a port that is mounted for a conversation: where it is not, or is taken away, the tool is withdrawn
	// from the next round on, together with its guidance, until it is there again.
	Attachments Phase = "attachments"
)

// ExplicitUserWrite is the grant that every write needs: a nod, or a rule that an owner gave and a turn that an owner's
// own words began.
const ExplicitUserWrite = "explicit-user-write"

// Entry is the catalogue's record of one tool.
type Entry struct {
	ID       string // internal and versioned: system.fs.read-file.v1
	Tool     string // what a model calls it
	Kind     Kind
	Phase    Phase
	Effect   Effect
	Grant    string // ExplicitUserWrite for a write, else ""
	Profiles []Profile
	Category Category
}

var (
	withSystem   = []Profile{BusinessProfile, AtomicProfile, HybridProfile}
	withBusiness = []Profile{BusinessProfile, HybridProfile}
	withAtomic   = []Profile{AtomicProfile, HybridProfile}
)

func reads(id, tool string, category Category) Entry {
	e := Entry{ID: id, Tool: tool, Phase: Core, Effect: Read, Category: category}
	switch kind, _, _ := strings.Cut(id, "."); kind {
	case "system":
		e.Kind, e.Profiles = System, withSystem
	case "business":
		e.Kind, e.Profiles = Business, withBusiness
	case "atomic":
		e.Kind, e.Profiles = Atomic, withAtomic
	}
	return e
}

func writes(id, tool string, category Category) Entry {
	e := reads(id, tool, category)
	e.Effect, e.Grant = Write, ExplicitUserWrite
	return e
}

func (e Entry) attached() Entry {
	e.Phase = Attachments
	return e
}

// Catalogue lists every built-in tool, in the order in which a reader looks for them.
var Catalogue = []Entry{
	reads("system.fs.list-files.v1", ListFiles, Filesystem),
	reads("system.fs.read-file.v1", ReadFile, Filesystem),
	reads("system.fs.search-file.v1", SearchFile, Filesystem),
	reads("system.fs.grep-files.v1", GrepFiles, Filesystem),
	reads("system.fs.get-ast-outline.v1", GetASTOutline, Filesystem),
	writes("system.fs.write-file.v1", WriteFile, Filesystem),
	writes("system.fs.edit-file.v1", EditFile, Filesystem),
	writes("system.fs.insert-at-line.v1", InsertAtLine, Filesystem),
	writes("system.fs.replace-lines.v1", ReplaceLines, Filesystem),

	writes("system.shell.execute-cmd.v1", ExecuteCmd, Shell),
	writes("system.shell.restart.v1", Restart, Shell),

	writes("system.tasks.execute-task.v1", ExecuteTask, Config),
	reads("system.tasks.execute-subtask.v1", ExecuteSubtask, Subagent),
	reads("system.tasks.read-agent-result.v1", ReadAgentResult, Introspection),

	reads("system.session.ask-user-clarification.v1", AskUserClarification, Plumbing),
	reads("system.session.write-todos.v1", WriteTodos, Plumbing),
	reads("system.session.update-scratchpad.v1", UpdateScratchpad, Plumbing),
	reads("system.session.activate-tools.v1", ActivateTools, Plumbing),
	reads("system.session.notify.v1", Notify, Plumbing),
	reads("system.session.read-notification.v1", ReadNotification, Introspection),

	reads("system.config.list-items.v1", ListItems, Introspection),
	writes("system.config.toggle-item.v1", ToggleItem, Config),
	writes("system.config.delete-cron-job.v1", DeleteCronJob, Config),
	writes("system.config.register-mcp.v1", RegisterMCP, Config),
	writes("system.config.delete-mcp.v1", DeleteMCP, Config),
	writes("system.config.configure-plugin.v1", ConfigurePlugin, Config),
	writes("system.config.set-secret.v1", SetSecret, Config),
	reads("system.config.list-secrets.v1", ListSecrets, Config),

	writes("business.chat.send-attachment.v1", SendAttachment, Chat).attached(),
	writes("business.chat.send-voice-message.v1", SendVoiceMessage, Chat).attached(),
	writes("business.images.image-generate.v1", ImageGenerate, Config).attached(),
	reads("business.images.image-generate-providers-list.v1", ImageGenerateProvidersList, Introspection),

	reads("business.gallery.gallery-list.v1", GalleryList, Chat),
	writes("business.gallery.gallery-add.v1", GalleryAdd, Chat),
	writes("business.gallery.gallery-delete.v1", GalleryDelete, Chat),
	writes("business.gallery.gallery-reorder.v1", GalleryReorder, Chat),
	writes("business.gallery.gallery-send.v1", GallerySend, Chat).attached(),

	reads("business.groups.group-list.v1", GroupList, Chat),
	reads("business.groups.group-member-candidates.v1", GroupMemberCandidates, Chat),
	writes("business.groups.group-member-add.v1", GroupMemberAdd, Chat),

	writes("atomic.telegram.send-message.v1", TelegramSendMessage, Chat),
	writes("atomic.telegram.react.v1", TelegramReact, Chat),
	writes("atomic.telegram.pin.v1", TelegramPin, Chat),
	writes("atomic.telegram.send-poll.v1", TelegramSendPoll, Chat),
	writes("atomic.telegram.send-location.v1", TelegramSendLocation, Chat),
	writes("atomic.telegram.create-topic.v1", TelegramCreateTopic, Chat),
}

// EntryOf finds the catalogue's record of a tool. Tools of MCP servers have none.
func EntryOf(tool string) (Entry, bool) {
	i := slices.IndexFunc(Catalogue, func(e Entry) bool { return e.Tool == tool })
	if i < 0 {
		return Entry{}, false
	}
	return Catalogue[i], true
}

// Named are the catalogue's tools that a text names. A name that is also a plain word, such as restart, counts only where a
// bracket or a backtick marks it.
func Named(text string) (found []Entry) {
	for _, e := range Catalogue {
		for at := 0; ; {
			i := strings.Index(text[at:], e.Tool)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(e.Tool)
			if namesAt(text, start, end) {
				found = append(found, e)
				break
			}
			at = end
		}
	}
	return found
}

// namesAt says whether a name stands by itself at a place of a text.
func namesAt(text string, start, end int) bool {
	inWord := func(c byte) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if start > 0 && inWord(text[start-1]) || end < len(text) && inWord(text[end]) {
		return false
	}
	marked := start > 0 && text[start-1] == '`' || end < len(text) && text[end] == '('
	return marked || strings.ContainsRune(text[start:end], '_')
}

// In says whether the entry belongs to a profile.
func (e Entry) In(p Profile) bool { return slices.Contains(e.Profiles, p) }

var idForm = regexp.MustCompile(`^(system|business|atomic)(\.[a-z0-9-]+)+\.v[1-9][0-9]*$`)

// check finds what is wrong with an entry by itself.
func (e Entry) check() error {
	switch {
	case !idForm.MatchString(e.ID):
		return fmt.Errorf("the id %q must match %s", e.ID, idForm)
	case !strings.HasPrefix(e.ID, string(e.Kind)+"."):
		return fmt.Errorf("the id %q does not begin with its kind, %s", e.ID, e.Kind)
	case !nameForm.MatchString(e.Tool):
		return fmt.Errorf("the name %q must match %s", e.Tool, nameForm)
	case e.Phase != Core && e.Phase != Attachments:
		return fmt.Errorf("the phase %q is neither core nor attachments", e.Phase)
	case e.Effect == Write && e.Grant != ExplicitUserWrite:
		return errors.New("a write needs the grant " + ExplicitUserWrite)
	case e.Effect == Read && e.Grant != "":
		return errors.New("a read needs no grant")
	case e.Effect != Read && e.Effect != Write:
		return fmt.Errorf("the effect %q is neither read nor write", e.Effect)
	case len(e.Profiles) == 0:
		return errors.New("it is in no profile, so nobody could see it")
	case e.Category == "":
		return errors.New("it has no category")
	}
	for _, p := range e.Profiles {
		if !slices.Contains(holds[p], e.Kind) {
			return fmt.Errorf("the profile %q holds no tools of the kind %s", p, e.Kind)
		}
	}
	return nil
}

// checkEntries finds what is wrong with a catalogue, all of it.
func checkEntries(entries []Entry) error {
	var problems []error
	ids, names := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if err := e.check(); err != nil {
			problems = append(problems, fmt.Errorf("catalogue entry %s: %w", e.Tool, err))
		}
		if ids[e.ID] {
			problems = append(problems, fmt.Errorf("two catalogue entries have the id %q", e.ID))
		}
		if names[e.Tool] {
			problems = append(problems, fmt.Errorf("two catalogue entries are named %q", e.Tool))
		}
		ids[e.ID], names[e.Tool] = true, true
	}
	return errors.Join(problems...)
}

// fits says whether a definition of that name is what its entry says.
func (e Entry) fits(t Tool) error {
	traits := t.Traits()
	switch {
	case traits.Effect != e.Effect:
		return fmt.Errorf("%s: the catalogue says %s, its definition %s", e.Tool, e.Effect, traits.Effect)
	case traits.Category != e.Category:
		return fmt.Errorf("%s: the catalogue says category %s, its definition %s", e.Tool, e.Category, traits.Category)
	case traits.Needs.mounted() != (e.Phase == Attachments):
		return fmt.Errorf("%s: its phase is %s, but it needs the port %q", e.Tool, e.Phase, traits.Needs)
	case traits.SubAgentsOnly && traits.RootOnly, traits.Interactive && traits.Background:
		return fmt.Errorf("%s: two of its traits exclude each other, so nobody could see it", e.Tool)
	}
	return nil
}

// speaks refuses a description that names a tool which a profile of this one does not have, or which may be withdrawn while
// this one is offered.
func (e Entry) speaks(description string) error {
	for _, other := range Named(description) {
		for _, p := range e.Profiles {
			if !other.In(p) {
				return fmt.Errorf("the description of %s names %s, which the profile %s does not have", e.Tool, other.Tool, p)
			}
		}
		if other.Phase == Attachments && e.Phase == Core {
			return fmt.Errorf("the description of %s names %s, which can be withdrawn", e.Tool, other.Tool)
		}
	}
	return nil
}
