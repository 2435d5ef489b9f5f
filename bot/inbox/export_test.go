package inbox

import (
	"time"

	"nod/store"
)

// Age makes what was received seem older.
func Age(tx *store.Tx, by time.Duration) error {
	bots := map[store.UserID]last{}
	err := seen.Scan(tx, nil, func(bot store.UserID, l last) (bool, error) { bots[bot] = l; return true, nil })
	for bot, l := range bots {
		if err == nil {
			err = seen.Put(tx, bot, last{ID: l.ID, At: l.At.Add(-by), Poll: l.Poll.Add(-by)})
		}
	}
	return err
}
