// Package answer decides what an account says: text, a JSON document or tool
// calls, always the same for the same request.
//
// The rules, in order:
//
//   - A tool choice that forces a call is obeyed: the named tool, or else the
//     first one (or those that the text asks for).
//   - Otherwise, when the conversation ends with the user's own words, each
//     "RUNTOOL" in them calls one tool, in the order of the tools, and each
//     "call NAME" calls the tool of that name. Several calls are made at once
//     unless the request forbids parallel calls; at most eight.
//   - Arguments are the smallest instance of the tool's schema; a string named
//     command or cmd is "ls", which a real agent can run.
//   - A requested JSON schema is answered by its smallest instance.
//   - Anything else is answered in prose of the configured length. The words
//     "in N tokens" in the user's text choose another length.
//   - A request's own maximum cuts prose, and a stop sequence ends it.
//
// Concurrency: everything here is a value.
package answer

import (
	"hash/fnv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/prompt"
)

// Force says whether a request forces a tool call.
type Force uint8

// The tool choices of every protocol.
const (
	Auto  Force = iota // the model decides
	None               // no call
	Any                // some call
	Named              // the call of Ask.Named
)

// Tool is a function that the request offers.
type Tool struct {
	Name   string
	Schema jsontext.Value // of the arguments; absent: no arguments
}

// Ask is everything of a request that decides its answer.
type Ask struct {
	Size      int    // canonical bytes of the whole prompt: history changes the answer
	Last      string // text of the last turn that is not the system's
	User      bool   // the last turn is the user's own words, not a tool's result
	Tools     []Tool
	Force     Force
	Named     string
	Single    bool           // no parallel calls
	JSON      bool           // a JSON document is wanted
	Schema    jsontext.Value // of that document; absent: any
	MaxTokens int            // 0: no bound
	Stops     []string
	Reason    bool // think first
}

// Ending says why an answer stopped.
type Ending uint8

// The endings that every protocol knows.
const (
	Natural Ending = iota
	Length         // cut by the request's own maximum
	Stop           // a stop sequence came
	Calling        // tools are called
)

// Call is one tool call.
type Call struct {
	ID        string // minted by the codec, which knows the provider's form
	Name      string
	Arguments string // a compact JSON object
}

// Answer is what the account says.
type Answer struct {
	Text    string
	Calls   []Call
	Thought string // what it thought first; empty when not asked to think
	Ending  Ending
	Stop    string // the sequence that ended it
}

// Tokens is the number of output tokens, thoughts included.
func (a *Answer) Tokens() int {
	n := prompt.Tokens(len(a.Text)) + a.Thinking()
	for _, c := range a.Calls {
		n += prompt.Tokens(len(c.Name) + len(c.Arguments))
	}
	return max(n, 1)
}

// Thinking is the number of tokens that were thought.
func (a *Answer) Thinking() int { return prompt.Tokens(len(a.Thought)) }

// Usage is what one request cost, in tokens.
type Usage struct {
	prompt.Use
	Output    int // thoughts included
	Reasoning int
}

// Reply is an answer on its way out.
type Reply struct {
	Answer
	Usage   Usage
	Broken  bool // the usage is to be malformed
	ID      string
	Created time.Time
	Account string
	Mint    func(prefix string) string // a new id of the account
}

// Style is how an account talks.
type Style struct {
	Fixed  string // the text of every prose answer
	Tokens int    // length of prose, 32 when it is 0
}

const (
	defaultTokens = 32
	maxTokens     = 100_000
	thoughtTokens = 16
	maxCalls      = 8
)

// Answer decides.
func (s Style) Answer(ask Ask) Answer {
	seed := ask.seed()
	var a Answer
	if ask.Reason {
		a.Thought = prose(seed^1, "", thoughtTokens)
	}
	if calls := ask.calls(); len(calls) > 0 {
		a.Calls, a.Ending = calls, Calling
		return a
	}
	if ask.JSON {
		a.Text = document(ask.Schema)
	} else {
		a.Text = s.prose(ask, seed)
	}
	a.stop(ask.Stops)
	a.cut(ask.MaxTokens)
	return a
}

func (s Style) prose(ask Ask, seed uint64) string {
	if s.Fixed != "" {
		return s.Fixed
	}
	tokens := s.Tokens
	if tokens <= 0 {
		tokens = defaultTokens
	}
	if wanted := wantedTokens(ask); wanted > 0 {
		tokens = wanted
	}
	return prose(seed, ask.Last, tokens)
}

// stop ends the text before the earliest stop sequence.
func (a *Answer) stop(stops []string) {
	for _, s := range stops {
		if i := strings.Index(a.Text, s); s != "" && i >= 0 {
			a.Text, a.Ending, a.Stop = a.Text[:i], Stop, s
		}
	}
}

// cut keeps at most so many tokens of text, in whole characters.
func (a *Answer) cut(tokens int) {
	limit := tokens * prompt.TokenBytes
	if tokens <= 0 || len(a.Text) <= limit {
		return
	}
	a.Text, a.Ending, a.Stop = prompt.Whole(a.Text, limit), Length, ""
}

// seed is the same in every process for the same request.
func (k *Ask) seed() uint64 {
	h := fnv.New64a()
	h.Write([]byte(k.Last))
	return h.Sum64() ^ uint64(k.Size)<<20
}

// calls lists the tools to call, nil for none.
func (k *Ask) calls() []Call {
	if k.Force == None || len(k.Tools) == 0 {
		return nil
	}
	names := k.wanted()
	switch {
	case k.Force == Named:
		names = []string{k.Named}
	case k.Force == Any && len(names) == 0:
		names = []string{k.Tools[0].Name}
	}
	if k.Single && len(names) > 1 {
		names = names[:1]
	}
	var calls []Call
	for _, name := range names {
		for _, tool := range k.Tools {
			if tool.Name == name {
				calls = append(calls, Call{Name: name, Arguments: document(tool.Schema)})
				break
			}
		}
	}
	return calls
}

// wanted names the tools that the user's own words ask for.
func (k *Ask) wanted() []string {
	if !k.User {
		return nil
	}
	var names []string
	for i := range min(strings.Count(k.Last, "RUNTOOL"), maxCalls) {
		names = append(names, k.Tools[i%len(k.Tools)].Name)
	}
	for _, tool := range k.Tools {
		if len(names) < maxCalls && asksFor(k.Last, tool.Name) {
			names = append(names, tool.Name)
		}
	}
	return names
}
