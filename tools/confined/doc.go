// Package confined runs work on hostile input in a child process of this very program: a parser that breaks down, hangs or
// is taken over costs one call, never the bot.
//
// It owns the child's limits: time, memory, one processor's worth of work side by side, no files, no network, no further
// processes. It leaves to others what the work is: a function from bytes to bytes, known by its name to parent and child.
package confined
