package affinity

import (
	"crypto/sha256"
	"encoding/hex"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Kind names a sort of account-bound thing. Ids of different kinds never meet.
type Kind string

// The kinds in use.
const (
	Response     Kind = "response"     // a response id, published with its history
	Item         Kind = "item"         // an output item that an item_reference may name
	Conversation Kind = "conversation" // a conversation object of a provider
	File         Kind = "file"
	Container    Kind = "container"
	Batch        Kind = "batch"
	Video        Kind = "video"
	Ciphertext   Kind = "ciphertext" // the session whose reasoning or compaction ciphertext is bound
	TurnState    Kind = "turn_state" // a client-held turn state token
	Background   Kind = "background" // a response as a task: one that goes on without its client and is billed at its end
)

// Hash tuples begin with their purpose, so that those of different purposes
// never meet; their parts are length-prefixed, so that ("a|b", "c") and
// ("a", "b|c") never meet either.

// Sort keys inside a partition.
const (
	preferenceSort = "preference/"
	ownerSort      = "owner"
	factsSort      = "facts"
	finishSort     = "finish"
)

// partition is "<owner>/<hash>": the owner's short hash lets a bounded store
// share its room fairly between owners.
func partition(scope identity.Scope, hash [sha256.Size]byte) string {
	owner := identity.Hash("scope", scope.String())
	b := make([]byte, 0, 16+1+2*sha256.Size)
	b = hex.AppendEncode(b, owner[:8])
	b = append(b, '/')
	return string(hex.AppendEncode(b, hash[:]))
}

// sessionPartition holds all preferences of one session, lanes, models and
// endpoints side by side, so that they can be listed without an index.
func sessionPartition(scope identity.Scope, session string) string {
	return partition(scope, identity.Hash("session", scope.String(), session))
}

func preferenceKey(scope identity.Scope, session identity.Session, model, endpoint string) store.Key {
	narrow := identity.Hash("range", session.Lane, model, endpoint)
	b := make([]byte, 0, len(preferenceSort)+2*len(narrow))
	b = append(b, preferenceSort...)
	return store.Key{
		Table:     store.Affinity,
		Partition: sessionPartition(scope, session.ID),
		Sort:      string(hex.AppendEncode(b, narrow[:])),
	}
}

func ownerKey(scope identity.Scope, kind Kind, id string) store.Key {
	return store.Key{
		Table:     store.State,
		Partition: partition(scope, identity.Hash("owner", scope.String(), string(kind), id)),
		Sort:      ownerSort,
	}
}

// rootPartition holds the turns of every chain that begins with this response.
func rootPartition(scope identity.Scope, id string) string {
	return partition(scope, identity.Hash("history", scope.String(), id))
}

func taskKey(scope identity.Scope, kind Kind, id, sort string) store.Key {
	return store.Key{
		Table:     store.State,
		Partition: partition(scope, identity.Hash("task", scope.String(), string(kind), id)),
		Sort:      sort,
	}
}

func taskListPartition(scope identity.Scope, kind Kind) string {
	return partition(scope, identity.Hash("tasks", scope.String(), string(kind)))
}
