package outbox

import (
	"context"
	"fmt"
	"os"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/store"
)

// maxAlbum is how many photos one album holds (Bot API, sendMediaGroup).
const maxAlbum = 10

// album sends photos as one message to look at, each of which counts as one to Telegram's limits.
func (l *lane) album(ctx context.Context, it *Item, f fix) (store.MessageID, verdict) {
	for range it.Photos[1:] {
		l.pace.take(time.Now())
	}
	var kept []*os.File
	defer func() {
		for _, k := range kept {
			k.Close()
		}
	}()
	var media []models.InputMedia
	for i, photo := range it.Photos {
		file, err := l.o.folder().Open(photo.Handle)
		if err != nil {
			return 0, verdict{class: refused, err: fmt.Errorf("opening a file to send: %w", err)}
		}
		kept = append(kept, file)
		caption, mode := "", models.ParseMode("")
		if i == 0 {
			caption, mode = captionOf(it, f)
		}
		media = append(media, mediaOf(file, fmt.Sprintf("%d-%s", i, photo.Name), caption, mode, f.asDocument))
	}
	messages, err := l.o.client.SendMediaGroup(ctx, &tg.SendMediaGroupParams{
		ChatID: int64(it.To.Chat), MessageThreadID: threadOf(it, f), Media: media, DisableNotification: it.Silent, ReplyParameters: reply(it, f),
	})
	if err != nil {
		return 0, classify(err)
	}
	if len(messages) == 0 {
		return 0, verdict{}
	}
	return store.MessageID(messages[0].ID), verdict{}
}

func mediaOf(file *os.File, name, caption string, mode models.ParseMode, asDocument bool) models.InputMedia {
	if asDocument {
		return &models.InputMediaDocument{Media: "attach://" + name, MediaAttachment: file, Caption: caption, ParseMode: mode}
	}
	return &models.InputMediaPhoto{Media: "attach://" + name, MediaAttachment: file, Caption: caption, ParseMode: mode}
}

// captionOf is the item's text as it stands under a file.
func captionOf(it *Item, f fix) (caption string, mode models.ParseMode) {
	if f.clipped {
		return clip(it.Plain, maxCaption), ""
	}
	return form(it, f)
}
