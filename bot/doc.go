// Package bot is the people's side of the house: who may talk to nod, what they see, and what they press.
//
// It owns people and their roles (Access), what an update means (Router, Intake), what is shown of turns, cards and jobs
// (View), every text for people (text.go), and what tools do in chats through ports (Files, Messages, Groups). It leaves to
// inbox that each update comes once and in order, to outbox that each message arrives, to keyboard what buttons carry, to
// render how Markdown becomes Telegram's HTML, to package agent what a turn does, and to approvals what may happen.
//
// Promises. An update takes effect in the commit that marks it as handled, and no update waits for a turn. What is shown and
// stays is in the outbox within the commit that makes it true; only what passes (previews, typing, reactions) is kept in
// memory. A press counts for whoever pressed, and only where that person may decide. Who is no owner or guest reaches no model.
package bot
