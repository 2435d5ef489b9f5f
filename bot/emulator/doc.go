// Package emulator is Telegram's side of the conversation: a strict Bot API server, the people who talk to the bot, and a
// web page on which a person can be one of them. The conversation tests of nod and `nod demo` use it; it imports nothing of
// nod, and its HTML parser shares no code with nod's renderer.
//
// A test drives a real Bot API client against it, without sockets:
//
//	tg := emulator.New(emulator.Options{})
//	client := &http.Client{Transport: emulator.Transport(tg)}
//	b, err := bot.New(emulator.Token, bot.WithHTTPClient(30*time.Second, client), …)   // go-telegram/bot
//	go b.Start(ctx)
//
//	ann := tg.Private(emulator.User{ID: 101, FirstName: "Ann"})
//	ann.SendText("/start")
//	if _, err := ann.WaitText(ctx, "What can I do"); err != nil { t.Fatal(err) }   // the error shows the transcript
//	press, err := ann.Press("✅ Approve")
//	answer, err := press.Answer(ctx)
//	tg.Inject("sendMessage", 1, emulator.RetryAfter(33))
//	ann.SendDocument(emulator.Upload{Name: "a.txt", Data: []byte("…")}, emulator.Caption("look"))
//	team := tg.NewGroup(emulator.GroupOptions{Title: "Team", Forum: true}, ann.User())
//	team.Person(ann.User()).In(team.NewTopic(ann.User(), "Builds")).SendText("hi")
//	fmt.Println(ann.Transcript(), tg.Calls("sendMessage"))
//
// What it promises. Refusals carry Telegram's own words, as TDLib and the Bot API server have them; a refused call changes nothing. Message
// ids start at 1 and update ids at 500000001, so that runs repeat. What a person does is done when the method returns; its
// update waits for getUpdates. Waiting methods look at the present state first, then at each change, and end with ctx.
// All methods may be called at the same time. Under testing/synctest, create the Server inside the bubble: it waits on
// channels and timers only.
//
// What it leaves out. Webhooks are remembered but not delivered, addresses are not fetched, rich messages are checked for size only, and a photo's sizes all hold the same bytes. Where Telegram publishes no number
// (flood limits, how long a press can be answered, the size of a keyboard), the constant's comment says that ours is an estimate.
package emulator
