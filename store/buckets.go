package store

// buckets lists every bucket with its key and its owner. Open makes those that are missing.
//
//	bucket       key                      record                                owner
//	meta         name                     schema version                        store
//	approvals        approval id           request to a person                 approvals
//	approvals_live   approval id           expiry of a request not yet over    approvals
//	approvals_calls  call id               the call's newest request           approvals
//	rules            rule id               rule                                approvals
//	rule_seeds       rule id               when a default was put down         approvals
//	bypasses         session NUL grant id  bypass with its uses                approvals
var buckets = []string{
	metaBucket,
	"approvals", "approvals_live", "approvals_calls", "rules", "rule_seeds", "bypasses",
}
