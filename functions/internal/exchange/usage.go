package exchange

import (
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
)

// charge notes what the exchange has used and what that costs at the serving
// deployment. The cost is unknown where the price is.
func (e *exchange) charge(used wire.Usage) {
	e.line.Usage = &used
	e.charged, e.saved = ledger.Charge(e.serving.Target.Price, ledgerUsage(used))
	if e.line.Cost = nil; e.charged != nil {
		e.line.Cost = &e.charged.Total
	}
}

// used is what an answer says it has used or, where it does not, what it seems
// to have. A job that has only begun has used nothing that is known.
func (e *exchange) used(answer wire.Answer) (_ wire.Usage, known bool) {
	switch {
	case answer.HasUsage && (total(answer.Usage) > 0 || e.spoken == 0): // a report of nothing for something is none
		return answer.Usage, true
	case e.codec.task != "":
		return wire.Usage{}, false
	case e.in.Endpoint == wire.EndpointEmbeddings: // what comes out is no tokens
		return wire.Usage{Input: e.facts.EstimatedTokens(), Estimated: true}, true
	}
	return wire.Usage{Input: e.facts.EstimatedTokens(), Output: e.spoken, Estimated: true}, true
}

// cut charges an answer that has begun and was not whole: providers bill what
// they have made. What was reported so far stands; output is at least what was
// seen of it. A response in the background goes on: it is charged when its end is
// seen.
func (e *exchange) cut(t tried) {
	if !t.outcome.Output || e.line.Usage != nil || e.awaited != "" {
		return
	}
	used := wire.Usage{Input: e.facts.EstimatedTokens(), Output: e.spoken}
	if t.usage != nil {
		used = *t.usage
	}
	used.Output, used.Estimated = max(used.Output, e.spoken), true
	e.charge(used)
}

// reported is what an attempt has used by its own word or, where it has output,
// by ours.
func (e *exchange) reported(t tried) *wire.Usage {
	if t.outcome.Class == routing.Success || t.outcome.Output {
		return e.line.Usage
	}
	return t.usage
}

// bytesPerToken is how much of an answer a token is taken to be.
const bytesPerToken = 4

// free reports whether an attempt that ended like this has cost nothing for
// certain.
func free(class string) bool {
	switch class {
	case routing.Success.String(), routing.Broken.String(), routing.Stale.String(), routing.Cancelled.String(), routing.Expired.String():
		return false
	}
	return true
}

func ledgerUsage(u wire.Usage) ledger.Usage {
	return ledger.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite5m: u.CacheWrite5m, CacheWrite1h: u.CacheWrite1h,
		Output: u.Output, Reasoning: u.Reasoning, Estimated: u.Estimated,
	}
}
