package shell

import "fmt"

// Level tells how surely the processes of a command are found when it ends.
type Level int

const (
	// LevelGroup kills the command's process group; a process that left it with setsid survives.
	LevelGroup Level = iota
	// LevelSubreaper has orphans come back to the shim, which hunts them down. Processes can leave no
	// other way than by killing the shim, which they may, having its user.
	LevelSubreaper
	// LevelNamespace makes the shim the first process of a PID namespace: when it ends the kernel
	// kills all others, and none of them can signal it.
	LevelNamespace
)

// String is the name for people, as in "subreaper".
func (l Level) String() string {
	switch l {
	case LevelGroup:
		return "process group"
	case LevelSubreaper:
		return "subreaper"
	case LevelNamespace:
		return "pid namespace"
	default:
		return fmt.Sprintf("level %d", int(l))
	}
}

// isolation is a level and the way to get there.
type isolation struct {
	level Level
	// userNS makes a user namespace around the PID namespace, which is what an ordinary user needs for
	// making one. Without it, as root, users other than root keep their meaning in the command.
	userNS bool
}
