package identity

import (
	"crypto/rand"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Rules says how requests are told apart into conversations.
type Rules struct {
	Enabled    bool      // false: no identity at all
	AutoDetect bool      // the fingerprint of the opening
	Builtin    bool      // the registry of headers and fields that known clients send
	Headers    []Header  // more registry headers, before the built-in ones
	Random     io.Reader // of generated ids; nil: the system's. Must be safe for concurrent use
}

// Header is a configured session header.
type Header struct {
	Name      string // matched whatever its case; hyphens and underscores count
	Transform string // "" or "session-uuid": take the UUID out of session_<uuid>
}

// sessionUUID is the one transform.
const sessionUUID = "session-uuid"

// Names of signals, as they appear in a Session and in errors.
const (
	sessionHeader    = "X-Session-Id"
	sessionField     = "session_id"
	previousResponse = "previous_response_id"
	cacheKeyField    = "prompt_cache_key"
)

// Headers that tell threads of one session apart, and who started them.
const (
	agentHeader       = "X-Claude-Code-Agent-Id"
	threadHeader      = "Thread-Id"
	codexHeader       = "Session-Id"
	codexOldHeader    = "Session_id"
	parentAgentHeader = "X-Claude-Code-Parent-Agent-Id"
	parentThread      = "X-Codex-Parent-Thread-Id"
	parentSession     = "X-Parent-Session-Id"
)

// builtinHeaders is the registry's order. X-Client-Request-Id is left out on
// purpose: a thread id in two clients, a request id in all others.
func builtinHeaders() []string {
	return []string{
		"X-Claude-Code-Session-Id", "X-Opencode-Session", codexHeader, codexOldHeader, "Conversation_id",
		"X-Session-Affinity", "X-Litellm-Session-Id", "Helicone-Session-Id", "Agent-Session-Id",
	}
}

// Resolver reads sessions from requests by one set of rules.
type Resolver struct {
	rules    Rules
	slots    map[string]int // lower-case field name → index of its values
	registry []registryHeader

	core, agent, thread, codex, codexOld int
	parents                              [3]int // that of sessions last
}

// registryHeader is one header of the registry, configured or built in.
type registryHeader struct {
	name      string
	slot      int
	transform string
}

// Compile checks the rules and makes them ready. Errors: *HeaderError.
func Compile(rules Rules) (*Resolver, error) {
	r := &Resolver{rules: rules, slots: make(map[string]int)}
	if r.rules.Random == nil {
		r.rules.Random = rand.Reader
	}
	for _, h := range rules.Headers {
		if problem := headerProblem(h); problem != "" {
			return nil, &HeaderError{Header: h.Name, Problem: problem}
		}
		r.registry = append(r.registry, registryHeader{h.Name, r.slot(h.Name), h.Transform})
	}
	if rules.Builtin {
		for _, name := range builtinHeaders() {
			r.registry = append(r.registry, registryHeader{name: name, slot: r.slot(name)})
		}
	}
	r.core = r.slot(sessionHeader)
	r.agent, r.thread = r.slot(agentHeader), r.slot(threadHeader)
	r.codex, r.codexOld = r.slot(codexHeader), r.slot(codexOldHeader)
	r.parents = [...]int{r.slot(parentAgentHeader), r.slot(parentThread), r.slot(parentSession)}
	return r, nil
}

// slot returns the place of a header's values, giving it one where it is new.
func (r *Resolver) slot(name string) int {
	name = strings.ToLower(name)
	slot, known := r.slots[name]
	if !known {
		slot = len(r.slots)
		r.slots[name] = slot
	}
	return slot
}

// collect sorts the values of the headers of interest into their slots, by one
// pass over all headers.
func (r *Resolver) collect(header map[string][]string, room [][]string) [][]string {
	if len(r.slots) > cap(room) {
		room = make([][]string, 0, len(r.slots))
	}
	found := room[:len(r.slots)]
	for name, values := range header {
		slot, known := r.find(name)
		switch {
		case !known:
		case found[slot] == nil:
			found[slot] = values
		default: // one name in two spellings makes one list of values
			found[slot] = slices.Concat(found[slot], values)
		}
	}
	return found
}

// find looks a header up whatever its case, without allocating.
func (r *Resolver) find(name string) (int, bool) {
	var lower [maxName]byte
	if len(name) > len(lower) {
		return 0, false
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	slot, known := r.slots[string(lower[:len(name)])]
	return slot, known
}

// generate returns a new random UUID. A configured source that runs dry gives
// way to the system's.
func (r *Resolver) generate() string {
	id, err := uuid.NewRandomFromReader(r.rules.Random)
	if err != nil {
		id = uuid.New()
	}
	return id.String()
}
