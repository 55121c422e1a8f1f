// Package table names the DynamoDB tables, keys and attributes. The store that
// reads and writes them and the stack that creates them both take the names
// from here, so that they cannot drift apart. It imports nothing.
//
// All tables have one shape: a binary partition key and a binary sort key, an
// opaque value, a revision, counters, and an optional expiry. The ledger alone
// has a secondary index; it is sparse, so a record without index attributes
// costs nothing there.
package table

// DefaultPrefix is put before each table's plain name where a deployment does
// not choose its own.
const DefaultPrefix = "holdfast-"

// Plain names of the tables, without prefix.
const (
	Affinity = "affinity"
	State    = "state"
	Config   = "config"
	Ledger   = "ledger"
)

// Attributes of every item. Their names are stored with every item and count
// towards its billed size, so they are short.
const (
	PartitionKey  = "pk"  // B, hash key: keys are opaque bytes, ordered bytewise
	SortKey       = "sk"  // B, range key
	Revision      = "r"   // S, random, marks one write
	Previous      = "p"   // S, the live revision that this write replaced; absent where there was none
	Value         = "v"   // B, absent where the value is empty
	Expiry        = "exp" // N, whole seconds since 1970; absent: kept for ever. The TTL attribute
	CounterPrefix = "c:"  // N, followed by the counter's name
)

// The secondary index, projecting whole items.
const (
	Index          = "by-index"
	IndexPartition = "ip" // B, hash key of the index
	IndexSort      = "is" // B, range key of the index
)

// Table describes one table.
type Table struct {
	Name    string // plain name
	Trust   string // one sentence: what may be relied upon
	TTL     bool   // items are removed by DynamoDB some time after Expiry
	Durable bool   // point-in-time recovery and deletion protection
	Indexed bool   // has the secondary index
}

// All returns the tables in a fixed order.
func All() []Table {
	return []Table{
		{
			Name: Affinity, TTL: true,
			Trust: "Losing it costs warm prompt caches and open rate windows, never an answer: what is read here is a wish, checked again on each request.",
		},
		{
			Name: State, TTL: true, Durable: true,
			Trust: "Binding for as long as retention says: who created a response or task is taken from here and from nowhere else.",
		},
		{
			Name: Config, Durable: true,
			Trust: "The gateway only reads it; whoever can write it decides who may call and where requests go.",
		},
		{
			Name: Ledger, TTL: true, Durable: true, Indexed: true,
			Trust: "Append-only by the code that writes it, and the source of every sum of money shown.",
		},
	}
}
