package scheduler

import (
	"fmt"

	"nod/store"
)

// Migrate rewrites where jobs report, when a group became a supergroup.
func Migrate(tx *store.Tx, from, to store.ChatID) error {
	jobs, err := jobTable.All(tx, nil)
	for _, job := range jobs {
		if err == nil && job.Home.Chat == from {
			job.Home.Chat = to
			err = jobTable.Put(tx, job.ID, job)
		}
	}
	if err != nil {
		return fmt.Errorf("moving the jobs of chat %d: %w", from, err)
	}
	return nil
}
