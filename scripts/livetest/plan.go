package main

import (
	"fmt"
	"os"

	"holdfast/routing/catalog"
)

// callerKey is the key of the gateway that a run starts for itself.
const callerKey = "sk-holdfast-livetest"

// row is one conversation: of one connection in one of its protocols.
type row struct {
	connection, provider, protocol, model string
	price                                 *catalog.Price // nil: not known

	turns [2]turn
	err   error
}

// document is what the gateway will serve: a file's connections and deployments, or
// what the environment's keys amount to; no answer cache, no fallback.
func document(file string, environ []string) (*catalog.Document, error) {
	var from *catalog.Document
	var problems []catalog.Problem
	if file == "" {
		from, problems = catalog.Discover(environ)
	} else {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		from, problems = catalog.Load(text)
	}
	for _, p := range problems {
		if !p.Warning {
			return nil, fmt.Errorf("%w: %s", errUsage, p.String())
		}
	}
	if from == nil {
		return nil, fmt.Errorf("%w: set a provider's key, such as OPENAI_API_KEY, or give -config", errUsage)
	}
	doc := *from
	doc.Groups, doc.Templates, doc.Platform, doc.Organizations, doc.Teams, doc.Guardrails = nil, nil, catalog.Platform{}, nil, nil, nil
	doc.Models = nil
	doc.Keys = []catalog.Key{{ID: "livetest", Key: callerKey, User: "livetest"}}
	return &doc, nil
}

// plan takes the first model of every connection and protocol.
func plan(doc *catalog.Document) ([]row, error) {
	compiled, problems := catalog.Compile(doc, "", func(string) (string, error) { return "", nil })
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("%w: %s", errUsage, problems[0].String())
	}
	var rows []row
	seen := map[[2]string]bool{}
	for _, d := range doc.Deployments {
		t := compiled.Deployment(d.ID)
		if at := [2]string{t.Account.ID, t.Protocol}; t.Enabled && t.Weight > 0 && t.Serves(t.Protocol) && !seen[at] {
			seen[at] = true
			rows = append(rows, row{connection: t.Account.ID, provider: t.Account.Provider, protocol: t.Protocol, model: t.Model, price: t.Price})
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: no deployment serves its own protocol", errUsage)
	}
	return rows, nil
}

// Sizes of a conversation in tokens.
const (
	prefixTokens = 6000 // more than any provider asks for before it caches: 1,024 to 4,096
	answerTokens = 64
)

// dear is supposed where no price is known, USD per million tokens.
const (
	dearInput  = 30
	dearOutput = 120
)

// most is the most that a row may cost in USD: nothing is read from a cache, all of
// it is written to one, a third more tokens than meant.
func (r *row) most() float64 {
	input, output := float64(dearInput), float64(dearOutput)
	if p := r.price; p != nil {
		input, output = max(p.Input, p.CacheWrite), p.Output
	}
	return 2 * (prefixTokens*input + answerTokens*output) * 4 / 3 / 1e6
}
