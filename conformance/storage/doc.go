// Package storage is the storage contract of package sdk, executable: a table
// of clauses for ledger stores and one for metadata stores. Each clause has an
// id, the sentence that it checks, and the check.
//
// A store's own tests call [Run]:
//
//	func TestContract(t *testing.T) {
//		storage.Run(t, storage.Harness{Open: func(dir string) (storage.Store, error) {
//			s, err := mystore.Open(dir)
//			return storage.Store{Plugin: s, Ledgers: s}, err
//		}})
//	}
//
// [Clauses] and [Harness.Check] are the parts that Run is made of, for another
// door to the same table. A check sees the store through a [Probe] only.
package storage
