// Package shop is an example.
package shop

import "fmt"

// Limit is how many items fit.
const Limit = 20

const (
	first = iota
	second
)

var cache map[string]int

// Cart holds items.
type Cart struct {
	items map[string]int
}

type Store interface {
	Get(key string) (int, bool)
	fmt.Stringer
}

type (
	ID    string
	Price = float64
)

// Total adds up.
func (c *Cart) Total() int {
	text := `
func inAString() {}
`
	return len(text)
}

func Map[T, U any](
	list []T,
	f func(T) U,
) []U {
	return nil
}
