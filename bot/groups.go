package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// linkLife is how long a link into a group lets somebody in.
const linkLife = 24 * time.Hour

// groupRecord is a group that the bot was seen in.
type groupRecord struct {
	ID    store.ChatID `json:"id"`
	Title string       `json:"title"`
}

// joinRecord is a link that nod answers requests for.
type joinRecord struct {
	URL     string       `json:"url"`
	Group   store.ChatID `json:"group"`
	Person  store.UserID `json:"person"`
	Expires time.Time    `json:"expires"`
}

var (
	groupRecords = store.NewTable[store.ChatID, groupRecord]("groups", store.ParseChatID)
	joinRecords  = store.NewTable[store.Text, joinRecord]("join_links", store.ParseText[store.Text])
)

// Groups is what nod knows of groups and how people come into them. It implements tools.GroupPort.
type Groups struct {
	DB     *store.DB
	Out    *outbox.Outbox
	Client *tg.Bot
	Access Access
	Zone   *time.Location
	Log    *slog.Logger
}

// Groups are all known groups, for an owner; a guest has none.
func (g *Groups) Groups(tx *store.Tx, by store.UserID) (groups []tools.GroupInfo, err error) {
	p, err := g.Access.Person(tx, by)
	if err != nil || p.Role != Owner {
		return nil, err
	}
	err = groupRecords.Scan(tx, nil, func(id store.ChatID, r groupRecord) (bool, error) {
		groups = append(groups, tools.GroupInfo{ID: id, Title: r.Title})
		return true, nil
	})
	slices.SortFunc(groups, func(a, b tools.GroupInfo) int { return strings.Compare(a.Title, b.Title) })
	return groups, err
}

// People are owners and guests who have written to the bot in private, for an owner.
func (g *Groups) People(tx *store.Tx, by store.UserID) (found []tools.PersonInfo, err error) {
	p, err := g.Access.Person(tx, by)
	if err != nil || p.Role != Owner {
		return nil, err
	}
	err = people.Scan(tx, nil, func(id store.UserID, p Person) (bool, error) {
		if (p.Role == Owner || p.Role == Guest) && p.Private != 0 && p.Name != "" {
			found = append(found, tools.PersonInfo{ID: id, Name: p.Name})
		}
		return true, nil
	})
	slices.SortFunc(found, func(a, b tools.PersonInfo) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// IsMember asks Telegram.
func (g *Groups) IsMember(ctx context.Context, group store.ChatID, person store.UserID) (bool, error) {
	m, err := g.Client.GetChatMember(ctx, &tg.GetChatMemberParams{ChatID: int64(group), UserID: int64(person)})
	if err != nil {
		return false, outbox.Plain(err)
	}
	switch m.Type {
	case models.ChatMemberTypeLeft, models.ChatMemberTypeBanned:
		return false, nil
	case models.ChatMemberTypeRestricted:
		return m.Restricted != nil && m.Restricted.IsMember, nil
	}
	return true, nil
}

// Link makes a link as the group lets people in: with a request to join that nod answers, or one that works once.
func (g *Groups) Link(ctx context.Context, group store.ChatID, person store.UserID) (link tools.JoinLink, err error) {
	chat, err := g.Client.GetChat(ctx, &tg.GetChatParams{ChatID: int64(group)})
	if err != nil {
		return link, outbox.Plain(err)
	}
	link = tools.JoinLink{Group: group, Person: person, ByRequest: chat.JoinByRequest, Expires: time.Now().Add(linkLife).In(g.Zone)}
	params := &tg.CreateChatInviteLinkParams{ChatID: int64(group), Name: "nod", ExpireDate: int(link.Expires.Unix()), CreatesJoinRequest: chat.JoinByRequest}
	if !chat.JoinByRequest {
		params.MemberLimit = 1
	}
	made, err := g.Client.CreateChatInviteLink(ctx, params)
	if err != nil {
		return link, fmt.Errorf("%w; an administrator who may invite people is needed", outbox.Plain(err))
	}
	link.URL = made.InviteLink
	return link, nil
}

// Send puts the link in the outbox, and remembers whom it is for.
func (g *Groups) Send(tx *store.Tx, link tools.JoinLink) error {
	p, err := g.Access.Person(tx, link.Person)
	if err != nil {
		return err
	}
	group, _, err := groupRecords.Get(tx, link.Group)
	if err != nil {
		return err
	}
	if link.ByRequest {
		record := joinRecord{URL: link.URL, Group: link.Group, Person: link.Person, Expires: link.Expires}
		if err := errors.Join(sweepLinks(tx), joinRecords.Put(tx, store.Text(link.URL), record)); err != nil {
			return err
		}
	}
	part := render.Preview(invitationText(group.Title, link))
	return g.Out.Put(tx, outbox.Item{To: store.Address{Chat: p.Private}, HTML: part.HTML, Plain: part.Plain})
}

// sweepLinks forgets links that let nobody in any more.
func sweepLinks(tx *store.Tx) error {
	return joinRecords.DeleteFunc(tx, nil, func(_ store.Text, r joinRecord) bool { return time.Now().After(r.Expires) })
}

// answerRequest answers a request to join that came by a link of ours: the person whom it is for is let in, anybody else turned
// away. Other requests are for the group's administrators. To answer twice after a crash does no harm.
func (g *Groups) answerRequest(ctx context.Context, r *models.ChatJoinRequest, done func(*store.Tx) error) error {
	if r.InviteLink == nil {
		return g.DB.Update(done)
	}
	var record joinRecord
	var ours bool
	var by Person
	err := g.DB.View(func(tx *store.Tx) (err error) {
		if record, ours, err = joinRecords.Get(tx, store.Text(r.InviteLink.InviteLink)); err != nil {
			return err
		}
		by, err = g.Access.Person(tx, store.UserID(r.From.ID))
		return err
	})
	if err != nil {
		return fmt.Errorf("reading whom a link is for: %w", err)
	}
	if !ours || record.Group != store.ChatID(r.Chat.ID) {
		return g.DB.Update(done)
	}
	known := by.Role == Owner || by.Role == Guest // an owner may have shut the door since
	meant := known && record.Person == by.ID && time.Now().Before(record.Expires)
	if meant {
		_, err = g.Client.ApproveChatJoinRequest(ctx, &tg.ApproveChatJoinRequestParams{ChatID: r.Chat.ID, UserID: r.From.ID})
	} else {
		_, err = g.Client.DeclineChatJoinRequest(ctx, &tg.DeclineChatJoinRequestParams{ChatID: r.Chat.ID, UserID: r.From.ID})
	}
	if outbox.Passing(err) {
		return outbox.Plain(err) // the inbox hands it over once more
	}
	if err != nil {
		g.Log.Warn("answering a request to join", "chat", r.Chat.ID, "err", outbox.Plain(err))
	}
	return g.DB.Update(func(tx *store.Tx) error {
		if meant && err == nil {
			if err := joinRecords.Delete(tx, store.Text(record.URL)); err != nil {
				return err
			}
		}
		return done(tx)
	})
}

// knows says whether a group is known by its present title.
func (g *Groups) knows(tx *store.Tx, chat models.Chat) (bool, error) {
	known, ok, err := groupRecords.Get(tx, store.ChatID(chat.ID))
	return ok && known.Title == chat.Title, err
}

// note remembers a group in which an owner has written, or to which one has added the bot.
func (g *Groups) note(tx *store.Tx, chat models.Chat) error {
	return groupRecords.Put(tx, store.ChatID(chat.ID), groupRecord{ID: store.ChatID(chat.ID), Title: chat.Title})
}

// memberChanged notes a group to which an owner has added the bot, and forgets one that it was taken out of.
func (g *Groups) memberChanged(tx *store.Tx, m *models.ChatMemberUpdated) error {
	if m.Chat.Type == models.ChatTypePrivate {
		return nil
	}
	if t := m.NewChatMember.Type; t == models.ChatMemberTypeLeft || t == models.ChatMemberTypeBanned {
		return groupRecords.Delete(tx, store.ChatID(m.Chat.ID))
	}
	by, err := g.Access.Person(tx, store.UserID(m.From.ID))
	if err != nil || by.Role != Owner {
		return err
	}
	return g.note(tx, m.Chat)
}

// MigrateGroups rewrites what is filed under a group that became a supergroup.
func MigrateGroups(tx *store.Tx, from, to store.ChatID) error {
	r, ok, err := groupRecords.Get(tx, from)
	if err != nil || !ok {
		return err
	}
	r.ID = to
	return errors.Join(groupRecords.Delete(tx, from), groupRecords.Put(tx, to, r))
}
