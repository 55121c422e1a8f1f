// Package proof measures what keeping conversations together is worth: the
// same conversations, turn by turn, through gateways that differ only in how
// they route, over accounts that each have a prompt cache of their own.
//
// Numbers are the accounts' own usage reports, never the gateway's word. What
// could be read from a cache at all is measured too, by sending the same
// conversations straight to one account.
//
// Concurrency: Run belongs to its caller; conversations of one policy run side
// by side, the turns of one conversation one after the other.
//
// Errors: any turn that is not answered with 200 ends the run.
package proof

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// Plan is how much is measured.
type Plan struct {
	Conversations int
	Turns         int // of each, growing
	Parallel      int // conversations at a time
}

// Default is 20 conversations of 8 turns.
func Default() Plan { return Plan{Conversations: 20, Turns: 8, Parallel: 4} }

// Policy is one way of routing.
type Policy struct {
	Name  string
	extra string // sections of the configuration
}

// Policies are the ways that are compared: Holdfast, Holdfast without affinity,
// and a plain round robin.
func Policies() []Policy {
	return []Policy{
		{"affinity on", ""},
		{"affinity off", "affinity: {enabled: false}\n"},
		{"round robin", "affinity: {enabled: false}\ntemplates: [{id: rotate, strategy: round_robin}]\nplatform: {template: rotate}\n"},
	}
}

// Result is what one policy came to, in tokens and USD.
type Result struct {
	Policy string
	Usage
	Accounts  int // that a conversation was served by, at most
	Reachable int // tokens that could have been read from a cache
}

// Hit is the share of the input that was read from a cache.
func (r Result) Hit() float64 { return share(r.Cached, r.Input) }

// Reached is the share of what could be read from a cache that was.
func (r Result) Reached() float64 { return share(r.Cached, r.Reachable) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Run measures every policy with the given binary.
func Run(ctx context.Context, binary string, plan Plan) ([]Result, error) {
	reachable, err := direct(ctx, plan)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, policy := range Policies() {
		r, err := through(ctx, binary, plan, policy)
		if err != nil {
			return results, fmt.Errorf("%s: %w", policy.Name, err)
		}
		r.Reachable = reachable.Cached
		results = append(results, r)
	}
	return results, nil
}

// direct sends all conversations to one account: what it reads from its cache
// is all that any routing can reach.
func direct(ctx context.Context, plan Plan) (Usage, error) {
	fleet, err := accounts.Start("only")
	if err != nil {
		return Usage{}, err
	}
	defer fleet.Close()
	usage, _, err := converse(ctx, plan, fleet.URL("only"))
	return usage, err
}

// through sends all conversations through a gateway before three accounts.
func through(ctx context.Context, binary string, plan Plan, policy Policy) (Result, error) {
	fleet, err := accounts.Start("alpha", "bravo", "charlie")
	if err != nil {
		return Result{}, err
	}
	defer fleet.Close()
	data, err := os.MkdirTemp("", "holdfast-proof-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(data)
	gateway, err := process.Start(process.Options{Binary: binary, Config: document(fleet) + policy.extra, Data: data})
	if err != nil {
		return Result{}, err
	}
	defer gateway.Kill()
	usage, spread, err := converse(ctx, plan, gateway.URL)
	return Result{Policy: policy.Name, Usage: usage, Accounts: spread}, err
}

// document is a configuration with every protocol on every account.
func document(fleet *accounts.Fleet) string {
	var b strings.Builder
	b.WriteString("connections:\n")
	for _, a := range fleet.Accounts() {
		fmt.Fprintf(&b, "  - {id: %s, provider: openai-compatible, base_url: %s/v1, auth: {type: none}, allow_private_network: true}\n", a.Name(), fleet.URL(a.Name()))
	}
	b.WriteString("deployments:\n")
	for _, protocol := range protocols() {
		for _, a := range fleet.Accounts() {
			fmt.Fprintf(&b, "  - {id: %s-%s, model: %s, connection: %s, protocol: %s}\n", protocol, a.Name(), protocol, a.Name(), protocol)
		}
	}
	fmt.Fprintf(&b, "keys: [{id: proof, key: %s}]\n", callerKey)
	return b.String()
}

// converse runs all conversations and sums up their usage. It also returns the
// largest number of deployments that one conversation met.
func converse(ctx context.Context, plan Plan, url string) (Usage, int, error) {
	talks := make([]*conversation, plan.Conversations)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(plan.Parallel)
	for i := range talks {
		talks[i] = newConversation(i)
		group.Go(func() error { return talks[i].run(ctx, url, plan.Turns) })
	}
	if err := group.Wait(); err != nil {
		return Usage{}, 0, err
	}
	var sum Usage
	spread := 0
	for _, c := range talks {
		sum.add(c.usage)
		spread = max(spread, len(c.served))
	}
	return sum, spread, nil
}
