package chat

import (
	"errors"

	"nod/store"
)

// Forget drops what is kept of a session that is gone.
func Forget(tx *store.Tx, session store.SessionID) error {
	return errors.Join(scratchpads.Delete(tx, session), activeGroups.Delete(tx, session))
}
