// Command least is the yardstick of TestFigures: the least program that answers. It polls, asks the model for one
// streamed completion and sends the text, with the same two libraries as nod; it remembers nothing and writes nothing
// to disk.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	openai "github.com/sashabaranov/go-openai"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	config.BaseURL = os.Getenv("OPENAI_BASE_URL")
	model := openai.NewClientWithConfig(config)
	bot, err := tg.New(os.Getenv("TELEGRAM_BOT_TOKEN"), tg.WithServerURL(os.Getenv("NOD_TELEGRAM_API")),
		tg.WithDefaultHandler(func(ctx context.Context, b *tg.Bot, u *models.Update) {
			if u.Message == nil {
				return
			}
			text, err := complete(ctx, model, u.Message.Text)
			if err == nil {
				_, err = b.SendMessage(ctx, &tg.SendMessageParams{ChatID: u.Message.Chat.ID, Text: text})
			}
			if err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "answering:", err)
			}
		}))
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting:", err)
		os.Exit(1)
	}
	bot.Start(ctx)
}

// complete streams one answer.
func complete(ctx context.Context, model *openai.Client, text string) (string, error) {
	stream, err := model.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model: os.Getenv("NOD_MODEL"), Stream: true,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}},
	})
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var answer strings.Builder
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answer.String(), nil
		}
		if err != nil {
			return "", err
		}
		for _, c := range chunk.Choices {
			answer.WriteString(c.Delta.Content)
		}
	}
}
