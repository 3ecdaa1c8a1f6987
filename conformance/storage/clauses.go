package storage

// Kind is what a clause is about.
type Kind string

// The kinds of clauses.
const (
	OfPlugin   Kind = "plugin"
	OfLedgers  Kind = "ledgers"
	OfMetadata Kind = "metadata"
)

// Clause is one sentence of the contract.
type Clause struct {
	// ID is the clause's name: the method, then what is said of it.
	ID string
	// Kind says which stores the clause concerns.
	Kind Kind
	// Sentence is what the contract says.
	Sentence string
	// Check notes on the probe what breaks the sentence. It makes what it
	// needs and touches nothing else in the store.
	Check func(*Probe)
}

func (c Clause) concerns(offered Store) bool {
	switch c.Kind {
	case OfLedgers:
		return offered.Ledgers != nil
	case OfMetadata:
		return offered.Metadata != nil
	default:
		return true
	}
}

// Clauses returns the whole table, in the order of the contract.
func Clauses() []Clause {
	var all []Clause
	for _, part := range [][]Clause{
		pluginClauses(),
		createClauses(), appendClauses(), refusalClauses(), sealClauses(),
		openClauses(), fencingClauses(), deleteClauses(), readClauses(), handleClauses(),
		metadataClauses(), casClauses(), watchClauses(),
	} {
		all = append(all, part...)
	}
	return all
}
