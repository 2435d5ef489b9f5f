package store

// buckets lists every bucket with its key and its owner. Open makes those that are missing.
//
//	bucket       key                      record                                owner
//	meta         name                     schema version                        store
var buckets = []string{
	metaBucket,
}
