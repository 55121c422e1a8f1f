package messages

import (
	"strings"

	"holdfast/functions/internal/wire"
)

// generation is the version of a Claude model as its name tells it: 406 for 4.6,
// 500 for 5; 0 for every other model. Names come with vendors, dates and
// revisions round them: the version is the first number of at most two digits
// behind "claude-", and the next beside it.
func generation(model string) int {
	_, rest, found := strings.Cut(strings.ToLower(model), "claude-")
	if !found {
		return 0
	}
	major := -1
	for _, word := range strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune("-.@:_", c) }) {
		n, ok := small(word)
		switch {
		case ok && major < 0:
			major = n
		case ok:
			return major*100 + n
		case major >= 0:
			return major * 100
		}
	}
	return max(major, 0) * 100
}

// small is a number of one or two digits.
func small(word string) (n int, ok bool) {
	if len(word) == 0 || len(word) > 2 {
		return 0, false
	}
	for _, c := range []byte(word) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// The generations from which on a model takes other members.
const (
	thinks    = 307 // has a thinking budget
	adapts    = 406 // thinks by effort, has system messages inside the conversation
	unsampled = 407 // refuses to be told how to sample; knows the effort xhigh
	imitator  = 0   // no Claude; taken to know what the first thinking Claude knew
)

// maxTokens is the bound on the answer that is set where the client has set
// none, since this protocol cannot do without: 32000 tokens for models that
// think, 8192 for Claude 3.5 and for imitators, 4096 for older ones. Clients of
// other protocols expect no bound; a larger one would be refused.
func maxTokens(d *wire.Dialog) int64 {
	switch version := generation(d.Model); {
	case d.MaxTokens > 0:
		return d.MaxTokens
	case version >= thinks:
		return 32000
	case version >= 305, version == imitator:
		return 8192
	}
	return 4096
}

// budgetOf is the thinking budget, in tokens, that an effort stands for; 0 for
// none, -1 for words that are not known. It never takes more than half of what
// the answer may have.
func budgetOf(effort string, answer int64) int64 {
	var budget int64
	switch effort {
	case "none":
		return 0
	case "minimal":
		budget = 1024
	case "low":
		budget = 2048
	case "medium":
		budget = 8192
	case "high":
		budget = 16384
	case "xhigh":
		budget = 32768
	case "max":
		budget = 65536
	default:
		return -1
	}
	return min(budget, answer/2)
}

// effortOf is an effort in this protocol's words, "" where there is none.
func effortOf(effort string, version int) string {
	switch effort {
	case "minimal":
		return "low"
	case "xhigh":
		if version < unsampled {
			return "high"
		}
		return effort
	case "low", "medium", "high", "max":
		return effort
	}
	return ""
}
