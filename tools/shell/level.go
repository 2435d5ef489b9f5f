package shell

import "fmt"

// Level tells how surely the processes of a command are found when it ends.
type Level int

const (
	// LevelGroup kills the command's process group; a process that left it with setsid survives.
	LevelGroup Level = iota
	// LevelSubreaper has orphans come back to the shim, which hunts them down. Processes can leave no
	// other way than by killing the shim, which they may, having its user, unless Landlock keeps them from it.
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

// isolation is a level and the way to get there, with the walls that stand around the command. Every isolation with a
// wall also has the list of refused system calls, no capabilities and the limits.
type isolation struct {
	level Level
	// userNS makes a user namespace around the PID namespace, which is what an ordinary user needs for
	// making one. Without it, as root, users other than root keep their meaning in the command.
	userNS bool
	walls  walls
}

// walls are what keeps a command from files. The zero value keeps it from none.
type walls struct {
	// Mounts gives the command a view of its own of the file system, and of the network where it may have none. It
	// takes LevelNamespace.
	Mounts bool
	// Landlock has the kernel refuse what the command opens.
	Landlock bool
}

func (w walls) none() bool { return w == walls{} }

func (i isolation) strength() Strength {
	switch {
	case i.walls.none():
		return None
	case i.walls.Mounts && i.walls.Landlock:
		return Full
	}
	return Partial
}

// String names the isolation for people and tests.
func (i isolation) String() string {
	name := i.level.String()
	if i.userNS {
		name += " in user namespace"
	}
	if i.walls.Mounts {
		name += " with mounts"
	}
	if i.walls.Landlock {
		name += " with Landlock"
	}
	return name
}
